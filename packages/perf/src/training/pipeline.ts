import { expertLayerCount, type ModelArchitecture } from "../catalogue/model.ts";
import type { ParallelPlan } from "./job.ts";

/** Number of layers of each kind on a stage. The output head counts separately. */
export interface StageWeights {
  readonly dense: number;
  readonly expert: number;
  readonly head: number;
}

export interface Stages {
  readonly slowest: StageWeights;
  readonly slowestSeconds: number;
  /** Seconds of one micro-batch, summed over all stages. */
  readonly allSeconds: number;
}

interface PartSeconds {
  readonly dense: number;
  readonly expert: number;
  readonly head: number;
}

/**
 * Distributes the layers over the stages. If the layers cannot be divided evenly, the last stage, which also has the
 * output head, gets fewer (Megatron's "account for embedding and loss in the split"). If a model has dense layers and
 * layers with experts, the dense layers are spread evenly here, because they are few.
 */
export function stagesOf(model: ModelArchitecture, plan: ParallelPlan, seconds: PartSeconds): Stages {
  const share = expertLayerCount(model) / model.layerCount;
  const layerSeconds = (1 - share) * seconds.dense + share * seconds.expert;
  const most = Math.ceil(model.layerCount / plan.pipeline);
  const last = Math.max(0, model.layerCount - most * (plan.pipeline - 1));
  const withHead = last * layerSeconds + seconds.head;
  const without = most * layerSeconds;
  const isHeadSlowest = plan.pipeline === 1 || withHead > without;
  const layers = isHeadSlowest ? last : most;
  return {
    slowest: { dense: layers * (1 - share), expert: layers * share, head: isHeadSlowest ? 1 : 0 },
    slowestSeconds: isHeadSlowest ? withHead : without,
    allSeconds: model.layerCount * layerSeconds + seconds.head,
  };
}

/**
 * Seconds in which a stage is idle. 1F1B fills and drains all other stages once (SC21, arXiv 2104.04473). Interleaving
 * divides this time by the number of chunks in a stage. ZB-H1 (arXiv 2401.10241) leaves about a third of it.
 */
export function bubbleSeconds(stages: Stages, plan: ParallelPlan): number {
  const others = Math.max(0, stages.allSeconds - stages.slowestSeconds);
  if (plan.pipeline === 1) return 0;
  if (plan.schedule === "zero-bubble") return others / 3;
  return others / plan.virtualStages;
}
