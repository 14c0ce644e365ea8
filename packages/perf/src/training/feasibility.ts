import { expertLayerCount } from "../catalogue/model.ts";
import { acceleratorCountOf, acceleratorOf, type ParallelPlan, type TrainingJob, type TrainingSystem } from "./job.ts";
import { estimateMemory, fitVerdict } from "./memory.ts";

/**
 * A reason why a plan is impossible, with the numbers that show it. The set of kinds is closed, so callers can switch
 * on `kind`.
 */
export type PlanProblem =
  | { readonly kind: "notACount"; readonly field: string; readonly value: number }
  | { readonly kind: "tooManyAccelerators"; readonly neededCount: number; readonly availableCount: number }
  | { readonly kind: "tensorDoesNotDivideHeads"; readonly tensor: number; readonly headCount: number }
  | { readonly kind: "tensorDoesNotDivideKvHeads"; readonly tensor: number; readonly kvHeadCount: number }
  | { readonly kind: "tensorDoesNotDivideFfn"; readonly tensor: number; readonly ffnHidden: number }
  | { readonly kind: "pipelineExceedsLayers"; readonly stageCount: number; readonly layerCount: number }
  | { readonly kind: "contextDoesNotDivideSequence"; readonly context: number; readonly sequenceLength: number }
  | { readonly kind: "expertsDoNotDivide"; readonly expert: number; readonly expertCount: number }
  | { readonly kind: "expertRanksDoNotDivide"; readonly expert: number; readonly rankCount: number }
  | { readonly kind: "batchDoesNotDivide"; readonly globalBatch: number; readonly perStep: number }
  | { readonly kind: "interleavingNeedsGroups"; readonly microBatchCount: number; readonly pipeline: number }
  | { readonly kind: "scheduleNeedsChunks"; readonly schedule: string; readonly virtualStages: number }
  | { readonly kind: "shardingUnderPipeline"; readonly zeroStage: number; readonly pipeline: number }
  | { readonly kind: "shardsDoNotDivide"; readonly shardCount: number; readonly data: number }
  | { readonly kind: "outOfMemory"; readonly neededGib: number; readonly availableGib: number };

const counts = [
  "tensor",
  "pipeline",
  "context",
  "data",
  "expert",
  "virtualStages",
  "microBatch",
  "shardCount",
] as const;

/** All problems of a plan, including memory. The list is empty if the plan would run. */
export function planProblems(job: TrainingJob, plan: ParallelPlan, system: TrainingSystem): readonly PlanProblem[] {
  const wrong = counts.filter((field) => !(Number.isSafeInteger(plan[field]) && plan[field] >= 1));
  if (wrong.length > 0) return wrong.map((field) => ({ kind: "notACount", field, value: plan[field] }));
  const shape = [...modelProblems(job, plan), ...layoutProblems(job, plan, system)];
  return shape.length > 0 ? shape : memoryProblems(job, plan, system);
}

function modelProblems(job: TrainingJob, plan: ParallelPlan): readonly PlanProblem[] {
  const { model, sequenceLength } = job;
  const { attention, experts } = model;
  const { tensor, context, expert } = plan;
  const problems: PlanProblem[] = [];
  if (attention.headCount % tensor !== 0) {
    problems.push({ kind: "tensorDoesNotDivideHeads", tensor, headCount: attention.headCount });
  }
  if (attention.kind !== "latent" && attention.kvHeadCount % tensor !== 0 && tensor % attention.kvHeadCount !== 0) {
    problems.push({ kind: "tensorDoesNotDivideKvHeads", tensor, kvHeadCount: attention.kvHeadCount });
  }
  const ffnHidden = model.ffnHidden > 0 ? model.ffnHidden : (experts?.sharedFfnHidden ?? 0);
  if (ffnHidden % tensor !== 0) problems.push({ kind: "tensorDoesNotDivideFfn", tensor, ffnHidden });
  const stageCount = plan.pipeline * plan.virtualStages;
  if (stageCount > model.layerCount) {
    problems.push({ kind: "pipelineExceedsLayers", stageCount, layerCount: model.layerCount });
  }
  // With causal attention, each rank gets an early and a late piece of the sequence, so that all have the same work
  // (zig-zag ring attention).
  if (sequenceLength % (context > 1 ? 2 * context : 1) !== 0) {
    problems.push({ kind: "contextDoesNotDivideSequence", context, sequenceLength });
  }
  const expertCount = experts?.count ?? 1;
  if (expertCount % expert !== 0) problems.push({ kind: "expertsDoNotDivide", expert, expertCount });
  return problems;
}

function layoutProblems(job: TrainingJob, plan: ParallelPlan, system: TrainingSystem): readonly PlanProblem[] {
  const { pipeline, virtualStages, zeroStage, schedule } = plan;
  const problems: PlanProblem[] = [];
  const neededCount = acceleratorCountOf(plan);
  const availableCount = system.cluster.nodeCount * system.cluster.node.acceleratorCount;
  if (neededCount > availableCount) problems.push({ kind: "tooManyAccelerators", neededCount, availableCount });
  const rankCount = plan.tensor * plan.context * plan.data;
  if (rankCount % plan.expert !== 0) {
    problems.push({ kind: "expertRanksDoNotDivide", expert: plan.expert, rankCount });
  }
  const perStep = plan.data * plan.microBatch;
  const steps = job.globalBatch / perStep;
  if (!Number.isSafeInteger(steps)) {
    problems.push({ kind: "batchDoesNotDivide", globalBatch: job.globalBatch, perStep });
  } else if (virtualStages > 1 && steps % pipeline !== 0) {
    problems.push({ kind: "interleavingNeedsGroups", microBatchCount: steps, pipeline });
  }
  if (virtualStages > 1 !== (schedule === "interleaved") || (virtualStages > 1 && pipeline === 1)) {
    problems.push({ kind: "scheduleNeedsChunks", schedule, virtualStages });
  }
  // In a pipeline, gathering weights and scattering gradients would conflict in every stage. DeepSpeed and Megatron
  // refuse this combination.
  if (zeroStage >= 2 && pipeline > 1) problems.push({ kind: "shardingUnderPipeline", zeroStage, pipeline });
  if (plan.data % plan.shardCount !== 0) {
    problems.push({ kind: "shardsDoNotDivide", shardCount: plan.shardCount, data: plan.data });
  }
  return problems;
}

function memoryProblems(job: TrainingJob, plan: ParallelPlan, system: TrainingSystem): readonly PlanProblem[] {
  const memory = estimateMemory(job, plan);
  const accelerator = acceleratorOf(system);
  if (fitVerdict(memory, accelerator) !== "does not fit") return [];
  return [{ kind: "outOfMemory", neededGib: memory.peakBytes / 2 ** 30, availableGib: accelerator.memoryGib }];
}

/** A problem of the question itself, which no plan can solve. */
export type JobProblem =
  | { readonly kind: "noAccelerators"; readonly count: number }
  | { readonly kind: "nonsense"; readonly field: string; readonly value: number };

export function jobProblems(job: TrainingJob, system: TrainingSystem): readonly JobProblem[] {
  const { model } = job;
  const count = system.cluster.nodeCount * system.cluster.node.acceleratorCount;
  const problems: JobProblem[] = [];
  if (!(Number.isSafeInteger(count) && count > 0)) problems.push({ kind: "noAccelerators", count });
  const fields: readonly (readonly [string, number])[] = [
    ["layerCount", model.layerCount],
    ["hidden", model.hidden],
    ["vocabulary", model.vocabulary],
    ["headCount", model.attention.headCount],
    ["sequenceLength", job.sequenceLength],
    ["globalBatch", job.globalBatch],
    ["rank", job.method.kind === "lora" ? job.method.rank : 1],
  ];
  for (const [field, value] of fields) {
    if (!(Number.isSafeInteger(value) && value > 0)) problems.push({ kind: "nonsense", field, value });
  }
  if (expertLayerCount(model) < 0) {
    problems.push({ kind: "nonsense", field: "denseLayerCount", value: model.experts?.denseLayerCount ?? 0 });
  }
  return problems;
}
