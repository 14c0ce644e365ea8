import type { Accelerator } from "../catalogue/accelerator.ts";
import {
  attentionParameters,
  denseLayerParameters,
  expertLayerCount,
  expertLayerParameters,
  type ModelArchitecture,
} from "../catalogue/model.ts";
import { memoryConstantValues, type MemoryConstants } from "../constants.ts";
import { microBatchCount, stateShardCount, type ParallelPlan, type TrainingJob } from "./job.ts";
import { tokensPerRank } from "./layer.ts";
import { parametersOfStage, type RankParameters } from "./parameters.ts";

/** Bytes on one accelerator by what they hold. The parts add up to the whole. */
export interface MemoryBreakdown {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /** Layers whose sharded weights are gathered for the moment. */
  readonly gathered: number;
  readonly activations: number;
  readonly logits: number;
  /** Fragmentation of the allocator and what the runtime keeps. */
  readonly overhead: number;
}

export interface StageMemory {
  readonly bytes: number;
  readonly breakdown: MemoryBreakdown;
}

/** Peak of the first and of the last pipeline stage: one of them is the fullest. */
export interface MemoryEstimate {
  readonly first: StageMemory;
  readonly last: StageMemory;
  readonly peakBytes: number;
}

/** Layers whose weights are whole at a time under ZeRO-3 and FSDP: the one at work and the one that is prefetched. */
const gatheredLayers = 2;
/** fp32 logits and their gradients. */
const logitBytes = 8;
/** Softmax, dropout mask and dropped-out scores of unfused attention (arXiv 2205.05198, eq. 1). */
const scoreBytes = 5;

/** How far a peak lies from the estimate in most runs; closer to the limit than this nobody can tell without trying. */
const doubt = 1.1;

export type FitVerdict = "fits" | "tight" | "does not fit";

export function fitVerdict(memory: MemoryEstimate, accelerator: Accelerator): FitVerdict {
  const available = accelerator.memoryGib * 2 ** 30;
  if (memory.peakBytes > available * doubt) return "does not fit";
  return memory.peakBytes * doubt > available ? "tight" : "fits";
}

export function estimateMemory(
  job: TrainingJob,
  plan: ParallelPlan,
  constants: MemoryConstants = memoryConstantValues(),
): MemoryEstimate {
  const first = stageMemory(job, plan, constants, "first");
  const last = plan.pipeline === 1 ? first : stageMemory(job, plan, constants, "last");
  return { first, last, peakBytes: Math.max(first.bytes, last.bytes) };
}

function stageMemory(
  job: TrainingJob,
  plan: ParallelPlan,
  constants: MemoryConstants,
  stage: "first" | "last",
): StageMemory {
  const parameters = parametersOfStage(job, plan, stage);
  const { weightBytes, gradientBytes, optimizerBytes } = job.precision;
  const shards = stateShardCount(plan);
  const whole = plan.zeroStage === 3 ? shards : 1;
  const isLast = stage === "last" || plan.pipeline === 1;
  const activations = activationBytes(job, plan, stage);
  const logits = isLast ? (logitBytes * tokensPerRank(job, plan) * job.model.vocabulary) / plan.tensor : 0;
  const gradients = (gradientBytes * parameters.trained) / (plan.zeroStage >= 2 ? shards : 1);
  const parts = {
    weights: (weightBytes * parameters.total) / whole,
    gradients: areGradientsKept(job, plan) ? gradients : Math.max(0, gradients - activations - logits),
    optimizer: optimizerOf(plan, parameters, optimizerBytes),
    gathered: plan.zeroStage === 3 ? gatheredBytes(job, plan) : 0,
    activations,
    logits,
  };
  let sum = 0;
  for (const part of Object.values(parts)) sum += part;
  const overhead = sum * (constants.allocatorFactor - 1) + constants.runtimeGib * 2 ** 30;
  return { bytes: sum + overhead, breakdown: { ...parts, overhead } };
}

/**
 * Whether gradients are there while activations are. Buffers wider than the weights (fp32 beside 16 bits) are allocated once,
 * and accumulated gradients stay; otherwise a gradient appears when the activations that it came from go.
 */
function areGradientsKept(job: TrainingJob, plan: ParallelPlan): boolean {
  return job.precision.gradientBytes > job.precision.weightBytes || microBatchCount(job, plan) > 1;
}

/** The optimizer of the dense part is sharded over all replicas; a routed expert has fewer of them. */
function optimizerOf(plan: ParallelPlan, parameters: RankParameters, optimizerBytes: number): number {
  if (plan.zeroStage === 0) return optimizerBytes * parameters.trained;
  const shards = stateShardCount(plan);
  const replicas = Math.max(1, (shards * plan.tensor) / plan.expert);
  const trainedShare = parameters.total > 0 ? parameters.trained / parameters.total : 0;
  return optimizerBytes * trainedShare * (parameters.dense / shards + parameters.experts / replicas);
}

function gatheredBytes(job: TrainingJob, plan: ParallelPlan): number {
  const { model, precision } = job;
  const layer =
    expertLayerCount(model) > 0
      ? attentionParameters(model) / plan.tensor + expertLayerParameters(model).expertsTotal / plan.expert
      : denseLayerParameters(model) / plan.tensor;
  return gatheredLayers * layer * precision.weightBytes;
}

/**
 * Bytes per token that a layer keeps for its backward pass, tensor by tensor in 16 bits: inputs and outputs of the two norms,
 * queries, keys, values and the output of attention, inputs and product of the feed-forward layer. For GPT this gives 32
 * bytes per hidden element against the 34 of arXiv 2205.05198, which counts dropout masks.
 */
export function keptBytesPerToken(job: TrainingJob, plan: ParallelPlan): number {
  const { model } = job;
  const { tensor } = plan;
  const stream = (8 * model.hidden) / (plan.sequenceParallel ? tensor : 1);
  const scores =
    job.software.attention === "unfused" && plan.recomputation !== "selective"
      ? (scoreBytes * model.attention.headCount * job.sequenceLength) / tensor
      : 0;
  const isPlain = job.software.stack === "eager" && model.isFfnGated;
  const plain = isPlain ? plainModuleBytes(model, plan) : 0;
  const expertShare = expertLayerCount(model) / model.layerCount;
  const ffn = (1 - expertShare) * model.ffnHidden * ffnTensors(model) + expertShare * expertTensors(model);
  return stream + scores + plain + (2 * (attentionElements(model) + ffn)) / tensor;
}

/**
 * What a Llama-like block of plain PyTorch modules keeps besides: fp32 copies inside its two RMS norms, rotated queries and
 * keys, the output of the activation before it is multiplied. Fused kernels recompute all of these.
 */
function plainModuleBytes(model: ModelArchitecture, plan: ParallelPlan): number {
  const norms = (8 * model.hidden) / (plan.sequenceParallel ? plan.tensor : 1);
  const rotated = attentionElements(model) / 2;
  const activated = model.experts === undefined ? model.ffnHidden : model.experts.perToken * model.experts.ffnHidden;
  return norms + (2 * (rotated + activated)) / plan.tensor;
}

const ffnTensors = (model: ModelArchitecture): number => (model.isFfnGated ? 3 : 2);

/** Dispatched input, feed-forward tensors and output of every routed copy of a token, and the shared expert. */
function expertTensors(model: ModelArchitecture): number {
  const { experts } = model;
  if (experts === undefined) return 0;
  const routed = experts.perToken * (2 * model.hidden + ffnTensors(model) * experts.ffnHidden);
  return routed + ffnTensors(model) * experts.sharedFfnHidden;
}

function attentionElements(model: ModelArchitecture): number {
  const { attention } = model;
  if (attention.kind === "latent") {
    const queries = attention.headCount * (attention.nopeHeadDim + attention.ropeHeadDim);
    const values = attention.headCount * attention.valueHeadDim;
    return 2 * queries + 2 * values + attention.queryRank + attention.kvRank + attention.ropeHeadDim;
  }
  return 2 * attention.headDim * (attention.headCount + attention.kvHeadCount);
}

function activationBytes(job: TrainingJob, plan: ParallelPlan, stage: "first" | "last"): number {
  const kept = keptBytesPerToken(job, plan);
  const input = (2 * job.model.hidden) / (plan.sequenceParallel ? plan.tensor : 1);
  const perLayer = plan.recomputation === "full" ? input : plan.recomputation === "partial" ? (kept + input) / 2 : kept;
  const layers = Math.ceil(job.model.layerCount / plan.pipeline);
  // Where layers are recomputed one of them is whole at a time; each micro-batch also keeps what lies around its layers,
  // the embedding's output and the stage's boundary, which measurements put at one layer.
  const whole = plan.recomputation === "full" || plan.recomputation === "partial" ? kept : 0;
  return tokensPerRank(job, plan) * (inFlight(job, plan, stage) * (layers + 1) * perLayer + whole);
}

/** Micro-batches whose activations a stage holds, in units of the whole stage (SC21 §2.2; arXiv 2205.05198 for chunks). */
function inFlight(job: TrainingJob, plan: ParallelPlan, stage: "first" | "last"): number {
  const microBatches = microBatchCount(job, plan);
  const { pipeline, virtualStages } = plan;
  if (virtualStages === 1) return Math.min(microBatches, stage === "first" ? pipeline : 1);
  const chunks = stage === "first" ? pipeline * virtualStages + pipeline - 1 : pipeline * (virtualStages - 1) + 1;
  return Math.min(microBatches, chunks / virtualStages);
}
