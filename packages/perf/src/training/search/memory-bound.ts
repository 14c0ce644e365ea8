/**
 * Finds the layouts that could fit into memory, with lower bounds that are valid for every schedule and level of
 * recomputation. The bounds are cheap to compute: weights, gradients and optimizer do not depend on the micro-batch,
 * and activations are proportional to it.
 */
import type { Accelerator } from "../../catalogue/accelerator.ts";
import { acceleratorOf, type TrainingJob, type TrainingSystem } from "../job.ts";
import { fitVerdict, leastStateBytes, leastWorkingBytes, type WorkingBytes } from "../memory.ts";
import {
  layerChoices,
  planOf,
  shardChoices,
  sharingCount,
  type LayerChoice,
  type SearchSpace,
  type StageChoice,
} from "./space.ts";

/** A number of stages with a sharding of the state. The schedule is left open. */
interface Sharding {
  readonly pipeline: number;
  readonly key: string;
  readonly state: { readonly first: number; readonly last: number };
  /** Bytes other than weights, gradients and optimizer, for a micro-batch of one sequence. */
  readonly working: WorkingBytes;
}

/** A choice for the layers, with the numbers of stages and the shardings with which it could fit. */
export interface AbleChoice {
  readonly choice: LayerChoice;
  readonly pipelines: readonly number[];
  /** Keys of `shardingKey`. */
  readonly shardings: ReadonlySet<string>;
  /** Lower bound of the peak memory over all plans with this choice. */
  readonly leastBytes: number;
}

export function shardingKey(
  { pipeline }: Pick<StageChoice, "pipeline">,
  { zeroStage, shardCount }: { readonly zeroStage: number; readonly shardCount: number },
): string {
  return `${pipeline} ${zeroStage} ${shardCount}`;
}

/** The choices of a search space for which at least one sharding could fit. */
export function ableChoices(job: TrainingJob, system: TrainingSystem, space: SearchSpace): readonly AbleChoice[] {
  return choicesWithin(job, system, space, unfittingBytes(acceleratorOf(system)));
}

/**
 * The choices of a search space for which at least one sharding has a lower bound of the peak memory below
 * `limitBytes`.
 */
export function choicesWithin(
  job: TrainingJob,
  system: TrainingSystem,
  space: SearchSpace,
  limitBytes: number,
): readonly AbleChoice[] {
  const sharing = sharingCount(system);
  const byLayout = new Map<string, Layout>();
  const able: AbleChoice[] = [];
  for (const choice of layerChoices(job, space)) {
    const key = `${choice.tensor} ${choice.context} ${choice.expert}`;
    let layout = byLayout.get(key);
    if (layout === undefined) {
      layout = layoutOf(shardingsOf(job, space, { ...choice, microBatch: 1 }, sharing));
      byLayout.set(key, layout);
    }
    if (leastPeakBytes(layout.least, choice.microBatch) < limitBytes) {
      const found = ableChoice(choice, layout.shardings, limitBytes);
      if (found !== undefined) able.push(found);
    }
  }
  return able;
}

interface Layout {
  readonly shardings: readonly Sharding[];
  /** The smallest value of each part over all shardings. Together they are a lower bound for every sharding. */
  readonly least: Pick<Sharding, "state" | "working">;
}

function layoutOf(shardings: readonly Sharding[]): Layout {
  const least = (part: (sharding: Sharding) => number): number => Math.min(...shardings.map(part));
  return {
    shardings,
    least: {
      state: { first: least(({ state }) => state.first), last: least(({ state }) => state.last) },
      working: {
        logits: least(({ working }) => working.logits),
        layers: least(({ working }) => working.layers),
        runtime: least(({ working }) => working.runtime),
      },
    },
  };
}

function ableChoice(choice: LayerChoice, shardings: readonly Sharding[], limitBytes: number): AbleChoice | undefined {
  const keys = new Set<string>();
  const pipelines: number[] = [];
  let leastBytes = Number.POSITIVE_INFINITY;
  for (const sharding of shardings) {
    const peakBytes = leastPeakBytes(sharding, choice.microBatch);
    if (peakBytes >= limitBytes) continue;
    keys.add(sharding.key);
    if (pipelines.at(-1) !== sharding.pipeline) pipelines.push(sharding.pipeline);
    leastBytes = Math.min(leastBytes, peakBytes);
  }
  return keys.size === 0 ? undefined : { choice, pipelines, shardings: keys, leastBytes };
}

function leastPeakBytes({ state, working }: Layout["least"], microBatch: number): number {
  const { logits, layers, runtime } = working;
  return Math.max(state.first, state.last + logits * microBatch) + layers * microBatch + runtime;
}

/**
 * A peak that does not fit, such that every peak that is smaller by more than a millionth fits. It is found by
 * bisection, because only the verdict for a given peak is known.
 */
function unfittingBytes(accelerator: Accelerator): number {
  let [low, high] = [0, 2 * accelerator.memoryGib * 2 ** 30];
  while (high - low > high * 1e-6) {
    const middle = (low + high) / 2;
    if (fitVerdict({ peakBytes: middle }, accelerator) === "fits") low = middle;
    else high = middle;
  }
  return high;
}

function shardingsOf(job: TrainingJob, space: SearchSpace, one: LayerChoice, sharing: number): readonly Sharding[] {
  const rest = space.acceleratorCount / (one.tensor * one.context);
  return space.pipelines.flatMap((pipeline) => {
    const data = rest / pipeline;
    if (!Number.isInteger(data)) return [];
    const stage: StageChoice = { pipeline, data, virtualStages: 1, schedule: "1f1b", microBatchCount: 1 };
    return shardChoices(space, one, stage, sharing).map((shards) => {
      const plan = planOf(one, stage, shards, "full");
      const working = leastWorkingBytes(job, plan);
      return { pipeline, key: shardingKey(stage, shards), state: leastStateBytes(job, plan), working };
    });
  });
}
