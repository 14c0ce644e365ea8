import type { Accelerator } from "../catalogue/accelerator.ts";
import { parameterCounts } from "../catalogue/model.ts";
import { matrixClassOf } from "../catalogue/number-format.ts";
import { acceleratorCountOf, type ParallelPlan, type TrainingJob } from "../training/job.ts";
import { planProblems } from "../training/feasibility.ts";
import { estimateMemory, fitVerdict } from "../training/memory.ts";
import { leastNeed, type MemoryNeed } from "../training/search/best.ts";
import { advise, couldHold, nearestCountBelow, smallestThatFits } from "../training/search/nearest.ts";
import { findOrdinaryPlan, ordinaryPlan, planChoices, type PlanChoiceName } from "../training/search/ordinary.ts";
import { wholeSpace } from "../training/search/space.ts";
import { describePlan, problemText } from "./plan-text.ts";
import { impossible, isImpossible, stated, type Impossible } from "./resolve.ts";
import type { TrainingSetting } from "./training-setting.ts";

/** A plan, and the names of its choices that the question left open. */
export interface PlanChoice {
  readonly plan: ParallelPlan;
  /** The job with the chosen precision of gradients and optimizer. */
  readonly job: TrainingJob;
  readonly chosen: readonly PlanChoiceName[];
}

/**
 * The plan that users of the stack would run. Choices that the question states are kept. The others are those of the
 * fastest plan that fits.
 */
export function chosenPlan(setting: TrainingSetting): PlanChoice | Impossible {
  const { question, job, system } = setting;
  const given = question.plan === undefined ? {} : stated(question.plan);
  const { tensor, pipeline, context, data } = given;
  // If all widths are stated and they are impossible, the answer needs no search.
  if ([tensor, pipeline, context, data].every((width) => width !== undefined)) {
    const whole = givenPlan(setting, given);
    if (isImpossible(whole)) return whole;
  }
  const result = ordinaryPlan(job, system, question.acceleratorCount, given);
  switch (result.kind) {
    case "found":
      return isRunnable({ ...setting, job: result.job }, result.plan) ? result : givenChoice(setting, given);
    case "refused":
      return impossible(result.problems.map(problemText).join("; "), "whole numbers from 1");
    case "nothingFits":
      return question.plan === undefined
        ? nothingFits(setting, result.least)
        : givenChoice(setting, given, result.least);
  }
}

/**
 * The plan of `chosenPlan`, or `undefined` if there is none. It computes no advice for impossible questions, so that
 * many settings can be searched.
 */
export function quickPlan(setting: TrainingSetting): PlanChoice | undefined {
  const { question, job, system } = setting;
  if (question.plan === undefined) {
    const found = findOrdinaryPlan(job, system, question.acceleratorCount);
    if (found.kind !== "found") return undefined;
    if (isRunnable({ ...setting, job: found.job }, found.plan)) return found;
  }
  const choice = chosenPlan(setting);
  return isImpossible(choice) ? undefined : choice;
}

/** Whether some plan divides the batch over the accelerators. The memory that the plan needs does not matter. */
export function hasLayout({ question, job, system }: TrainingSetting): boolean {
  return leastNeed(job, system, wholeSpace(job, system, question.acceleratorCount)) !== undefined;
}

function isRunnable({ job, system, question }: TrainingSetting, plan: ParallelPlan): boolean {
  return planProblems(job, plan, system).length === 0 && acceleratorCountOf(plan) === question.acceleratorCount;
}

/**
 * Used if no plan is sure to fit: the plan with the stated choices, which may be so tight that only a trial run can
 * show whether it fits. If the stated choices are impossible, the result is their problem.
 */
function givenChoice(
  setting: TrainingSetting,
  given: Partial<ParallelPlan>,
  least?: MemoryNeed,
): PlanChoice | Impossible {
  const chosen = planChoices.filter((name) => name !== "precision" && given[name] === undefined);
  if (least !== undefined && isRunnable(setting, least.plan)) return { plan: least.plan, job: setting.job, chosen };
  const plan = givenPlan(setting, given);
  return isImpossible(plan) ? plan : { plan, job: setting.job, chosen };
}

function givenPlan(
  { question, job, system }: TrainingSetting,
  given: Partial<ParallelPlan>,
): ParallelPlan | Impossible {
  const { acceleratorCount } = question;
  const { tensor = 1, pipeline = 1, context = 1 } = given;
  const data = given.data ?? acceleratorCount / (tensor * pipeline * context);
  const plan: ParallelPlan = {
    expert: 1,
    virtualStages: 1,
    schedule: (given.virtualStages ?? 1) > 1 ? "interleaved" : "1f1b",
    microBatch: 1,
    sequenceParallel: tensor > 1,
    zeroStage: data * context > 1 ? 1 : 0,
    recomputation: "none",
    ...given,
    tensor,
    pipeline,
    context,
    data,
    shardCount: given.shardCount ?? data,
  };
  const advice = advise(job, plan, system);
  const isDivided = Number.isInteger(data);
  const problems = isDivided
    ? advice.problems.map(problemText)
    : [`tensor ${tensor} × pipeline ${pipeline} × context ${context} do not divide ${acceleratorCount} accelerators`];
  if (problems.length === 0 && acceleratorCountOf(plan) !== acceleratorCount) {
    problems.push(`the plan takes ${acceleratorCountOf(plan)} accelerators, not ${acceleratorCount}`);
  }
  if (problems.length === 0) return plan;
  const count = advice.smallestCount;
  const other = count === undefined ? "a smaller model, or less to keep" : `${count} accelerators`;
  return impossible(problems.join("; "), advice.nearest === undefined ? other : describePlan(advice.nearest));
}

function nothingFits(setting: TrainingSetting, least: MemoryNeed | undefined): Impossible {
  const { question, job, system } = setting;
  const { acceleratorCount } = question;
  if (least === undefined) {
    const below = nearestCountBelow(job, system, acceleratorCount);
    const nearest = below === undefined ? "another batch" : `${below} accelerators, or another batch`;
    return impossible(
      `a batch of ${job.globalBatch} divides over ${acceleratorCount} accelerators in no plan`,
      nearest,
    );
  }
  const { name, memoryGib } = system.cluster.node.accelerator;
  const needed = least.neededGib.toFixed(1);
  const [where, which, its] =
    acceleratorCount === 1 ? [`one ${name}`, "has", "its"] : [`each of ${acceleratorCount} ${name}`, "have", "their"];
  const limit =
    least.neededGib > memoryGib ? `which ${which} ${memoryGib} GiB` : `too close to ${its} ${memoryGib} GiB`;
  const frugal = frugalText(job, least);
  return impossible(
    `${frugal === "" ? "" : `even with ${frugal}, `}${job.model.name} needs at least ${needed} GiB on ${where}, ${limit}`,
    waysToFit(setting, least).join(", or "),
  );
}

/** The measures against a lack of memory that the most frugal plan already contains, as text. */
function frugalText(job: TrainingJob, { plan, precision }: MemoryNeed): string {
  const savings = plan.recomputation === "none" ? [] : [`${plan.recomputation} recomputation`];
  if (precision.optimizerBytes < job.precision.optimizerBytes) {
    savings.push(`${precision.optimizerBytes} bytes of optimizer per parameter`);
  }
  return savings.join(" and ");
}

/** Rank of most published adapters. */
const adapterRank = 16;

/**
 * Changes to the run that would each let it fit, a larger number of accelerators first. If no change is enough, the
 * list has changes that reduce the memory that the run needs.
 */
function waysToFit(setting: TrainingSetting, { plan, precision, neededGib }: MemoryNeed): readonly string[] {
  const { question, job, system } = setting;
  const { accelerator } = system.cluster.node;
  const { acceleratorCount } = question;
  const fits = (other: TrainingJob): boolean => findOrdinaryPlan(other, system, acceleratorCount).kind === "found";
  const count = nearestCountAbove(setting, smallestThatFits(job, system));
  const ways = count === undefined ? [] : [`${count} accelerators`];
  // Even if the optimizer is moved to the host, one copy of the weights stays on the accelerators.
  const weightBytes = (precision.weightBytes * parameterCounts(job.model).total) / acceleratorCount;
  const holdsWeights = fitVerdict({ peakBytes: weightBytes }, accelerator) === "fits";
  const offloaded = estimateMemory({ ...job, precision: { ...precision, optimizerBytes: 0 } }, plan);
  if (holdsWeights && fitVerdict(offloaded, accelerator) === "fits") {
    const gib = (neededGib - offloaded.peakBytes / 2 ** 30).toFixed(1);
    ways.push(`the optimizer's ${gib} GiB per accelerator on the host, in a time that is not predicted`);
  }
  if (canNarrow(job, accelerator) && fits({ ...job, precision: { ...job.precision, linear: "fp8" } })) {
    ways.push(`fp8 instead of ${job.precision.linear}`);
  }
  if (holdsWeights && job.method.kind === "full" && fits({ ...job, method: { kind: "lora", rank: adapterRank } })) {
    ways.push("adapters instead of every parameter (headroom size finetune)");
  }
  if (ways.length > 0) return ways;
  return ["a smaller model", "less to keep: a shorter sequence, adapters"];
}

/** Maximum number of counts that are tried one by one. Each needs a search. */
const COUNTS_TRIED_MAX = 64;

/**
 * The smallest number of accelerators above the requested one with which the question has an answer. Up to two nodes,
 * every number is tried, then whole nodes. `bound`: a number that is known to fit; `undefined`: there is none.
 */
function nearestCountAbove(setting: TrainingSetting, bound: number | undefined): number | undefined {
  const { question, job, system } = setting;
  const { node } = system.cluster;
  const perNode = node.acceleratorCount;
  const last = bound ?? Infinity;
  let count = question.acceleratorCount;
  for (let tried = 0; tried < COUNTS_TRIED_MAX; tried++) {
    count = count < 2 * perNode ? count + 1 : (Math.floor(count / perNode) + 1) * perNode;
    if (count >= last) return bound;
    if (!couldHold(job, node.accelerator, count)) continue;
    const nodeCount = Math.ceil(count / perNode);
    const larger = { ...system, cluster: { ...system.cluster, nodeCount } };
    if (hasAnswer({ ...setting, system: larger, question: { ...question, acceleratorCount: count } }, job))
      return count;
  }
  return bound;
}

/** Whether `chosenPlan` finds a plan, if the question states none. */
function hasAnswer(setting: TrainingSetting, job: TrainingJob): boolean {
  const { question, system } = setting;
  const found = findOrdinaryPlan(job, system, question.acceleratorCount);
  if (found.kind === "found") return isRunnable({ ...setting, job: found.job }, found.plan);
  const least = leastNeed(job, system, wholeSpace(job, system, question.acceleratorCount));
  return least !== undefined && isRunnable(setting, least.plan);
}

/**
 * Whether the run could store kept activations in fewer bytes. Fused kernels keep the quantised inputs of 8-bit
 * products.
 */
function canNarrow({ precision, software, method }: TrainingJob, accelerator: Accelerator): boolean {
  const isWide = matrixClassOf(precision.linear) === "bf16" && method.kind === "full";
  return isWide && software.stack === "fused" && accelerator.denseTflops.fp8 !== undefined;
}
