import type { Accelerator } from "../catalogue/accelerator.ts";
import { findAccelerator } from "../catalogue/accelerators.ts";
import { usualNode } from "../catalogue/nodes.ts";
import { impossible, isImpossible, knownAccelerators, unknownAccelerator, type Impossible } from "./resolve.ts";
import { sizeTraining, type TrainingReport } from "./training.ts";
import type { TrainingSizing } from "./training-setting.ts";

/** A workload that names its model, before it is submitted. */
export interface SubmissionSizing {
  /**
   * Statements of the workload about its model and environment. The accelerator and the number of accelerators follow
   * from the other fields.
   */
  readonly training: Omit<TrainingSizing, "accelerator" | "acceleratorCount" | "acceleratorsPerNode" | "scalingCounts">;
  /** Accelerator types that the workload accepts. */
  readonly acceleratorTypes: readonly string[];
  readonly acceleratorsPerWorker: number;
  readonly workers: number;
  /** Minimum number of workers. It equals `workers` if the gang is not elastic. */
  readonly minWorkers: number;
}

/** Prediction for the workload on one of the accelerator types that it accepts. */
export interface SubmissionCheck {
  readonly acceleratorType: string;
  readonly answer: TrainingReport | Impossible | { readonly kind: "unchecked"; readonly reason: string };
}

/** Sizes of an elastic gang up to this number of workers are all checked. Above it, only doublings are checked. */
const sizesMax = 16;

/**
 * One answer for each accepted type, because a gang never mixes types and the type that it will get is not known yet.
 */
export function sizeSubmission(submission: SubmissionSizing): readonly SubmissionCheck[] {
  return submission.acceleratorTypes.map((acceleratorType) => ({
    acceleratorType,
    answer: checkOn(submission, acceleratorType),
  }));
}

/**
 * Throughput of 1, 2, … workers, in thousandths of the throughput of one worker, from the answer for one type. `null`
 * if the answer does not give it. A size for which no plan divides the batch has the throughput of the largest smaller
 * size that has a plan. The throughput of a size that was not checked is interpolated linearly. Sizes below the minimum
 * have a throughput proportional to their number of workers, because the gang never has these sizes.
 */
export function throughputOf(
  {
    acceleratorsPerWorker,
    workers,
    minWorkers,
  }: Pick<SubmissionSizing, "acceleratorsPerWorker" | "workers" | "minWorkers">,
  { answer }: SubmissionCheck,
): readonly number[] | null {
  if (answer.kind !== "training") return null;
  const known = new Map(
    answer.scaling.points.map(({ acceleratorCount, tokensPerS }) => [
      acceleratorCount / acceleratorsPerWorker,
      tokensPerS,
    ]),
  );
  const least = known.get(minWorkers);
  if (least === undefined) return null;
  const without = new Set(answer.scaling.withoutPlan.map((count) => count / acceleratorsPerWorker));
  const sizes = [...known.keys()].toSorted((left, right) => left - right);
  const at = (count: number): number => known.get(count) ?? 0;
  const tokensPerS = (count: number): number => {
    const below = sizes.findLast((size) => size <= count) ?? minWorkers;
    const above = without.has(count) ? undefined : sizes.find((size) => size >= count);
    if (above === undefined || above === below) return at(below);
    return at(below) + ((at(above) - at(below)) * (count - below)) / (above - below);
  };
  return Array.from({ length: workers }, (_, index) => {
    const count = index + 1;
    return Math.round(count < minWorkers ? count * 1000 : (tokensPerS(count) * minWorkers * 1000) / least);
  });
}

function checkOn(submission: SubmissionSizing, acceleratorType: string): SubmissionCheck["answer"] {
  const { training, acceleratorsPerWorker, workers, minWorkers } = submission;
  const known = knownAccelerators(training.catalogue);
  if (isImpossible(known)) return known;
  const accelerator = findAccelerator(acceleratorType, known);
  if (accelerator === undefined) {
    // A fleet can have accelerators without a datasheet in the catalogue. The answer for them is "unknown", not
    // "impossible".
    const { reason, nearest } = unknownAccelerator(acceleratorType, known);
    return { kind: "unchecked", reason: `${reason} (nearest: ${nearest})` };
  }
  const counts = workerCounts(minWorkers, workers);
  const question = (count: number): TrainingSizing => workerQuestion(submission, accelerator, count);
  if (minWorkers === workers) return sizeTraining(question(workers));
  const scalingCounts = counts.map((count) => count * acceleratorsPerWorker);
  const answer = sizeTraining({ ...question(workers), scalingCounts });
  if (answer.kind === "training") return elasticAnswer(submission, answer);
  const largest = counts.toReversed().find((count) => sizeTraining(question(count)).kind === "training");
  return largest === undefined ? answer : { ...answer, nearest: `elastic.max ${largest}` };
}

/** The question for this number of workers on one type. */
export function workerQuestion(
  { training, acceleratorsPerWorker }: Pick<SubmissionSizing, "training" | "acceleratorsPerWorker">,
  accelerator: Accelerator,
  workers: number,
): TrainingSizing {
  // Several workers can share a usual server. If the accelerators of a worker do not divide the number in the server,
  // each worker is predicted on a node of its own size.
  const isOwnNode = usualNode(accelerator).acceleratorCount % acceleratorsPerWorker !== 0;
  return {
    ...training,
    accelerator: accelerator.name,
    acceleratorCount: workers * acceleratorsPerWorker,
    acceleratorsPerNode: isOwnNode ? acceleratorsPerWorker : undefined,
  };
}

function workerCounts(minWorkers: number, workers: number): readonly number[] {
  const counts = new Set([minWorkers, workers]);
  const isShort = workers - minWorkers < sizesMax;
  for (let count = minWorkers; count < workers; count = isShort ? count + 1 : count * 2) counts.add(count);
  return [...counts].toSorted((a, b) => a - b);
}

/**
 * The answer for an elastic gang, which can get any size of its range. The smallest size must have a plan; sizes
 * without a plan give a warning.
 */
function elasticAnswer(submission: SubmissionSizing, answer: TrainingReport): TrainingReport | Impossible {
  const { acceleratorsPerWorker, minWorkers, training } = submission;
  const { points, withoutPlan } = answer.scaling;
  const workersOf = (acceleratorCount: number): number => acceleratorCount / acceleratorsPerWorker;
  const smallest = Math.min(...points.map((point) => workersOf(point.acceleratorCount)));
  if (minWorkers < smallest) {
    const size = `elastic.min ${minWorkers}, ${minWorkers * acceleratorsPerWorker} ${answer.accelerator}`;
    return impossible(
      `${answer.model.name} with a batch of ${training.globalBatch} has no plan that fits on ${size}`,
      `elastic.min ${smallest}`,
    );
  }
  if (withoutPlan.length === 0) return answer;
  const gaps = withoutPlan.map(workersOf).join(", ");
  const warning = `no plan divides the batch over ${gaps} workers: growing to such a size gains nothing`;
  return { ...answer, warnings: [...answer.warnings, warning] };
}
