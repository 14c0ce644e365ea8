import { trainingConstantValues, type TrainingConstants } from "../../constants.ts";
import { jobProblems, type JobProblem } from "../feasibility.ts";
import { acceleratorOf, type TrainingJob, type TrainingSystem } from "../job.ts";
import { estimateMemory, fitVerdict } from "../memory.ts";
import { estimateStep } from "../step.ts";
import { boundedChoices, type PlannedStep, type SearchEffort } from "./best.ts";
import { stepLowerBound } from "./bounds.ts";
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

/** A plan for which no other plan is better in time, memory and cost at once. */
export interface ParetoPoint extends PlannedStep {
  readonly acceleratorCount: number;
  /** Cost of one step, in the currency of the price of an accelerator-hour. */
  readonly cost: number;
}

export type ParetoResult =
  | { readonly kind: "front"; readonly points: readonly ParetoPoint[]; readonly effort: SearchEffort }
  | { readonly kind: "refused"; readonly problems: readonly JobProblem[] };

interface FrontSearch {
  readonly job: TrainingJob;
  readonly system: TrainingSystem;
  readonly constants: TrainingConstants;
  readonly pricePerSecond: number;
  readonly acceleratorCount: number;
  readonly space: SearchSpace;
  readonly front: ParetoPoint[];
  evaluatedCount: number;
  excludedCount: number;
}

export interface ParetoQuestion {
  /** Numbers of accelerators that a plan can have. All of them are searched. */
  readonly acceleratorCounts: readonly number[];
  readonly pricePerAcceleratorHour: number;
  readonly constants?: TrainingConstants;
}

/**
 * All plans that are optimal in time, memory and cost. The result is exact: a plan is left out without computing its
 * time only if a plan that is already found is at least as fast as the lower bound of that time, and needs no more
 * memory and no more cost.
 */
export function searchPareto(job: TrainingJob, system: TrainingSystem, question: ParetoQuestion): ParetoResult {
  const problems = jobProblems(job, system);
  if (problems.length > 0) return { kind: "refused", problems };
  const front: ParetoPoint[] = [];
  const effort = { evaluatedCount: 0, excludedCount: 0 };
  const constants = question.constants ?? trainingConstantValues();
  const pricePerSecond = question.pricePerAcceleratorHour / 3600;
  for (const acceleratorCount of question.acceleratorCounts) {
    const space = wholeSpace(job, system, acceleratorCount);
    const search: FrontSearch = { job, system, constants, pricePerSecond, acceleratorCount, space, front, ...effort };
    for (const { choice, wholeSeconds } of boundedChoices(job, system, space, constants)) {
      for (const stage of stageChoices(job, space, choice)) searchStage(search, choice, stage, wholeSeconds);
    }
    effort.evaluatedCount = search.evaluatedCount;
    effort.excludedCount = search.excludedCount;
  }
  const points = front.toSorted((a, b) => a.step.seconds - b.step.seconds || a.memory.peakBytes - b.memory.peakBytes);
  return { kind: "front", points, effort };
}

function searchStage(search: FrontSearch, choice: LayerChoice, stage: StageChoice, wholeSeconds: number): void {
  const { job, system, space, acceleratorCount } = search;
  const bound = stepLowerBound(wholeSeconds, stage);
  for (const shards of shardChoices(space, choice, stage, sharingCount(system))) {
    for (const recomputation of space.recomputations) {
      const plan = planOf(choice, stage, shards, recomputation);
      const memory = estimateMemory(job, plan);
      if (fitVerdict(memory, acceleratorOf(system)) !== "fits") continue;
      if (isBeaten(search, bound, memory.peakBytes)) {
        search.excludedCount += 1;
        continue;
      }
      const step = estimateStep(job, plan, system, search.constants);
      search.evaluatedCount += 1;
      if (isBeaten(search, step.seconds, memory.peakBytes)) continue;
      insert(search, { plan, memory, step, acceleratorCount, cost: costOf(search, step.seconds) });
    }
  }
}

function costOf(search: FrontSearch, seconds: number): number {
  return seconds * search.acceleratorCount * search.pricePerSecond;
}

function isBeaten(search: FrontSearch, seconds: number, peakBytes: number): boolean {
  const cost = costOf(search, seconds);
  return search.front.some(
    (point) => point.step.seconds <= seconds && point.memory.peakBytes <= peakBytes && point.cost <= cost,
  );
}

function insert(search: FrontSearch, point: ParetoPoint): void {
  const { front } = search;
  for (let index = front.length - 1; index >= 0; index -= 1) {
    const other = front[index];
    const isWorse =
      other !== undefined &&
      point.step.seconds <= other.step.seconds &&
      point.memory.peakBytes <= other.memory.peakBytes &&
      point.cost <= other.cost;
    if (isWorse) front.splice(index, 1);
  }
  front.push(point);
}
