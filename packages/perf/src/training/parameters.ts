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

/** The fullest stage for the traffic and the optimizer of a step: the one with an embedding table. */
export function parametersPerRank(job: TrainingJob, plan: ParallelPlan): RankParameters {
  return parametersOfStage(job, plan, "first");
}

export function parametersOfStage(job: TrainingJob, plan: ParallelPlan, stage: "first" | "last"): RankParameters {
  const { model } = job;
  const shares = plan.tensor * plan.pipeline;
  const expertLayers = expertLayerCount(model);
  const perExpertLayer = expertLayerParameters(model);
  const layers =
    (model.layerCount - expertLayers) * denseLayerParameters(model) +
    expertLayers * (perExpertLayer.total - perExpertLayer.expertsTotal);
  const experts = (expertLayers * perExpertLayer.expertsTotal) / (plan.expert * plan.pipeline);
  const dense = layers / shares + endParameters(model, plan, stage) / plan.tensor;
  const total = dense + experts;
  return { total, dense, experts, trained: job.method.kind === "lora" ? adapterParameters(job, plan) : total };
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
