import type { Accelerator } from "../catalogue/accelerator.ts";
import type { AcceleratorCalibration } from "../catalogue/calibration.ts";
import type { ModelArchitecture } from "../catalogue/model.ts";
import type { Cluster } from "../catalogue/node.ts";
import type { NumberFormat } from "../catalogue/number-format.ts";

/** A training job: the model, the part of the model that is trained, and the batch of one optimizer step. */
export interface TrainingJob {
  readonly model: ModelArchitecture;
  /** Number of tokens of one sequence. */
  readonly sequenceLength: number;
  /** Number of sequences per optimizer step, over all replicas. */
  readonly globalBatch: number;
  readonly method: TrainingMethod;
  readonly precision: TrainingPrecision;
  readonly software: TrainingSoftware;
}

/**
 * `full` updates every parameter. `lora` adds low-rank matrices to the linear layers, which are frozen (arXiv
 * 2106.09685).
 */
export type TrainingMethod = { readonly kind: "full" } | { readonly kind: "lora"; readonly rank: number };

export interface TrainingPrecision {
  /**
   * Number format of the operands of linear layers. Attention, the output head and all other operations use 16 bits.
   */
  readonly linear: NumberFormat;
  /** Bytes per parameter of the weights that the forward pass reads. */
  readonly weightBytes: number;
  /** Bytes per parameter in which gradients are accumulated. */
  readonly gradientBytes: number;
  /**
   * Bytes per parameter of the optimizer state. The state consists of master weights and moments (Adam in fp32: 4 + 4 +
   * 4).
   */
  readonly optimizerBytes: number;
}

/** Mixed precision as in Megatron and nanotron: 16-bit weights, fp32 gradients, fp32 master weights and moments. */
export function mixedPrecision(linear: NumberFormat): TrainingPrecision {
  return { linear, weightBytes: 2, gradientBytes: 4, optimizerBytes: 12 };
}

/**
 * Precisions that users choose one after the other if memory is short, starting with the usual one. The second has
 * gradients in 16 bits (`grad_reduce_in_fp32=False`). The third also has Adam's moments in 16 bits (Megatron's
 * precision-aware optimizer: 4 + 2 + 2 bytes).
 */
export function leanerPrecisions(usual: TrainingPrecision): readonly TrainingPrecision[] {
  const gradientBytes = Math.min(2, usual.gradientBytes);
  const optimizerBytes = Math.min(8, usual.optimizerBytes);
  return [usual, { ...usual, gradientBytes }, { ...usual, gradientBytes, optimizerBytes }];
}

/**
 * Software that executes the layers. `fused`: Transformer Engine and Megatron Core, whose kernels combine element-wise
 * work and hide a part of the communication. `eager`: PyTorch modules under DDP or FSDP. `compiled`: JAX under XLA.
 */
export type SoftwareStack = "fused" | "eager" | "compiled";

export interface TrainingSoftware {
  readonly stack: SoftwareStack;
  /** `unfused` stores the matrix of attention scores. `flash` never stores it (arXiv 2205.14135). */
  readonly attention: "flash" | "unfused";
  /** A library that has its own buffers, modules, or division of layers among stages. */
  readonly library?: "deepspeed" | "nanotron";
}

/**
 * Activations that are not kept but recomputed in the backward pass. `none`: no activations. `selective`: the attention
 * core (arXiv 2205.05198). `partial`: about half of each layer. `full`: everything except the input of each layer.
 */
export type Recomputation = "none" | "selective" | "partial" | "full";

/**
 * Pipeline schedules. `interleaved` and `1f1b` are Megatron's (SC21). `zero-bubble` is ZB-H1 (arXiv 2401.10241), which
 * needs the same memory as 1F1B.
 */
export type PipelineSchedule = "1f1b" | "interleaved" | "zero-bubble";

/** Layout of a job over accelerators. The number of accelerators is tensor × context × pipeline × data. */
export interface ParallelPlan {
  readonly tensor: number;
  readonly pipeline: number;
  readonly context: number;
  readonly data: number;
  /** Number of ranks among which the experts are divided. They are taken from the context, data and tensor ranks. */
  readonly expert: number;
  /** Number of chunks of layers in each pipeline stage. It exceeds 1 only in the interleaved schedule. */
  readonly virtualStages: number;
  readonly schedule: PipelineSchedule;
  /** Number of sequences of one micro-batch. */
  readonly microBatch: number;
  readonly sequenceParallel: boolean;
  readonly zeroStage: 0 | 1 | 2 | 3;
  /**
   * Number of data ranks that share one copy of the sharded state. It equals `data` for ZeRO and FSDP, and is smaller
   * for HSDP.
   */
  readonly shardCount: number;
  readonly recomputation: Recomputation;
}

/** The system on which a job runs. It has only one kind of node, because gangs are homogeneous. */
export interface TrainingSystem {
  readonly cluster: Cluster;
  readonly calibration?: AcceleratorCalibration;
}

export function acceleratorOf(system: TrainingSystem): Accelerator {
  return system.cluster.node.accelerator;
}

/** Number of accelerators that a plan uses. */
export function acceleratorCountOf(plan: ParallelPlan): number {
  return plan.tensor * plan.pipeline * plan.context * plan.data;
}

/**
 * Number of micro-batches that pass through each pipeline in one step. Without a pipeline, it is the number of gradient
 * accumulation steps.
 */
export function microBatchCount(job: TrainingJob, plan: ParallelPlan): number {
  return job.globalBatch / (plan.data * plan.microBatch);
}

/**
 * Number of ranks among which weights, gradients and optimizer state can be sharded. Context ranks hold the same
 * weights, so they count like data ranks (Megatron's distributed optimizer).
 */
export function stateShardCount(plan: ParallelPlan): number {
  return plan.zeroStage === 3 ? plan.shardCount : plan.data * plan.context;
}
