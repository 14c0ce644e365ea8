import type {
  ParallelPlan,
  PipelineSchedule,
  Recomputation,
  TrainingJob,
  TrainingPrecision,
  TrainingSystem,
} from "../job.ts";

/** The number of accelerators, and the allowed values of the choices that are open. All allowed values are searched. */
export interface SearchSpace {
  readonly acceleratorCount: number;
  readonly tensors: readonly number[];
  readonly pipelines: readonly number[];
  readonly contexts: readonly number[];
  readonly experts: readonly number[];
  readonly microBatchMax: number;
  readonly schedules: readonly PipelineSchedule[];
  readonly zeroStages: readonly (0 | 1 | 2 | 3)[];
  /**
   * Levels of recomputation in the order of their time. Each level takes more time and needs less memory than the one
   * before.
   */
  readonly recomputations: readonly Recomputation[];
  /** Choices that the user stated. Every plan of the search space has these values. */
  readonly stated?: StatedPlan;
}

/** Choices that a user can state, including the precision of numbers. All other choices are searched. */
export type StatedPlan = Partial<ParallelPlan> & { readonly precision?: TrainingPrecision };

/**
 * Minimum number of tokens of each context rank. With fewer tokens, the blocks of ring attention are too small to hide
 * its transfers.
 */
const contextTokensMin = 1024;

export function divisorsOf(value: number): readonly number[] {
  const small: number[] = [];
  const large: number[] = [];
  for (let divisor = 1; divisor * divisor <= value; divisor += 1) {
    if (value % divisor !== 0) continue;
    small.push(divisor);
    if (divisor * divisor !== value) large.unshift(value / divisor);
  }
  return [...small, ...large];
}

/** All layouts of `acceleratorCount` accelerators that the shape of the model allows. */
export function wholeSpace(job: TrainingJob, system: TrainingSystem, acceleratorCount: number): SearchSpace {
  const { model } = job;
  const { attention } = model;
  const divisors = divisorsOf(acceleratorCount);
  const ffnHidden = model.ffnHidden > 0 ? model.ffnHidden : (model.experts?.sharedFfnHidden ?? 0);
  const kv = attention.kind === "latent" ? 1 : attention.kvHeadCount;
  const isShared = (tensor: number): boolean =>
    attention.headCount % tensor === 0 && (kv % tensor === 0 || tensor % kv === 0) && ffnHidden % tensor === 0;
  return {
    acceleratorCount,
    tensors: divisors.filter(isShared),
    pipelines: divisors.filter((pipeline) => pipeline <= model.layerCount),
    contexts: divisors.filter(
      (context) =>
        context === 1 || (job.sequenceLength % (2 * context) === 0 && job.sequenceLength / context >= contextTokensMin),
    ),
    experts: model.experts === undefined ? [1] : divisorsOf(model.experts.count),
    microBatchMax: job.globalBatch,
    schedules: ["1f1b", "interleaved", "zero-bubble"],
    zeroStages: [1, 2, 3],
    recomputations: ["none", "selective", "partial", "full"],
    ...(system.cluster.node.accelerator.scaleUp.kind === "torus" ? { schedules: ["1f1b"] } : {}),
  };
}

/** Choices that determine the time of a layer for one micro-batch. */
export interface LayerChoice {
  readonly tensor: number;
  readonly context: number;
  readonly expert: number;
  readonly microBatch: number;
}

export function layerChoices(job: TrainingJob, space: SearchSpace): readonly LayerChoice[] {
  const { microBatch } = space.stated ?? {};
  const batches =
    microBatch === undefined
      ? divisorsOf(job.globalBatch).filter((batch) => batch <= space.microBatchMax)
      : [microBatch];
  return space.tensors.flatMap((tensor) =>
    space.contexts
      .filter((context) => space.acceleratorCount % (tensor * context) === 0)
      .flatMap((context) =>
        space.experts.flatMap((expert) => batches.map((microBatch) => ({ tensor, context, expert, microBatch }))),
      ),
  );
}

/**
 * Division of the remaining accelerators into stages and replicas, with the schedule and the number of micro-batches.
 */
export interface StageChoice {
  readonly pipeline: number;
  readonly data: number;
  readonly virtualStages: number;
  readonly schedule: PipelineSchedule;
  readonly microBatchCount: number;
}

export function stageChoices(job: TrainingJob, space: SearchSpace, choice: LayerChoice): readonly StageChoice[] {
  const rest = space.acceleratorCount / (choice.tensor * choice.context);
  return space.pipelines.flatMap((pipeline) => {
    if (rest % pipeline !== 0) return [];
    const data = rest / pipeline;
    if (space.stated?.data !== undefined && space.stated.data !== data) return [];
    const microBatchCount = wholeNear(job.globalBatch / (data * choice.microBatch));
    const isWhole = Number.isSafeInteger(microBatchCount);
    const ranks = choice.tensor * choice.context * data;
    if (!isWhole || ranks % choice.expert !== 0) return [];
    return schedulesOf(job, space, pipeline, microBatchCount).map((chunks) => ({
      ...chunks,
      pipeline,
      data,
      microBatchCount,
    }));
  });
}

/**
 * Rounds the number of micro-batches if it is a whole number except for rounding errors. Some published micro-batches
 * do not divide their batch; their numbers stay fractions.
 */
function wholeNear(count: number): number {
  const whole = Math.round(count);
  return Math.abs(count - whole) < 1e-9 * count ? whole : count;
}

function schedulesOf(
  job: TrainingJob,
  space: SearchSpace,
  pipeline: number,
  microBatchCount: number,
): readonly { readonly virtualStages: number; readonly schedule: PipelineSchedule }[] {
  if (pipeline === 1) return [{ virtualStages: 1, schedule: "1f1b" }];
  const { virtualStages: chunks, schedule } = space.stated ?? {};
  if (chunks !== undefined) {
    return [{ virtualStages: chunks, schedule: schedule ?? (chunks > 1 ? "interleaved" : "1f1b") }];
  }
  const chunked = space.schedules.includes("interleaved") && microBatchCount % pipeline === 0;
  const perStage = Math.ceil(job.model.layerCount / pipeline);
  const chunkCounts = chunked
    ? divisorsOf(perStage).filter((chunks) => chunks > 1 && chunks * pipeline <= job.model.layerCount)
    : [];
  return [
    ...space.schedules
      .filter((schedule) => schedule !== "interleaved")
      .map((schedule) => ({ virtualStages: 1, schedule })),
    ...chunkCounts.map((virtualStages) => ({ virtualStages, schedule: "interleaved" as const })),
  ];
}

/**
 * Number of accelerators that can share state over fast links: the accelerators of a node, or of a scale-up domain that
 * joins several nodes.
 */
export function sharingCount({ cluster }: TrainingSystem): number {
  const { acceleratorCount, accelerator } = cluster.node;
  return Math.max(acceleratorCount, accelerator.scaleUp.kind === "pcie" ? 1 : accelerator.scaleUp.domainCount);
}

/**
 * Shardings of the state that are possible. The state can be sharded over all replicas. With ZeRO-3 it can also be
 * sharded within the scale-up domain (HSDP).
 */
export function shardChoices(
  space: SearchSpace,
  choice: LayerChoice,
  stage: StageChoice,
  sharing: number,
): readonly Pick<ParallelPlan, "zeroStage" | "shardCount">[] {
  const { shardCount } = space.stated ?? {};
  return space.zeroStages.flatMap((zeroStage) => {
    // Context ranks hold the same weights. They can share optimizer and gradients, but weights are sharded only over
    // replicas.
    const ranks = zeroStage === 3 ? stage.data : stage.data * choice.context;
    if (zeroStage >= 2 && (stage.pipeline > 1 || ranks === 1)) return [];
    if (shardCount !== undefined) return stage.data % shardCount === 0 ? [{ zeroStage, shardCount }] : [];
    const whole = { zeroStage, shardCount: stage.data };
    const within = Math.floor(sharing / (choice.tensor * choice.context));
    const isHybrid = zeroStage === 3 && within > 1 && stage.data > within && stage.data % within === 0;
    return isHybrid ? [whole, { zeroStage, shardCount: within }] : [whole];
  });
}

/** A complete plan from its parts. */
export function planOf(
  layer: LayerChoice,
  stage: StageChoice,
  shards: Pick<ParallelPlan, "zeroStage" | "shardCount">,
  recomputation: Recomputation,
): ParallelPlan {
  return {
    tensor: layer.tensor,
    pipeline: stage.pipeline,
    context: layer.context,
    data: stage.data,
    expert: layer.expert,
    virtualStages: stage.virtualStages,
    schedule: stage.schedule,
    microBatch: layer.microBatch,
    sequenceParallel: layer.tensor > 1,
    zeroStage: shards.zeroStage,
    shardCount: shards.shardCount,
    recomputation,
  };
}
