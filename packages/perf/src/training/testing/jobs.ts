import { findAccelerator } from "../../catalogue/accelerators.ts";
import type { Accelerator } from "../../catalogue/accelerator.ts";
import type { ModelArchitecture } from "../../catalogue/model.ts";
import { usualCluster } from "../../catalogue/nodes.ts";
import { mixedPrecision, type ParallelPlan, type TrainingJob, type TrainingSystem } from "../job.ts";

/** GPT-like models given by their sizes, as in table 1 of SC21. */
export function gptModel(layerCount: number, hidden: number, headCount: number): ModelArchitecture {
  return {
    name: `GPT-${layerCount}x${hidden}`,
    layerCount,
    hidden,
    attention: { kind: "grouped", headCount, kvHeadCount: headCount, headDim: hidden / headCount },
    ffnHidden: 4 * hidden,
    isFfnGated: false,
    vocabulary: 51200,
    hasTiedEmbeddings: true,
    learnedPositions: 2048,
    source: "arXiv 2104.04473, table 1",
  };
}

export const gpt175b: ModelArchitecture = gptModel(96, 12288, 96);
export const gpt1t: ModelArchitecture = gptModel(128, 25600, 160);

/** DeepSeek-V3 from its config.json. */
export const deepSeekV3: ModelArchitecture = {
  ...gptModel(61, 7168, 128),
  name: "DeepSeek-V3",
  attention: {
    kind: "latent",
    headCount: 128,
    queryRank: 1536,
    kvRank: 512,
    nopeHeadDim: 128,
    ropeHeadDim: 64,
    valueHeadDim: 128,
  },
  ffnHidden: 18432,
  isFfnGated: true,
  vocabulary: 129280,
  hasTiedEmbeddings: false,
  learnedPositions: 0,
  experts: { count: 256, perToken: 8, ffnHidden: 2048, sharedFfnHidden: 2048, denseLayerCount: 3 },
};

/** Qwen3-235B-A22B from its config.json. */
export const qwen3Large: ModelArchitecture = {
  ...deepSeekV3,
  name: "Qwen3-235B-A22B",
  layerCount: 94,
  hidden: 4096,
  attention: { kind: "grouped", headCount: 64, kvHeadCount: 4, headDim: 128 },
  ffnHidden: 0,
  vocabulary: 151936,
  experts: { count: 128, perToken: 8, ffnHidden: 1536, sharedFfnHidden: 0, denseLayerCount: 0 },
};

export function jobOf(model: ModelArchitecture, sequenceLength: number, globalBatch: number): TrainingJob {
  return {
    model,
    sequenceLength,
    globalBatch,
    method: { kind: "full" },
    precision: mixedPrecision("bf16"),
    software: { stack: "fused", attention: "flash" },
  };
}

export function acceleratorNamed(name: string): Accelerator {
  const found = findAccelerator(name);
  if (found === undefined) throw new Error(`${name} is not in the catalogue`);
  return found;
}

export function systemOf(name: string, count: number, change: Partial<Accelerator> = {}): TrainingSystem {
  return { cluster: usualCluster({ ...acceleratorNamed(name), ...change }, count) };
}

/** A plan for one accelerator in which the fields of `change` are replaced. */
export function planWith(change: Partial<ParallelPlan>): ParallelPlan {
  const plan: ParallelPlan = {
    tensor: 1,
    pipeline: 1,
    context: 1,
    data: 1,
    expert: 1,
    virtualStages: 1,
    schedule: "1f1b",
    microBatch: 1,
    sequenceParallel: false,
    zeroStage: 1,
    shardCount: 1,
    recomputation: "none",
  };
  const merged = { ...plan, ...change };
  return { ...merged, shardCount: change.shardCount ?? merged.data, sequenceParallel: merged.tensor > 1 };
}
