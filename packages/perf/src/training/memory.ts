import type { Accelerator } from "../catalogue/accelerator.ts";
import { bytesPerElement } from "../catalogue/number-format.ts";
import {
  attentionParameters,
  denseLayerParameters,
  embeddingParameters,
  expertLayerCount,
  expertLayerParameters,
  type ModelArchitecture,
} from "../catalogue/model.ts";
import { memoryConstantValues, type MemoryConstants } from "../constants.ts";
import { microBatchCount, stateShardCount, type ParallelPlan, type TrainingJob } from "./job.ts";
import { tokensPerRank } from "./layer.ts";
import { innerStage, layersOnStage, parametersOfStage, type RankParameters, type PipelineStage } from "./parameters.ts";

/** Bytes on one accelerator, by use. The parts add up to the total. */
export interface MemoryBreakdown {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /** Complete weights of the layers whose sharded weights are gathered at one time. */
  readonly gathered: number;
  readonly activations: number;
  readonly logits: number;
  /** Memory of the runtime, and flat buffers of libraries. */
  readonly overhead: number;
}

export interface StageMemory {
  readonly bytes: number;
  readonly breakdown: MemoryBreakdown;
}

/** Peak memory of pipeline stages. The first, the inner or the last stage needs the most memory. */
export interface MemoryEstimate {
  readonly first: StageMemory;
  readonly last: StageMemory;
  /** The stage that needs the most memory. */
  readonly fullest: StageMemory;
  readonly peakBytes: number;
}

/**
 * Number of layers whose weights are complete at a time under ZeRO-3 and FSDP: the layer that is computed and the layer
 * that is prefetched.
 */
const gatheredLayers = 2;
/**
 * Memory of modules besides the activations of layers. `logitBytes`: bytes per logit. The losses of Megatron and XLA
 * hold fp32 logits, write gradients over them and keep a 16-bit copy. The losses of PyTorch modules hold 16-bit logits
 * and their fp32 copy. The loss of nanotron holds fp32 logits and their softmax. `workingLayers`: number of layers
 * whose activations and gradients exist at the same time. `aroundLayers`: memory that each micro-batch in flight keeps
 * outside the layers, in units of one layer.
 */
const moduleKinds = {
  fused: { logitBytes: 8, workingLayers: 1, aroundLayers: 0 },
  sharded: { logitBytes: 6, workingLayers: 1, aroundLayers: 0 },
  plain: { logitBytes: 6, workingLayers: 2, aroundLayers: 1 },
  nanotron: { logitBytes: 8, workingLayers: 3, aroundLayers: 0 },
} as const;

function moduleKind(job: TrainingJob, plan: ParallelPlan): (typeof moduleKinds)[keyof typeof moduleKinds] {
  if (job.software.library === "nanotron") return moduleKinds.nanotron;
  if (job.software.stack !== "eager") return moduleKinds.fused;
  return plan.zeroStage === 3 ? moduleKinds.sharded : moduleKinds.plain;
}
/**
 * Bytes of the softmax, the dropout mask and the scores after dropout in unfused attention, for each score (arXiv
 * 2205.05198, eq. 1).
 */
const scoreBytes = 5;
/**
 * DeepSpeed keeps flat buckets of 5e8 elements for reduced gradients. If communication overlaps, several buckets are in
 * flight: 4.5 buckets of 16-bit elements (deepspeed.ai/docs/config-json, `overlap_comm`).
 */
const deepSpeedBucketBytes = 4.5 * 5e8 * 2;

export type FitVerdict = "fits" | "tight" | "does not fit";

/**
 * Memory outside the allocator, in GiB: half a GiB for the driver's context and half a GiB for the buffers of the
 * communicators.
 */
const contextGib = 1;

/**
 * If the probability of running out of memory is higher than this, only a trial run can show whether a run fits, and
 * users choose a leaner plan.
 */
const tightProbability = 0.2;

/**
 * Probability that a run needs more memory than the accelerator has. At the peak, the allocator holds more memory than
 * the tensors need, and driver and communicators need additional memory. The error of the estimate has a normal
 * distribution in the logarithm.
 */
export function outOfMemoryProbability(
  memory: Pick<MemoryEstimate, "peakBytes">,
  accelerator: Accelerator,
  constants: MemoryConstants = memoryConstantValues(),
): number {
  const available = (accelerator.memoryGib - contextGib) * 2 ** 30;
  return normalShare(Math.log((memory.peakBytes * constants.reservedFactor) / available) / constants.memorySpread);
}

/** The normal distribution function by Abramowitz and Stegun 26.2.17, with an error of at most 7.5e-8. */
function normalShare(value: number): number {
  const t = 1 / (1 + 0.231_641_9 * Math.abs(value));
  const [a, b, c, d, e] = [0.319_381_53, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
  const tail =
    (Math.exp((-value * value) / 2) / Math.sqrt(2 * Math.PI)) * t * (a + t * (b + t * (c + t * (d + t * e))));
  return value < 0 ? tail : 1 - tail;
}

export function fitVerdict(memory: Pick<MemoryEstimate, "peakBytes">, accelerator: Accelerator): FitVerdict {
  const probability = outOfMemoryProbability(memory, accelerator);
  if (probability >= 0.5) return "does not fit";
  return probability >= tightProbability ? "tight" : "fits";
}

export function estimateMemory(
  job: TrainingJob,
  plan: ParallelPlan,
  constants: MemoryConstants = memoryConstantValues(),
): MemoryEstimate {
  const first = stageMemory(job, plan, constants, "first");
  const last = plan.pipeline === 1 ? first : stageMemory(job, plan, constants, "last");
  let fullest = first.bytes >= last.bytes ? first : last;
  if (innerStage(job, plan) !== undefined) {
    const inner = stageMemory(job, plan, constants, "inner");
    if (inner.bytes > fullest.bytes) fullest = inner;
  }
  return { first, last, fullest, peakBytes: fullest.bytes };
}

/**
 * Lower bound of the bytes of weights, gradients and optimizer on the first and the last stage. It is valid for all
 * schedules, micro-batches and levels of recomputation.
 */
export function leastStateBytes(
  job: TrainingJob,
  plan: ParallelPlan,
): { readonly first: number; readonly last: number } {
  // Gradients that are no wider than the weights appear when activations are freed, so they need not add to the peak.
  const isKept = job.precision.gradientBytes > job.precision.weightBytes;
  const state = (stage: "first" | "last"): number => {
    const parameters = parametersOfStage(job, plan, stage);
    const { weights, gradients, optimizer } = stateParts(job, plan, parameters, leastCopiedShare(job, plan));
    return weights + optimizer + (isKept ? gradients : 0);
  };
  const last = state("last");
  return { first: plan.pipeline === 1 ? last : state("first"), last };
}

/**
 * Bytes other than weights, gradients and optimizer: the last stage's logits, the activations of layers, and the
 * runtime.
 */
export interface WorkingBytes {
  readonly logits: number;
  readonly layers: number;
  readonly runtime: number;
}

/**
 * Lower bound of the bytes other than weights, gradients and optimizer. It is valid for all schedules and levels of
 * recomputation. It contains the layer that is computed, and the smallest amount that any level of recomputation keeps
 * of one layer. `logits` and `layers` are proportional to the micro-batch.
 */
export function leastWorkingBytes(
  job: TrainingJob,
  plan: ParallelPlan,
  constants: MemoryConstants = memoryConstantValues(),
): WorkingBytes {
  const { workingLayers } = moduleKind(job, plan);
  const kept = Math.min(
    keptBytesPerToken(job, { ...plan, recomputation: "none" }),
    keptBytesPerToken(job, { ...plan, recomputation: "selective" }),
  );
  const input = (2 * job.model.hidden) / (plan.sequenceParallel ? plan.tensor : 1);
  // The last stage of nanotron can consist of only the output layer.
  const keptLayers = job.software.library === "nanotron" ? 0 : 1;
  return {
    logits: logitBytes(job, plan, "last"),
    layers: tokensPerRank(job, plan) * (workingLayers * kept + keptLayers * Math.min(input, kept)),
    runtime: constants.runtimeGib * 2 ** 30,
  };
}

/**
 * Lower bound of the optimizer's bytes over all accelerators, for any plan. No plan shards the state of a parameter
 * further than over all ranks that train it. 0 for adapters, whose state is small.
 */
export function leastOptimizerBytes(job: TrainingJob): number {
  if (job.method.kind === "lora") return 0;
  const { model, precision } = job;
  const experts = expertLayerCount(model) * expertLayerParameters(model).total;
  const layers = experts + (model.layerCount - expertLayerCount(model)) * denseLayerParameters(model);
  return precision.optimizerBytes * (layers + embeddingParameters(model));
}

function logitBytes(job: TrainingJob, plan: ParallelPlan, stage: PipelineStage): number {
  if (stage !== "last" && plan.pipeline > 1) return 0;
  return moduleKind(job, plan).logitBytes * logitCount(job, plan);
}

function logitCount(job: TrainingJob, plan: ParallelPlan): number {
  return (tokensPerRank(job, plan) * job.model.vocabulary) / plan.tensor;
}

/**
 * Bytes of nanotron's 16-bit logits, which are freed before the loss. From the second micro-batch on, other tensors
 * take parts of the freed block, so the next logits need a new block.
 */
function splitLogitBytes(job: TrainingJob, plan: ParallelPlan, stage: PipelineStage): number {
  if (job.software.library !== "nanotron" || microBatchCount(job, plan) === 1) return 0;
  return stage !== "last" && plan.pipeline > 1 ? 0 : 2 * logitCount(job, plan);
}

/**
 * Bytes of weights, gradients and optimizer of a stage on one accelerator. Gradients are counted as if all of them were
 * held at the same time. `copied`: share of the gradients that also have a copy in the number format of the weights.
 */
function stateParts(
  job: TrainingJob,
  plan: ParallelPlan,
  parameters: RankParameters,
  copied: number,
): Pick<MemoryBreakdown, "weights" | "gradients" | "optimizer"> {
  const { weightBytes, gradientBytes, optimizerBytes } = job.precision;
  const { stack } = job.software;
  const kept = plan.zeroStage === 3 ? shardOf(plan, parameters) : parameters.total;
  const trainedShare = trainedShareOf(parameters);
  // PyTorch computes gradients in the number format of the weights and then adds them to wider buffers. Megatron's
  // kernels add them in place.
  const isCopied = stack === "eager" && gradientBytes > weightBytes && plan.zeroStage < 3;
  const arriving = isCopied ? weightBytes * copied : 0;
  // Fully sharded modules keep their weights only in the optimizer's precision. They cast the weights to 16 bits when
  // they gather them.
  const isMasterOnly = plan.zeroStage === 3 && stack !== "fused" && optimizerBytes > 0;
  return {
    // With a master copy in the optimizer, only frozen weights (those of LoRA) are kept in their own format.
    weights: weightBytes * kept * (isMasterOnly ? 1 - trainedShare : 1),
    gradients:
      (gradientBytes + arriving) *
      (plan.zeroStage >= 2 ? trainedShare * shardOf(plan, parameters) : parameters.trained),
    optimizer: optimizerOf(plan, parameters, optimizerBytes),
  };
}

/**
 * Share of the gradients that need memory of their own in the number format of the weights. nanotron's ZeRO 1 frees
 * these gradients, and then gathers the updated weights into one flat tensor for each replica. PyTorch's allocator can
 * reuse the blocks of freed activations for the flat tensors and for about half of the gradients, if the widest block
 * is at least as large as a flat tensor. If it is smaller, the flat tensors need as much new memory as all gradients.
 */
function copiedShare(job: TrainingJob, plan: ParallelPlan, parameters: RankParameters): number {
  const least = leastCopiedShare(job, plan);
  const { hidden, ffnHidden, isFfnGated } = job.model;
  const widest = 2 * tokensPerRank(job, plan) * Math.max(hidden, ((isFfnGated ? 2 : 1) * ffnHidden) / plan.tensor);
  return (job.precision.weightBytes * parameters.trained) / plan.data > widest ? 1 : least;
}

function leastCopiedShare(job: TrainingJob, plan: ParallelPlan): number {
  return job.software.library === "nanotron" && plan.zeroStage > 0 && plan.data > 1 ? 0.5 : 1;
}

function stageMemory(
  job: TrainingJob,
  plan: ParallelPlan,
  constants: MemoryConstants,
  stage: PipelineStage,
): StageMemory {
  const parameters = parametersOfStage(job, plan, stage);
  const state = stateParts(job, plan, parameters, copiedShare(job, plan, parameters));
  const activations = activationBytes(job, plan, stage);
  const logits = logitBytes(job, plan, stage) + splitLogitBytes(job, plan, stage);
  const { gradients } = state;
  const parts = {
    ...state,
    gradients: areGradientsKept(job, plan) ? gradients : Math.max(0, gradients - activations - logits),
    gathered: plan.zeroStage === 3 ? gatheredBytes(job, plan) : 0,
    activations,
    logits,
  };
  let sum = 0;
  for (const part of Object.values(parts)) sum += part;
  const buckets = job.software.library === "deepspeed" ? deepSpeedBucketBytes : 0;
  const overhead = constants.runtimeGib * 2 ** 30 + buckets;
  return { bytes: sum + overhead, breakdown: { ...parts, overhead } };
}

/**
 * Whether gradients exist at the same time as activations. Buffers wider than the weights (fp32 for 16-bit weights) are
 * allocated once and stay, and so do accumulated gradients. Other gradients appear only when the activations of their
 * layer are freed.
 */
function areGradientsKept(job: TrainingJob, plan: ParallelPlan): boolean {
  return job.precision.gradientBytes > job.precision.weightBytes || microBatchCount(job, plan) > 1;
}

/** Bytes of the optimizer state. */
function optimizerOf(plan: ParallelPlan, parameters: RankParameters, optimizerBytes: number): number {
  if (plan.zeroStage === 0) return optimizerBytes * parameters.trained;
  return optimizerBytes * trainedShareOf(parameters) * shardOf(plan, parameters);
}

const trainedShareOf = ({ total, trained }: RankParameters): number => (total > 0 ? trained / total : 0);

/**
 * Parameters of a rank's shard. Dense parameters are sharded over all replicas, those of a routed expert over fewer,
 * because an expert has fewer replicas.
 */
function shardOf(plan: ParallelPlan, { dense, experts }: RankParameters): number {
  const shards = stateShardCount(plan);
  return dense / shards + experts / Math.max(1, (shards * plan.tensor) / plan.expert);
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
 * Bytes per token that a layer keeps for its backward pass. The tensors are counted one by one in 16 bits: inputs and
 * outputs of the two norms, queries, keys, values and the output of attention, inputs and product of the feed-forward
 * layer. For GPT this gives 32 bytes per hidden element. arXiv 2205.05198 counts dropout masks too and gives 34.
 */
export function keptBytesPerToken(job: TrainingJob, plan: ParallelPlan): number {
  const { model } = job;
  const { tensor } = plan;
  // Tensors that selective recomputation computes again: normalised inputs, activated products, up-projections of
  // latent attention.
  const { attention, library } = job.software;
  const isLean = attention === "flash" && library !== "nanotron" && plan.recomputation === "selective";
  const inputBytes = keptInputBytes(job);
  const normed = isLean ? 0 : 2 * inputBytes * model.hidden;
  const stream = (4 * model.hidden + normed) / (plan.sequenceParallel ? tensor : 1);
  const scores =
    attention === "unfused" && plan.recomputation !== "selective"
      ? (scoreBytes * model.attention.headCount * job.sequenceLength) / tensor
      : 0;
  const isPlain = job.software.stack === "eager" && model.isFfnGated && !isLean;
  const plain = isPlain ? plainModuleBytes(job, plan) : 0;
  const expertShare = expertLayerCount(model) / model.layerCount;
  const wide = { hidden: (model.isFfnGated ? 4 : 2) + (isLean ? 0 : inputBytes), input: inputBytes };
  const ffn = (1 - expertShare) * model.ffnHidden * wide.hidden + expertShare * expertBytes(model, wide);
  return stream + scores + plain + (attentionBytes(model, isLean, inputBytes) + ffn) / tensor;
}

/**
 * Bytes per value of the inputs of linear layers that are kept for the backward pass. They are kept in the number
 * format of the product. If fused kernels multiply 8 or 4 bits, the inputs are kept quantised.
 */
function keptInputBytes(job: TrainingJob): number {
  const isQuantised = job.software.stack === "fused" && bytesPerElement(job.precision.linear) < 2;
  return isQuantised ? 1 : 2;
}

/**
 * Additional bytes per token of a Llama-like block of plain PyTorch modules: fp32 copies inside its two RMS norms, and
 * the output of the activation before it is multiplied. Fused kernels recompute both. The norm of nanotron is fused. If
 * keys and values have as many heads as the queries, however, its attention keeps them twice: rotated, and in the joint
 * buffer of queries, keys and values.
 */
function plainModuleBytes(job: TrainingJob, plan: ParallelPlan): number {
  const { model } = job;
  const { attention } = model;
  const activated = model.experts === undefined ? model.ffnHidden : model.experts.perToken * model.experts.ffnHidden;
  const activation = (2 * activated) / plan.tensor;
  if (job.software.library !== "nanotron") {
    return activation + (8 * model.hidden) / (plan.sequenceParallel ? plan.tensor : 1);
  }
  const isJoint = attention.kind === "grouped" && attention.kvHeadCount === attention.headCount;
  return activation + (isJoint ? (4 * attention.headCount * attention.headDim) / plan.tensor : 0);
}

/**
 * Bytes of the dispatched input and the feed-forward tensors, for every copy of a token that is routed to an expert and
 * for the shared expert.
 */
function expertBytes(model: ModelArchitecture, wide: { readonly hidden: number; readonly input: number }): number {
  const { experts } = model;
  if (experts === undefined) return 0;
  return (
    experts.perToken * (wide.input * model.hidden + wide.hidden * experts.ffnHidden) +
    wide.hidden * experts.sharedFfnHidden
  );
}

/**
 * Bytes of queries, keys, values and the output of attention. If the up-projection of latent attention is recomputed,
 * only the compressed form is kept.
 */
function attentionBytes(model: ModelArchitecture, isLean: boolean, inputBytes: number): number {
  const { attention } = model;
  if (attention.kind === "latent") {
    const ranks = attention.queryRank + attention.kvRank + attention.ropeHeadDim;
    const queries = attention.headCount * (attention.nopeHeadDim + attention.ropeHeadDim);
    const values = attention.headCount * attention.valueHeadDim;
    return 2 * ranks + inputBytes * values + (isLean ? 0 : 4 * queries + 2 * values);
  }
  const out = attention.headDim * attention.headCount;
  return inputBytes * out + 2 * attention.headDim * (attention.headCount + 2 * attention.kvHeadCount);
}

function activationBytes(job: TrainingJob, plan: ParallelPlan, stage: PipelineStage): number {
  const { workingLayers, aroundLayers } = moduleKind(job, plan);
  const kept = keptBytesPerToken(job, plan);
  const input = (2 * job.model.hidden) / (plan.sequenceParallel ? plan.tensor : 1);
  const perLayer = plan.recomputation === "full" ? input : plan.recomputation === "partial" ? (kept + input) / 2 : kept;
  const layers = Math.ceil(layersOnStage(job, plan, stage));
  // With plain PyTorch modules, each micro-batch in flight keeps tensors outside the layers: the embedding's output and
  // the stage's input or output. In measurements they take as much memory as one layer. Megatron frees a stage's output
  // once it is sent.
  const whole = inputsGathered(job, plan) + workingLayers * kept;
  const layersInFlight = inFlight(job, plan, stage) * (layers + aroundLayers) + aroundLayers;
  return tokensPerRank(job, plan) * (layersInFlight * perLayer + whole);
}

/**
 * Bytes of gathered inputs that sequence-parallel PyTorch modules keep for each token, hidden element and layer. Kept
 * inputs of the two products of a layer would take 4 bytes. The measured runs do not state whether they keep the inputs
 * or gather them again; 3.3 is the average that fits them.
 */
const keptGatheredBytes = 3.3;

/**
 * Bytes per token of inputs that sequence-parallel PyTorch modules gather from the tensor ranks. Without a pipeline,
 * the modules keep the gathered inputs for the backward pass. In pipelines and under selective recomputation, nanotron
 * gathers them again (`tp_recompute_allgather`), into a buffer that it never frees; the gathered gradient is held at
 * the same time.
 */
function inputsGathered(job: TrainingJob, plan: ParallelPlan): number {
  const { stack, library } = job.software;
  if (stack !== "eager" || !plan.sequenceParallel || plan.tensor === 1) return 0;
  const { hidden, layerCount } = job.model;
  const regathers = library === "nanotron" && (plan.pipeline > 1 || plan.recomputation !== "none");
  if (regathers) return 4 * hidden;
  const isKept = plan.pipeline === 1 && plan.recomputation !== "full";
  return isKept ? keptGatheredBytes * hidden * (1 - 1 / plan.tensor) * layerCount : 0;
}

/**
 * Number of micro-batches whose activations a stage holds. A micro-batch in some chunks of a stage counts as a fraction
 * (SC21 §2.2; arXiv 2205.05198 for chunks).
 */
function inFlight(job: TrainingJob, plan: ParallelPlan, stage: PipelineStage): number {
  const microBatches = microBatchCount(job, plan);
  const { pipeline, virtualStages } = plan;
  const before = stage === "last" ? pipeline - 1 : stage === "inner" ? (innerStage(job, plan) ?? 0) : 0;
  const later = pipeline - 1 - before;
  if (virtualStages === 1) return Math.min(microBatches, later + 1);
  const chunks = pipeline * (virtualStages - 1) + 2 * later + 1;
  return Math.min(microBatches, chunks / virtualStages);
}
