import { acceleratorOf, leanerPrecisions, type TrainingJob, type TrainingSystem } from "../job.ts";
import { findBestPlan, leastNeed, type MemoryNeed, type PlannedStep, type SearchResult } from "./best.ts";
import { wholeSpace, type SearchSpace, type StatedPlan } from "./space.ts";

/**
 * Maximum width of tensor parallelism in the usual choices of users. Users of Megatron choose tensor ranks inside a
 * node, pipeline stages and the distributed optimizer (ZeRO-1). Users of FSDP and of JAX shard the state over all
 * replicas and raise the micro-batch. If no usual plan of a stack fits and divides the batch, the wider search space of
 * the stack is tried.
 */
const usualTensorMax = 8;

/** A plan, and which of its choices the search made. */
export interface OrdinaryPlan extends PlannedStep {
  /** The job with the chosen precision of gradients and optimizer. */
  readonly job: TrainingJob;
  /** Names of the choices that were not stated, so that the search made them. */
  readonly chosen: readonly PlanChoiceName[];
}

export type OrdinaryResult =
  | ({ readonly kind: "found" } & OrdinaryPlan)
  | Exclude<SearchResult, { readonly kind: "found" }>;

/** Fields that describe a plan. Shard count, schedule and sequence parallelism follow from these fields. */
export const planChoices = [
  "tensor",
  "pipeline",
  "context",
  "data",
  "expert",
  "virtualStages",
  "microBatch",
  "zeroStage",
  "recomputation",
  "precision",
] as const;

export type PlanChoiceName = (typeof planChoices)[number];

/**
 * The plan that users of the job's stack would run on `acceleratorCount` accelerators. Stated choices are kept. The
 * others are those of the fastest plan that fits among the usual choices of the stack. Gradients and optimizer keep the
 * job's precision unless no plan with this precision fits. If the question is refused or nothing fits, the result is
 * the same as for `searchBestPlan`.
 */
export function ordinaryPlan(
  job: TrainingJob,
  system: TrainingSystem,
  acceleratorCount: number,
  stated: StatedPlan = {},
): OrdinaryResult {
  const found = findOrdinaryPlan(job, system, acceleratorCount, stated);
  if (found.kind !== "nothingFits") return found;
  let least: MemoryNeed | undefined;
  for (const asked of jobsOf(job, stated)) {
    for (const space of usualSpaces(asked, system, acceleratorCount, stated)) {
      const need = leastNeed(asked, system, space);
      if (least === undefined || (need !== undefined && need.neededGib < least.neededGib)) least = need;
    }
  }
  return { ...found, least };
}

/**
 * The result of `ordinaryPlan`. If nothing fits, however, the memory that the most frugal plan needs is not computed.
 */
export function findOrdinaryPlan(
  job: TrainingJob,
  system: TrainingSystem,
  acceleratorCount: number,
  stated: StatedPlan = {},
): OrdinaryResult {
  const chosen = planChoices.filter((name) => stated[name] === undefined);
  for (const asked of jobsOf(job, stated)) {
    for (const space of usualSpaces(asked, system, acceleratorCount, stated)) {
      const result = findBestPlan(asked, system, space);
      if (result.kind === "refused") return result;
      if (result.kind === "found") return { kind: "found", ...result.best, job: asked, chosen };
    }
  }
  return { kind: "nothingFits", least: undefined, effort: { evaluatedCount: 0, excludedCount: 0 } };
}

/** The job in each of the precisions that are tried one after the other. */
function jobsOf(job: TrainingJob, { precision }: StatedPlan): readonly TrainingJob[] {
  const precisions = precision === undefined ? leanerPrecisions(job.precision) : [precision];
  return precisions.map((each) => ({ ...job, precision: each }));
}

/**
 * Search spaces of the stack, the smaller one first. The first has the usual settings of the stack, the second all
 * settings that its software supports.
 */
function usualSpaces(
  job: TrainingJob,
  system: TrainingSystem,
  acceleratorCount: number,
  stated: StatedPlan,
): readonly SearchSpace[] {
  const whole = wholeSpace(job, system, acceleratorCount);
  const widest: SearchSpace = { ...whole, schedules: ["1f1b", "interleaved"], zeroStages: [1, 3] };
  const narrow = usualSpace(job, widest, system);
  return [narrow, widest].map((space) => withStated(space, stated));
}

function usualSpace(job: TrainingJob, whole: SearchSpace, system: TrainingSystem): SearchSpace {
  const near = Math.min(usualTensorMax, Math.max(1, acceleratorOf(system).scaleUp.domainCount));
  const tensors = whole.tensors.filter((tensor) => tensor <= near);
  switch (job.software.stack) {
    case "fused":
      return { ...whole, tensors, zeroStages: [1] };
    case "eager":
      return { ...whole, tensors: [1], pipelines: [1], contexts: [1], experts: [1], zeroStages: [3] };
    case "compiled": {
      // MaxText recomputes whole layers by default (`remat_policy: full`). Each accelerator gets its own sequences as
      // long as there are enough sequences.
      const isPlentiful = job.globalBatch >= whole.acceleratorCount;
      const shared = isPlentiful ? { tensors: [1], contexts: [1] } : { tensors };
      return { ...whole, ...shared, pipelines: [1], zeroStages: [3], recomputations: ["full"] };
    }
  }
}

function withStated(space: SearchSpace, stated: StatedPlan): SearchSpace {
  const { tensor, pipeline, context, expert, zeroStage, recomputation } = stated;
  return {
    ...space,
    ...(tensor === undefined ? {} : { tensors: [tensor] }),
    ...(pipeline === undefined ? {} : { pipelines: [pipeline] }),
    ...(context === undefined ? {} : { contexts: [context] }),
    ...(expert === undefined ? {} : { experts: [expert] }),
    ...(zeroStage === undefined ? {} : { zeroStages: [zeroStage] }),
    ...(recomputation === undefined ? {} : { recomputations: [recomputation] }),
    stated,
  };
}
