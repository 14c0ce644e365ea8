import type { JobProblem, PlanProblem } from "../training/feasibility.ts";
import type { ParallelPlan } from "../training/job.ts";

/** A plan in words. Choices that are 1 or usual are left out. */
export function describePlan(plan: ParallelPlan): string {
  const widths = (["tensor", "pipeline", "context", "data", "expert"] as const)
    .filter((name) => plan[name] > 1)
    .map((name) => `${name} ${plan[name]}`);
  const sharding = plan.zeroStage === 3 && plan.shardCount < plan.data ? ` within ${plan.shardCount}` : "";
  return [
    ...(widths.length === 0 ? ["one accelerator"] : widths),
    ...(plan.virtualStages > 1 ? [`${plan.virtualStages} chunks per stage`] : []),
    ...(plan.schedule === "zero-bubble" ? ["zero-bubble"] : []),
    `micro-batch ${plan.microBatch}`,
    `ZeRO ${plan.zeroStage}${sharding}`,
    `recomputation ${plan.recomputation}`,
  ].join(", ");
}

/** The reason why a plan or a question is impossible. The text is a sentence without a full stop. */
export function problemText(problem: PlanProblem | JobProblem): string {
  switch (problem.kind) {
    case "noAccelerators":
      return `${problem.count} accelerators are none`;
    case "nonsense":
      return `${problem.field} is ${problem.value}: it must be a whole number from 1`;
    case "notACount":
      return `${problem.field} is ${problem.value}: it must be a whole number from 1`;
    case "tooManyAccelerators":
      return `the plan takes ${problem.neededCount} accelerators and there are ${problem.availableCount}`;
    case "tensorDoesNotDivideHeads":
      return `tensor ${problem.tensor} does not divide the ${problem.headCount} attention heads`;
    case "tensorDoesNotDivideKvHeads":
      return `tensor ${problem.tensor} and the ${problem.kvHeadCount} key-value heads do not divide each other`;
    case "tensorDoesNotDivideFfn":
      return `tensor ${problem.tensor} does not divide the feed-forward size of ${problem.ffnHidden}`;
    case "pipelineExceedsLayers":
      return `${problem.stageCount} stages and chunks are more than the ${problem.layerCount} layers`;
    case "contextDoesNotDivideSequence":
      return `context ${problem.context} does not cut ${problem.sequenceLength} tokens into early and late pieces`;
    case "expertsDoNotDivide":
      return problem.expertCount === 1
        ? `the model has no experts to divide over ${problem.expert} ranks`
        : `expert ${problem.expert} does not divide the ${problem.expertCount} experts`;
    case "expertRanksDoNotDivide":
      return `expert ${problem.expert} does not divide the ${problem.rankCount} ranks of a stage`;
    case "batchDoesNotDivide":
      return `a batch of ${problem.globalBatch} is no multiple of the ${problem.perStep} sequences of one micro-batch over all replicas`;
    case "interleavingNeedsGroups":
      return `interleaving needs micro-batches in multiples of ${problem.pipeline}, not ${problem.microBatchCount}`;
    case "scheduleNeedsChunks":
      return `the schedule ${problem.schedule} does not go with ${problem.virtualStages} chunks per stage`;
    case "shardingUnderPipeline":
      return `ZeRO ${problem.zeroStage} does not go with ${problem.pipeline} pipeline stages`;
    case "shardsDoNotDivide":
      return `${problem.shardCount} shards do not divide ${problem.data} replicas`;
    case "outOfMemory":
      return `out of memory: ${problem.neededGib.toFixed(1)} GiB are needed and ${problem.availableGib} are there`;
  }
}
