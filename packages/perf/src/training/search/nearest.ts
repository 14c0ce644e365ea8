import type { Accelerator } from "../../catalogue/accelerator.ts";
import { parameterCounts } from "../../catalogue/model.ts";
import { planProblems } from "../feasibility.ts";
import {
  acceleratorCountOf,
  acceleratorOf,
  leanerPrecisions,
  type ParallelPlan,
  type TrainingJob,
  type TrainingSystem,
} from "../job.ts";
import { estimateMemory, fitVerdict } from "../memory.ts";
import { findBestPlan } from "./best.ts";
import {
  divisorsOf,
  layerChoices,
  planOf,
  shardChoices,
  sharingCount,
  stageChoices,
  wholeSpace,
  type SearchSpace,
} from "./space.ts";

const sizes = ["tensor", "pipeline", "context", "data", "expert", "virtualStages", "microBatch"] as const;
const choices = ["zeroStage", "recomputation", "schedule", "sequenceParallel"] as const;

/**
 * Distance between two plans. It is the number of doublings by which their numeric fields differ, plus one for each
 * other choice that differs.
 */
export function planDistance(a: ParallelPlan, b: ParallelPlan): number {
  let distance = 0;
  for (const field of sizes) distance += Math.abs(Math.log2(positive(a[field]) / positive(b[field])));
  for (const field of choices) distance += a[field] === b[field] ? 0 : 1;
  return distance;
}

const positive = (value: number): number => (Number.isFinite(value) && value >= 1 ? value : 1);

/**
 * The plan that can run and differs least from an impossible plan. Layouts of the requested number of accelerators are
 * searched first. If none of them can run, layouts of all accelerators are searched, then layouts of smaller parts of
 * them. If plans are equally near, the first in the search space is taken.
 */
export function nearestPlan(job: TrainingJob, plan: ParallelPlan, system: TrainingSystem): ParallelPlan | undefined {
  const available = system.cluster.nodeCount * system.cluster.node.acceleratorCount;
  const asked = Math.min(available, Math.max(1, Math.round(positive(acceleratorCountOf(plan)))));
  const counts = [...new Set([asked, ...divisorsOf(available).toReversed()])];
  for (const count of counts) {
    const found = nearestOf(job, plan, system, wholeSpace(job, system, count));
    if (found !== undefined) return found;
  }
  return undefined;
}

function nearestOf(
  job: TrainingJob,
  wanted: ParallelPlan,
  system: TrainingSystem,
  space: SearchSpace,
): ParallelPlan | undefined {
  let best: ParallelPlan | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  const open: SearchSpace = { ...space, zeroStages: [0, 1, 2, 3] };
  const accelerator = acceleratorOf(system);
  const consider = (plan: ParallelPlan): void => {
    const distance = planDistance(plan, wanted);
    if (distance >= bestDistance || fitVerdict(estimateMemory(job, plan), accelerator) === "does not fit") return;
    [best, bestDistance] = [plan, distance];
  };
  for (const choice of layerChoices(job, open)) {
    for (const stage of stageChoices(job, open, choice)) {
      for (const shards of shardChoices(open, choice, stage, sharingCount(system))) {
        for (const recomputation of open.recomputations) consider(planOf(choice, stage, shards, recomputation));
      }
    }
  }
  return best;
}

/** Problems of a plan, and the nearest plan that can run. */
export interface PlanAdvice {
  readonly problems: ReturnType<typeof planProblems>;
  readonly nearest: ParallelPlan | undefined;
  /**
   * If no plan of this cluster can run: the first number of accelerators, in doublings with the same kind of node, at
   * which a plan can run.
   */
  readonly smallestCount: number | undefined;
}

const doublingMax = 14;
/** Margin for pipelines, whose stages are counted as fractions of the model. */
const HELD_SHARE_MIN = 0.9;

export function advise(job: TrainingJob, plan: ParallelPlan, system: TrainingSystem): PlanAdvice {
  const problems = planProblems(job, plan, system);
  if (problems.length === 0) return { problems, nearest: plan, smallestCount: undefined };
  const nearest = nearestPlan(job, plan, system);
  return { problems, nearest, smallestCount: nearest === undefined ? smallestThatFits(job, system) : undefined };
}

/**
 * Smallest number of accelerators, in doublings of the present number, on which the job fits. `undefined` if it fits on
 * none that was tried.
 */
export function smallestThatFits(job: TrainingJob, system: TrainingSystem): number | undefined {
  const { cluster } = system;
  for (let doubling = 1; doubling <= doublingMax; doubling += 1) {
    const larger = { ...system, cluster: { ...cluster, nodeCount: cluster.nodeCount * 2 ** doubling } };
    const count = larger.cluster.nodeCount * cluster.node.acceleratorCount;
    if (couldHold(job, acceleratorOf(system), count) && findBestPlan(job, larger).kind === "found") return count;
  }
  return undefined;
}

/**
 * False only if no plan fits on so many accelerators, in any precision that is tried: together they cannot even hold the
 * optimizer's state, or the frozen weights of adapters. Much cheaper than a search.
 */
export function couldHold(job: TrainingJob, { memoryGib }: Accelerator, count: number): boolean {
  const { weightBytes, optimizerBytes } = job.precision;
  const leanest = Math.min(...leanerPrecisions(job.precision).map((each) => each.optimizerBytes), optimizerBytes);
  const bytes = job.method.kind === "lora" ? weightBytes : leanest;
  return HELD_SHARE_MIN * bytes * parameterCounts(job.model).total <= count * memoryGib * 2 ** 30;
}

/**
 * Number of sizes directly below the requested size that are tried one by one. For example, if the requested size is a
 * prime number, a size just below it can divide a usual batch.
 */
const neighbourMax = 64;

/**
 * The largest number of accelerators below `count` on which some plan fits and divides the batch. Only numbers close to
 * `count` and powers of two are tried.
 */
export function nearestCountBelow(job: TrainingJob, system: TrainingSystem, count: number): number | undefined {
  const candidates: number[] = [];
  for (let below = count - 1; below >= 1 && below >= count - neighbourMax; below -= 1) candidates.push(below);
  for (let power = 2 ** Math.floor(Math.log2(count)); power >= 1; power /= 2) {
    if (power < count - neighbourMax) candidates.push(power);
  }
  return candidates.find((each) => findBestPlan(job, system, wholeSpace(job, system, each)).kind === "found");
}
