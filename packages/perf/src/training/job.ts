import type { Accelerator } from "../catalogue/accelerator.ts";
import type { AcceleratorCalibration } from "../catalogue/calibration.ts";
import type { ModelArchitecture } from "../catalogue/model.ts";
import type { Cluster } from "../catalogue/node.ts";
import type { NumberFormat } from "../catalogue/number-format.ts";

/** What is trained: the model, how much of it, and the batch of one optimizer step. */
export interface TrainingJob {
  readonly model: ModelArchitecture;
  /** Tokens per sequence. */
  readonly sequenceLength: number;
  /** Sequences per optimizer step, over all replicas. */
  readonly globalBatch: number;
  readonly method: TrainingMethod;
  readonly precision: TrainingPrecision;
  readonly software: TrainingSoftware;
}

/** `full` updates every parameter; `lora` adds low-rank matrices beside the frozen linear layers (arXiv 2106.09685). */
export type TrainingMethod = { readonly kind: "full" } | { readonly kind: "lora"; readonly rank: number };

export interface TrainingPrecision {
  /** Format of the operands of the linear layers; attention, head and everything else stay in 16 bits. */
  readonly linear: NumberFormat;
  /** Bytes per parameter of the weights that the forward pass reads. */
  readonly weightBytes: number;
  /** Bytes per parameter in which gradients are accumulated. */
  readonly gradientBytes: number;
  /** Bytes per parameter of the optimizer: master weights and moments (Adam in fp32: 4 + 4 + 4). */
  readonly optimizerBytes: number;
}

/** Mixed precision as Megatron and nanotron do it: 16-bit weights, fp32 gradients, fp32 master weights and moments. */
export function mixedPrecision(linear: NumberFormat): TrainingPrecision {
  return { linear, weightBytes: 2, gradientBytes: 4, optimizerBytes: 12 };
}

/**
 * The precisions that users step down to where memory is short, from the usual one: gradients in 16 bits
 * (`grad_reduce_in_fp32=False`), then Adam's moments too (Megatron's precision-aware optimizer: 4 + 2 + 2 bytes).
 */
export function leanerPrecisions(usual: TrainingPrecision): readonly TrainingPrecision[] {
  const gradientBytes = Math.min(2, usual.gradientBytes);
  const optimizerBytes = Math.min(8, usual.optimizerBytes);
  return [usual, { ...usual, gradientBytes }, { ...usual, gradientBytes, optimizerBytes }];
}

/**
 * What executes the layers. `fused`: Transformer Engine and Megatron Core, whose kernels join element-wise work and hide part
 * of the communication; `eager`: PyTorch modules under DDP or FSDP; `compiled`: JAX under XLA.
 */
export type SoftwareStack = "fused" | "eager" | "compiled";

export interface TrainingSoftware {
  readonly stack: SoftwareStack;
  /** `unfused` materialises the attention matrix; `flash` never does (arXiv 2205.14135). */
  readonly attention: "flash" | "unfused";
  /** A library around the modules that keeps buffers of its own. */
  readonly library?: "deepspeed";
}

/**
 * Which of the activations are kept for the backward pass: `none` is recomputed, `selective` recomputes the attention core
 * (arXiv 2205.05198), `partial` about half of each layer, `full` keeps a layer's input only.
 */
export type Recomputation = "none" | "selective" | "partial" | "full";

/** `interleaved` and `1f1b` are Megatron's (SC21); `zero-bubble` is ZB-H1 (arXiv 2401.10241), with 1F1B's memory. */
export type PipelineSchedule = "1f1b" | "interleaved" | "zero-bubble";

/** How a job is laid out over accelerators. Their number is tensor × context × pipeline × data. */
export interface ParallelPlan {
  readonly tensor: number;
  readonly pipeline: number;
  readonly context: number;
  readonly data: number;
  /** Ranks (out of context × data, with tensor ranks joining) over which the experts are spread. */
  readonly expert: number;
  /** Chunks of layers per pipeline stage; more than one only in the interleaved schedule. */
  readonly virtualStages: number;
  readonly schedule: PipelineSchedule;
  /** Sequences of one micro-batch. */
  readonly microBatch: number;
  readonly sequenceParallel: boolean;
  readonly zeroStage: 0 | 1 | 2 | 3;
  /** Data ranks that share one copy of the sharded state: `data` for ZeRO and FSDP, fewer for HSDP. */
  readonly shardCount: number;
  readonly recomputation: Recomputation;
}

/** Where it runs. Only one kind of node per job: gangs are homogeneous. */
export interface TrainingSystem {
  readonly cluster: Cluster;
  readonly calibration?: AcceleratorCalibration;
}

export function acceleratorOf(system: TrainingSystem): Accelerator {
  return system.cluster.node.accelerator;
}

/** Accelerators that a plan occupies. */
export function acceleratorCountOf(plan: ParallelPlan): number {
  return plan.tensor * plan.pipeline * plan.context * plan.data;
}

/** Micro-batches that each pipeline passes per step (gradient accumulation without a pipeline). */
export function microBatchCount(job: TrainingJob, plan: ParallelPlan): number {
  return job.globalBatch / (plan.data * plan.microBatch);
}

/**
 * Ranks over which weights, gradients and optimizer may be sharded. Context ranks hold the same weights, so they join the
 * replicas (Megatron's distributed optimizer).
 */
export function stateShardCount(plan: ParallelPlan): number {
  return plan.zeroStage === 3 ? plan.shardCount : plan.data * plan.context;
}
