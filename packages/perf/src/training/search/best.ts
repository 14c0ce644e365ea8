import { trainingConstantValues, type TrainingConstants } from "../../constants.ts";
import type { JobProblem } from "../feasibility.ts";
import { jobProblems } from "../feasibility.ts";
import {
  acceleratorOf,
  type ParallelPlan,
  type Recomputation,
  type TrainingJob,
  type TrainingPrecision,
  type TrainingSystem,
} from "../job.ts";
import { estimateMemory, fitVerdict, type MemoryEstimate } from "../memory.ts";
import { estimateStep, wholeModelSeconds, type StepEstimate } from "../step.ts";
import { layerLowerBound, stepLowerBound } from "./bounds.ts";
import { ableChoices, choicesWithin, shardingKey, type AbleChoice } from "./memory-bound.ts";
import {
  planOf,
  shardChoices,
  sharingCount,
  stageChoices,
  wholeSpace,
  type LayerChoice,
  type SearchSpace,
  type StageChoice,
} from "./space.ts";

export interface PlannedStep {
  readonly plan: ParallelPlan;
  readonly step: StepEstimate;
  readonly memory: MemoryEstimate;
}

/**
 * Effort of a search: the number of layer choices whose time was bounded, of plans whose time was computed, and of
 * layouts that were excluded because of their bound.
 */
export interface SearchEffort {
  readonly boundedCount?: number;
  readonly evaluatedCount: number;
  readonly excludedCount: number;
}

export type SearchResult =
  | { readonly kind: "found"; readonly best: PlannedStep; readonly effort: SearchEffort }
  | { readonly kind: "nothingFits"; readonly least: MemoryNeed | undefined; readonly effort: SearchEffort }
  | { readonly kind: "refused"; readonly problems: readonly JobProblem[] };

/** The plan that needs the least memory, and the memory that it needs. */
export interface MemoryNeed {
  readonly plan: ParallelPlan;
  readonly precision: TrainingPrecision;
  readonly neededGib: number;
  readonly availableGib: number;
}

interface Bounded extends AbleChoice {
  readonly wholeSeconds: number;
  readonly bound: number;
}

/** A plan that fixes only those choices on which the layers depend. */
function layerPlan(choice: LayerChoice): ParallelPlan {
  const stage: StageChoice = { pipeline: 1, data: 1, virtualStages: 1, schedule: "1f1b", microBatchCount: 1 };
  return planOf(choice, stage, { zeroStage: 1, shardCount: 1 }, "none");
}

/**
 * Layer choices that could fit, with lower bounds of their time. The lowest bound comes first; equal bounds keep the
 * order of the search space.
 */
export function boundedChoices(
  job: TrainingJob,
  system: TrainingSystem,
  space: SearchSpace,
  constants: TrainingConstants,
): readonly Bounded[] {
  const bounded = ableChoices(job, system, space).map((able) => {
    const { choice } = able;
    const wholeSeconds = wholeModelSeconds(job, layerPlan(choice), system, constants);
    const perAccelerator =
      (job.globalBatch * choice.tensor * choice.context) / (space.acceleratorCount * choice.microBatch);
    return { ...able, wholeSeconds, bound: layerLowerBound(wholeSeconds, perAccelerator) };
  });
  return bounded.toSorted((a, b) => a.bound - b.bound);
}

/**
 * The fastest plan that fits. The result is exact over the whole search space: a branch is left out only if its lower
 * bound of time is not below the best step found, or if its lower bound of memory does not fit. ZeRO stage 0 is not in
 * the search space, because stage 1 sends as much and stores less.
 */
export function searchBestPlan(
  job: TrainingJob,
  system: TrainingSystem,
  space: SearchSpace = wholeSpace(job, system, system.cluster.nodeCount * system.cluster.node.acceleratorCount),
  constants: TrainingConstants = trainingConstantValues(),
): SearchResult {
  const result = findBestPlan(job, system, space, constants);
  return result.kind === "nothingFits" ? { ...result, least: leastNeed(job, system, space) } : result;
}

/**
 * The result of `searchBestPlan`. If nothing fits, however, the memory that the most frugal plan needs is not computed.
 */
export function findBestPlan(
  job: TrainingJob,
  system: TrainingSystem,
  space: SearchSpace = wholeSpace(job, system, system.cluster.nodeCount * system.cluster.node.acceleratorCount),
  constants: TrainingConstants = trainingConstantValues(),
): SearchResult {
  const problems = jobProblems(job, system);
  if (problems.length > 0) return { kind: "refused", problems };
  const state: SearchState = { best: undefined, boundedCount: 0, evaluatedCount: 0, excludedCount: 0 };
  const bounded = boundedChoices(job, system, space, constants);
  state.boundedCount = bounded.length;
  for (const each of bounded) {
    if (state.best === undefined || each.bound < state.best.step.seconds) {
      searchChoice({ job, system, space, constants }, each, state);
    } else state.excludedCount += 1;
  }
  const { best, ...effort } = state;
  return best === undefined ? { kind: "nothingFits", least: undefined, effort } : { kind: "found", best, effort };
}

interface Question {
  readonly job: TrainingJob;
  readonly system: TrainingSystem;
  readonly space: SearchSpace;
  readonly constants: TrainingConstants;
}

interface SearchState {
  best: PlannedStep | undefined;
  boundedCount: number;
  evaluatedCount: number;
  excludedCount: number;
}

function searchChoice(question: Question, bounded: Bounded, state: SearchState): void {
  const { job, system, space, constants } = question;
  const { choice, wholeSeconds, pipelines, shardings } = bounded;
  for (const stage of stageChoices(job, { ...space, pipelines }, choice)) {
    if (state.best !== undefined && stepLowerBound(wholeSeconds, stage) >= state.best.step.seconds) {
      state.excludedCount += 1;
      continue;
    }
    for (const shards of shardChoices(space, choice, stage, sharingCount(system))) {
      if (!shardings.has(shardingKey(stage, shards))) continue;
      const planWith = (recomputation: Recomputation): ParallelPlan => planOf(choice, stage, shards, recomputation);
      for (const fitting of plansThatFit(question, planWith)) {
        const step = estimateStep(job, fitting.plan, system, constants);
        state.evaluatedCount += 1;
        if (state.best === undefined || step.seconds < state.best.step.seconds) state.best = { ...fitting, step };
      }
    }
  }
}

/**
 * Plans with the levels of recomputation that fit. If the plan without recomputation fits, it is the only one, because
 * every other level is slower.
 */
function plansThatFit(
  question: Question,
  planWith: (recomputation: Recomputation) => ParallelPlan,
): readonly { readonly plan: ParallelPlan; readonly memory: MemoryEstimate }[] {
  const { job, system, space } = question;
  const accelerator = acceleratorOf(system);
  const fitting: { readonly plan: ParallelPlan; readonly memory: MemoryEstimate }[] = [];
  for (const recomputation of space.recomputations) {
    const plan = planWith(recomputation);
    const memory = estimateMemory(job, plan);
    if (fitVerdict(memory, accelerator) !== "fits") continue;
    fitting.push({ plan, memory });
    if (recomputation === "none") break;
  }
  return fitting;
}

/** The plan of a search space that needs the least memory. `undefined` if no plan divides the batch. */
export function leastNeed(job: TrainingJob, system: TrainingSystem, space: SearchSpace): MemoryNeed | undefined {
  let least: { readonly plan: ParallelPlan; readonly peakBytes: number } | undefined;
  const choices = choicesWithin(job, system, space, Number.POSITIVE_INFINITY);
  for (const { choice, pipelines, leastBytes } of choices.toSorted((a, b) => a.leastBytes - b.leastBytes)) {
    if (least !== undefined && leastBytes >= least.peakBytes) break;
    for (const plan of plansOf(job, system, { ...space, pipelines }, choice)) {
      const { peakBytes } = estimateMemory(job, plan);
      if (least === undefined || peakBytes < least.peakBytes) least = { plan, peakBytes };
    }
  }
  if (least === undefined) return undefined;
  const { plan, peakBytes } = least;
  const { memoryGib } = acceleratorOf(system);
  return { plan, precision: job.precision, neededGib: peakBytes / 2 ** 30, availableGib: memoryGib };
}

/** All plans of a search space that make these choices for the layers. */
function plansOf(
  job: TrainingJob,
  system: TrainingSystem,
  space: SearchSpace,
  choice: LayerChoice,
): readonly ParallelPlan[] {
  return stageChoices(job, space, choice).flatMap((stage) =>
    shardChoices(space, choice, stage, sharingCount(system)).flatMap((shards) =>
      space.recomputations.map((recomputation) => planOf(choice, stage, shards, recomputation)),
    ),
  );
}
