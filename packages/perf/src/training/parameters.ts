import {
  denseLayerParameters,
  embeddingParameters,
  expertLayerCount,
  expertLayerParameters,
  type ModelArchitecture,
} from "../catalogue/model.ts";
import type { ParallelPlan, TrainingJob } from "./job.ts";

/** Parameters on one accelerator of the fullest pipeline stage, before the state is sharded over data ranks. */
export interface RankParameters {
  readonly total: number;
  /** Parameters other than routed experts; every data rank has a replica of them. */
  readonly dense: number;
  readonly experts: number;
  /** Parameters that the optimizer updates. */
  readonly trained: number;
}

/** The fullest stage with respect to traffic and optimizer of a step: one of those with an embedding table. */
export function parametersPerRank(job: TrainingJob, plan: ParallelPlan): RankParameters {
  const first = parametersOfStage(job, plan, "first");
  if (plan.pipeline === 1) return first;
  const last = parametersOfStage(job, plan, "last");
  return last.total > first.total ? last : first;
}

export function parametersOfStage(job: TrainingJob, plan: ParallelPlan, stage: "first" | "last"): RankParameters {
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
 * Number of layers on the first or the last stage. nanotron fills the stages in order, each up to its share of the
 * compute, and counts the output layer as the layers that cost as much (models/base.py, build_model).
 */
export function layersOnStage(job: TrainingJob, plan: ParallelPlan, stage: "first" | "last"): number {
  const { model } = job;
  const even = model.layerCount / plan.pipeline;
  if (job.software.library !== "nanotron" || plan.pipeline === 1 || model.experts !== undefined) return even;
  const headLayers = (model.vocabulary * model.hidden) / denseLayerParameters(model);
  const first = Math.min(model.layerCount, Math.ceil((model.layerCount + headLayers) / plan.pipeline - 1e-3));
  return stage === "first" ? first : Math.max(0, model.layerCount - first * (plan.pipeline - 1));
}

/**
 * Dense layers of a mixed model come first: the first stage has them, while the last one has experts in every layer.
 */
function layersOfStage(
  model: ModelArchitecture,
  perStage: number,
  stage: "first" | "last",
): { readonly expertLayers: number; readonly denseLayers: number } {
  const dense = model.layerCount - expertLayerCount(model);
  const denseLayers = stage === "first" ? Math.min(dense, perStage) : Math.max(0, dense - model.layerCount + perStage);
  return { denseLayers, expertLayers: perStage - denseLayers };
}

/**
 * Parameters of embedding and head: on one rank without a pipeline, on the two end stages with one (a tied table is
 * kept on both).
 */
function endParameters(model: ModelArchitecture, plan: ParallelPlan, stage: "first" | "last"): number {
  if (plan.pipeline === 1) return embeddingParameters(model);
  return (model.vocabulary + (stage === "first" ? model.learnedPositions : 0)) * model.hidden;
}

/**
 * Parameters of low-rank matrices at projections and feed-forward layers: rank × (inputs + outputs) of each product.
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
