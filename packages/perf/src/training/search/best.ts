import { trainingConstantValues, type TrainingConstants } from "../../constants.ts";
import type { JobProblem } from "../feasibility.ts";
import { jobProblems } from "../feasibility.ts";
import { acceleratorOf, type ParallelPlan, type Recomputation, type TrainingJob, type TrainingSystem } from "../job.ts";
import { estimateMemory, fitVerdict, type MemoryEstimate } from "../memory.ts";
import { estimateStep, wholeModelSeconds, type StepEstimate } from "../step.ts";
import { layerLowerBound, stepLowerBound } from "./bounds.ts";
import {
  layerChoices,
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

/** Effort of a search: plans whose time was computed, and layouts that their bound excluded. */
export interface SearchEffort {
  readonly evaluatedCount: number;
  readonly excludedCount: number;
}

export type SearchResult =
  | { readonly kind: "found"; readonly best: PlannedStep; readonly effort: SearchEffort }
  | { readonly kind: "nothingFits"; readonly least: MemoryNeed | undefined; readonly effort: SearchEffort }
  | { readonly kind: "refused"; readonly problems: readonly JobProblem[] };

/** The plan nearest to fitting, and the memory that it would need. */
export interface MemoryNeed {
  readonly plan: ParallelPlan;
  readonly neededGib: number;
  readonly availableGib: number;
}

interface Bounded {
  readonly choice: LayerChoice;
  readonly wholeSeconds: number;
  readonly bound: number;
}

/** A plan that only fixes the choices that layers depend on. */
function layerPlan(choice: LayerChoice): ParallelPlan {
  const stage: StageChoice = { pipeline: 1, data: 1, virtualStages: 1, schedule: "1f1b", microBatchCount: 1 };
  return planOf(choice, stage, { zeroStage: 1, shardCount: 1 }, "none");
}

/** Layer choices with their bounds, the most promising first; ties keep the order of the space. */
export function boundedChoices(
  job: TrainingJob,
  system: TrainingSystem,
  space: SearchSpace,
  constants: TrainingConstants,
): readonly Bounded[] {
  const bounded = layerChoices(job, space).map((choice) => {
    const wholeSeconds = wholeModelSeconds(job, layerPlan(choice), system, constants);
    const perAccelerator =
      (job.globalBatch * choice.tensor * choice.context) / (space.acceleratorCount * choice.microBatch);
    return { choice, wholeSeconds, bound: layerLowerBound(wholeSeconds, perAccelerator) };
  });
  return bounded.toSorted((a, b) => a.bound - b.bound);
}

/**
 * The fastest plan that fits, exact over the whole space: a branch is left out only if its lower bound is not below the
 * best step found. ZeRO stage 0 is not in the space: stage 1 sends as much and stores less.
 */
export function searchBestPlan(
  job: TrainingJob,
  system: TrainingSystem,
  space: SearchSpace = wholeSpace(job, system, system.cluster.nodeCount * system.cluster.node.acceleratorCount),
  constants: TrainingConstants = trainingConstantValues(),
): SearchResult {
  const problems = jobProblems(job, system);
  if (problems.length > 0) return { kind: "refused", problems };
  const state: SearchState = { best: undefined, least: undefined, evaluatedCount: 0, excludedCount: 0 };
  for (const { choice, wholeSeconds, bound } of boundedChoices(job, system, space, constants)) {
    if (state.best !== undefined && bound >= state.best.step.seconds) {
      state.excludedCount += 1;
      continue;
    }
    for (const stage of stageChoices(job, space, choice)) {
      if (state.best !== undefined && stepLowerBound(wholeSeconds, stage) >= state.best.step.seconds) {
        state.excludedCount += 1;
        continue;
      }
      searchStage({ job, system, space, constants }, choice, stage, state);
    }
  }
  const effort = { evaluatedCount: state.evaluatedCount, excludedCount: state.excludedCount };
  if (state.best !== undefined) return { kind: "found", best: state.best, effort };
  return { kind: "nothingFits", least: state.least, effort };
}

interface Question {
  readonly job: TrainingJob;
  readonly system: TrainingSystem;
  readonly space: SearchSpace;
  readonly constants: TrainingConstants;
}

interface SearchState {
  best: PlannedStep | undefined;
  least: MemoryNeed | undefined;
  evaluatedCount: number;
  excludedCount: number;
}

function searchStage(question: Question, choice: LayerChoice, stage: StageChoice, state: SearchState): void {
  const { job, system, space, constants } = question;
  for (const shards of shardChoices(space, choice, stage, sharingCount(system))) {
    const planWith = (recomputation: Recomputation): ParallelPlan => planOf(choice, stage, shards, recomputation);
    for (const fitting of plansThatFit(question, planWith, state)) {
      const step = estimateStep(job, fitting.plan, system, constants);
      state.evaluatedCount += 1;
      if (state.best === undefined || step.seconds < state.best.step.seconds) state.best = { ...fitting, step };
    }
  }
}

/**
 * Levels of recomputation that fit; if no recomputation is needed, only that level, because each further level is
 * slower.
 */
function plansThatFit(
  question: Question,
  planWith: (recomputation: Recomputation) => ParallelPlan,
  state: SearchState,
): readonly { readonly plan: ParallelPlan; readonly memory: MemoryEstimate }[] {
  const { job, system, space } = question;
  const accelerator = acceleratorOf(system);
  const fitting: { readonly plan: ParallelPlan; readonly memory: MemoryEstimate }[] = [];
  for (const recomputation of space.recomputations) {
    const plan = planWith(recomputation);
    const memory = estimateMemory(job, plan);
    if (fitVerdict(memory, accelerator) === "fits") {
      fitting.push({ plan, memory });
      if (recomputation === "none") break;
    } else noteNeed(state, plan, memory.peakBytes / 2 ** 30, accelerator.memoryGib);
  }
  return fitting;
}

function noteNeed(state: SearchState, plan: ParallelPlan, neededGib: number, availableGib: number): void {
  if (state.best !== undefined || (state.least !== undefined && neededGib >= state.least.neededGib)) return;
  state.least = { plan, neededGib, availableGib };
}
