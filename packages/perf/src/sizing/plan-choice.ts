import { acceleratorCountOf, type ParallelPlan } from "../training/job.ts";
import { searchBestPlan, type MemoryNeed } from "../training/search/best.ts";
import { advise, nearestCountBelow, smallestThatFits } from "../training/search/nearest.ts";
import { wholeSpace } from "../training/search/space.ts";
import { describePlan, problemText } from "./plan-text.ts";
import { impossible, stated, type Impossible } from "./resolve.ts";
import type { TrainingSetting } from "./training-setting.ts";

/** The plan as given, completed; or the fastest of all that fit. */
export function chosenPlan(setting: TrainingSetting): ParallelPlan | Impossible {
  const { question, job, system } = setting;
  if (question.plan !== undefined) return givenPlan(setting, stated(question.plan));
  const result = searchBestPlan(job, system, wholeSpace(job, system, question.acceleratorCount));
  switch (result.kind) {
    case "found":
      return result.best.plan;
    case "refused":
      return impossible(result.problems.map(problemText).join("; "), "whole numbers from 1");
    case "nothingFits":
      return nothingFits(setting, result.least);
  }
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

function nothingFits({ question, job, system }: TrainingSetting, least: MemoryNeed | undefined): Impossible {
  const { acceleratorCount } = question;
  if (least === undefined) {
    const below = nearestCountBelow(job, system, acceleratorCount);
    const nearest = below === undefined ? "another batch" : `${below} accelerators, or another batch`;
    return impossible(
      `a batch of ${job.globalBatch} divides over ${acceleratorCount} accelerators in no plan`,
      nearest,
    );
  }
  const count = smallestThatFits(job, system);
  const nearest =
    count === undefined ? "a smaller model, or less to keep: a shorter sequence, adapters" : `${count} accelerators`;
  const { name, memoryGib } = system.cluster.node.accelerator;
  const needed = least.neededGib.toFixed(1);
  const where = acceleratorCount === 1 ? `one ${name}` : `each of ${acceleratorCount} ${name}`;
  const what = `${job.model.name} needs at least ${needed} GiB on ${where}`;
  return impossible(`${what}, too close to the ${memoryGib} there are, or above them`, nearest);
}
