import {
  denseLayerParameters,
  embeddingParameters,
  expertLayerCount,
  expertLayerParameters,
  type ModelArchitecture,
} from "../catalogue/model.ts";
import type { ParallelPlan, TrainingJob } from "./job.ts";

/** Numbers of parameters on one accelerator of a pipeline stage, before the state is sharded over data ranks. */
export interface RankParameters {
  readonly total: number;
  /** Parameters other than those of routed experts. Every data rank has a replica of them. */
  readonly dense: number;
  readonly experts: number;
  /** Parameters that the optimizer updates. */
  readonly trained: number;
}

/**
 * A stage of the pipeline. `inner`: the first stage without dense layers, in a model whose first layers are dense and
 * whose other layers have experts.
 */
export type PipelineStage = "first" | "inner" | "last";

/**
 * Parameters of the pipeline stage that has the most. It determines the time of the gradient exchange and of the
 * optimizer. It is the first or the last stage, because these two hold the embedding and the output head.
 */
export function parametersPerRank(job: TrainingJob, plan: ParallelPlan): RankParameters {
  const first = parametersOfStage(job, plan, "first");
  if (plan.pipeline === 1) return first;
  const last = parametersOfStage(job, plan, "last");
  return last.total > first.total ? last : first;
}

export function parametersOfStage(job: TrainingJob, plan: ParallelPlan, stage: PipelineStage): RankParameters {
  const { model } = job;
  const { expertLayers, denseLayers } = layersOfStage(model, layersOnStage(job, plan, stage), stage);
  const perExpertLayer = expertLayerParameters(model);
  const layers =
    denseLayers * denseLayerParameters(model) + expertLayers * (perExpertLayer.total - perExpertLayer.expertsTotal);
  const experts = (expertLayers * perExpertLayer.expertsTotal) / plan.expert;
  const dense = (layers + endParameters(model, plan, stage)) / plan.tensor;
  const total = dense + experts;
  return { total, dense, experts, trained: job.method.kind === "lora" ? adapterParameters(job, plan) : total };
}

/**
 * Index of the inner stage, or `undefined` if there is none between the first and the last stage. Models with as many
 * dense layers as layers with experts alternate them, so all of their stages are alike.
 */
export function innerStage({ model }: TrainingJob, { pipeline }: ParallelPlan): number | undefined {
  const dense = model.layerCount - expertLayerCount(model);
  if (pipeline < 3 || dense === 0 || 2 * dense >= model.layerCount) return undefined;
  const index = Math.ceil((dense * pipeline) / model.layerCount);
  return index < pipeline - 1 ? index : undefined;
}

/**
 * Number of layers on a stage. nanotron fills the stages in order, each up to its share of the
 * compute. It counts the output layer like the number of layers that cost as much (models/base.py, build_model).
 */
export function layersOnStage(job: TrainingJob, plan: ParallelPlan, stage: PipelineStage): number {
  const { model } = job;
  const even = model.layerCount / plan.pipeline;
  if (job.software.library !== "nanotron" || plan.pipeline === 1 || model.experts !== undefined) return even;
  const headLayers = (model.vocabulary * model.hidden) / denseLayerParameters(model);
  const first = Math.min(model.layerCount, Math.ceil((model.layerCount + headLayers) / plan.pipeline - 1e-3));
  return stage === "first" ? first : Math.max(0, model.layerCount - first * (plan.pipeline - 1));
}

/**
 * Splits the layers of a stage into dense layers and layers with experts. In a model with both, the dense layers come
 * first: the first stage has them, and on the inner and the last stage every layer has experts.
 */
function layersOfStage(
  model: ModelArchitecture,
  perStage: number,
  stage: PipelineStage,
): { readonly expertLayers: number; readonly denseLayers: number } {
  if (stage === "inner") return { denseLayers: 0, expertLayers: perStage };
  const dense = model.layerCount - expertLayerCount(model);
  const denseLayers = stage === "first" ? Math.min(dense, perStage) : Math.max(0, dense - model.layerCount + perStage);
  return { denseLayers, expertLayers: perStage - denseLayers };
}

/**
 * Parameters of the embedding and the output head. Without a pipeline, one rank has both. With a pipeline, the first
 * stage has the embedding and the last stage the head; if the two share a table, both stages keep it.
 */
function endParameters(model: ModelArchitecture, plan: ParallelPlan, stage: PipelineStage): number {
  if (plan.pipeline === 1) return embeddingParameters(model);
  if (stage === "inner") return 0;
  return (model.vocabulary + (stage === "first" ? model.learnedPositions : 0)) * model.hidden;
}

/**
 * Parameters of the low-rank matrices (LoRA) at projections and feed-forward layers. Each product has rank × (inputs +
 * outputs) of them.
 */
function adapterParameters(job: TrainingJob, plan: ParallelPlan): number {
  if (job.method.kind !== "lora") return 0;
  const { model, method } = job;
  const { attention, hidden } = model;
  const headWidth =
    attention.kind === "latent"
      ? attention.headCount * attention.valueHeadDim
      : attention.headCount * attention.headDim;
  const around = 2 * (hidden + headWidth);
  const ffn = (model.isFfnGated ? 3 : 2) * (hidden + (model.ffnHidden || (model.experts?.ffnHidden ?? 0)));
  return (model.layerCount * method.rank * (around + ffn)) / (plan.tensor * plan.pipeline);
}
