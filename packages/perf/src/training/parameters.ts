import {
  denseLayerParameters,
  embeddingParameters,
  expertLayerCount,
  expertLayerParameters,
  type ModelArchitecture,
} from "../catalogue/model.ts";
import type { ParallelPlan, TrainingJob } from "./job.ts";

/** Parameters that one accelerator of the fullest pipeline stage holds before the state is sharded over data ranks. */
export interface RankParameters {
  readonly total: number;
  /** Without the routed experts: what every data rank has a replica of. */
  readonly dense: number;
  readonly experts: number;
  /** Those that the optimizer updates. */
  readonly trained: number;
}

/** The fullest stage for the traffic and the optimizer of a step: one of those with an embedding table. */
export function parametersPerRank(job: TrainingJob, plan: ParallelPlan): RankParameters {
  const first = parametersOfStage(job, plan, "first");
  if (plan.pipeline === 1) return first;
  const last = parametersOfStage(job, plan, "last");
  return last.total > first.total ? last : first;
}

export function parametersOfStage(job: TrainingJob, plan: ParallelPlan, stage: "first" | "last"): RankParameters {
  const { model } = job;
  const { expertLayers, denseLayers } = layersOfStage(model, plan, stage);
  const perExpertLayer = expertLayerParameters(model);
  const layers =
    denseLayers * denseLayerParameters(model) + expertLayers * (perExpertLayer.total - perExpertLayer.expertsTotal);
  const experts = (expertLayers * perExpertLayer.expertsTotal) / plan.expert;
  const dense = (layers + endParameters(model, plan, stage)) / plan.tensor;
  const total = dense + experts;
  return { total, dense, experts, trained: job.method.kind === "lora" ? adapterParameters(job, plan) : total };
}

/** Dense layers of a mixed model come first: the first stage has them, the last one has experts in every layer. */
function layersOfStage(
  model: ModelArchitecture,
  plan: ParallelPlan,
  stage: "first" | "last",
): { readonly expertLayers: number; readonly denseLayers: number } {
  const perStage = model.layerCount / plan.pipeline;
  const dense = model.layerCount - expertLayerCount(model);
  const denseLayers = stage === "first" ? Math.min(dense, perStage) : Math.max(0, dense - model.layerCount + perStage);
  return { denseLayers, expertLayers: perStage - denseLayers };
}

/** Embedding and head: on one rank without a pipeline, on different ends with one (a tied table is kept at both). */
function endParameters(model: ModelArchitecture, plan: ParallelPlan, stage: "first" | "last"): number {
  if (plan.pipeline === 1) return embeddingParameters(model);
  return (model.vocabulary + (stage === "first" ? model.learnedPositions : 0)) * model.hidden;
}

/** Low-rank matrices beside the projections and the feed-forward layers: rank × (inputs + outputs) of each product. */
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
