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
import { layersOnStage, parametersOfStage, type RankParameters } from "./parameters.ts";

/** Bytes on one accelerator by use. The parts add up to the total. */
export interface MemoryBreakdown {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /** Layers whose sharded weights are currently gathered. */
  readonly gathered: number;
  readonly activations: number;
  readonly logits: number;
  /** Fragmentation of the allocator, and memory of the runtime. */
  readonly overhead: number;
}

export interface StageMemory {
  readonly bytes: number;
  readonly breakdown: MemoryBreakdown;
}

/** Peak memory of the first and of the last pipeline stage; one of them is the fullest. */
export interface MemoryEstimate {
  readonly first: StageMemory;
  readonly last: StageMemory;
  readonly peakBytes: number;
}

/**
 * Number of layers whose weights are complete at a time under ZeRO-3 and FSDP: the layer at work and the prefetched
 * one.
 */
const gatheredLayers = 2;
/**
 * Memory of modules besides the layers' activations. `logitBytes`: bytes per logit. Megatron's and XLA's losses hold
 * fp32 logits, write gradients over them and keep a 16-bit copy; losses of PyTorch modules hold the 16-bit logits and
 * their fp32 copy; nanotron's loss holds fp32 logits and their softmax. `workingLayers`: number of layers whose activations and gradients exist at a time;
 * `aroundLayers`: memory that each micro-batch in flight keeps around its layers, in layers.
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
/** Bytes of softmax, dropout mask and dropped-out scores of unfused attention (arXiv 2205.05198, eq. 1). */
const scoreBytes = 5;
/**
 * DeepSpeed keeps flat buckets of 5e8 elements for reduced gradients, and several are in flight when communication
 * overlaps: 4.5 buckets of 16 bits (deepspeed.ai/docs/config-json, `overlap_comm`).
 */
const deepSpeedBucketBytes = 4.5 * 5e8 * 2;

export type FitVerdict = "fits" | "tight" | "does not fit";

/** Memory of the driver's context and of the communicators' buffers outside the allocator, in GiB: half a GiB each. */
const contextGib = 1;

/** Above this probability of running out of memory only a trial run can tell, and users choose a leaner plan. */
const tightProbability = 0.2;

/**
 * Probability that a run needs more memory than the accelerator has. The allocator holds more than the tensors need at
 * their peak, and driver and communicators need further memory; the estimate's own error is normal in the logarithm.
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
  return { first, last, peakBytes: Math.max(first.bytes, last.bytes) };
}

/** Lower bound of the state of the two end stages, for all schedules, micro-batches and levels of recomputation. */
export function leastStateBytes(
  job: TrainingJob,
  plan: ParallelPlan,
): { readonly first: number; readonly last: number } {
  // Narrower gradients appear when activations are freed, so they need not add to the peak.
  const isKept = job.precision.gradientBytes > job.precision.weightBytes;
  const state = (stage: "first" | "last"): number => {
    const parameters = parametersOfStage(job, plan, stage);
    const { weights, gradients, optimizer } = stateParts(job, plan, parameters, leastCopiedShare(job, plan));
    return weights + optimizer + (isKept ? gradients : 0);
  };
  const last = state("last");
  return { first: plan.pipeline === 1 ? last : state("first"), last };
}

/** Bytes besides the state: the last stage's logits, activations of layers, and the runtime. */
export interface WorkingBytes {
  readonly logits: number;
  readonly layers: number;
  readonly runtime: number;
}

/**
 * Lower bound of the bytes besides the state, for all schedules and levels of recomputation: one layer at work, and the
 * least that any level keeps of one layer. Logits and layers are proportional to the micro-batch.
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
  // nanotron's last stage may hold the output layer alone.
  const keptLayers = job.software.library === "nanotron" ? 0 : 1;
  return {
    logits: logitBytes(job, plan, "last"),
    layers: tokensPerRank(job, plan) * (workingLayers * kept + keptLayers * Math.min(input, kept)),
    runtime: constants.runtimeGib * 2 ** 30,
  };
}

/**
 * Lower bound of the optimizer's bytes over all accelerators, for any plan: no plan shards a parameter's state further
 * than over all ranks that train it. 0 for adapters, whose state is small.
 */
export function leastOptimizerBytes(job: TrainingJob): number {
  if (job.method.kind === "lora") return 0;
  const { model, precision } = job;
  const experts = expertLayerCount(model) * expertLayerParameters(model).total;
  const layers = experts + (model.layerCount - expertLayerCount(model)) * denseLayerParameters(model);
  return precision.optimizerBytes * (layers + embeddingParameters(model));
}

function logitBytes(job: TrainingJob, plan: ParallelPlan, stage: "first" | "last"): number {
  if (stage === "first" && plan.pipeline > 1) return 0;
  return moduleKind(job, plan).logitBytes * logitCount(job, plan);
}

function logitCount(job: TrainingJob, plan: ParallelPlan): number {
  return (tokensPerRank(job, plan) * job.model.vocabulary) / plan.tensor;
}

/**
 * Bytes of nanotron's 16-bit logits, which are freed before the loss: from the second micro-batch on, other tensors take
 * parts of their block, so that the next logits need a new one.
 */
function splitLogitBytes(job: TrainingJob, plan: ParallelPlan, stage: "first" | "last"): number {
  if (job.software.library !== "nanotron" || microBatchCount(job, plan) === 1) return 0;
  return stage === "first" && plan.pipeline > 1 ? 0 : 2 * logitCount(job, plan);
}

/**
 * Weights, gradients and optimizer of a stage on one accelerator; gradients as if all of them were held at once.
 * `copied`: share of the gradients that have a copy in the weights' format.
 */
function stateParts(
  job: TrainingJob,
  plan: ParallelPlan,
  parameters: RankParameters,
  copied: number,
): Pick<MemoryBreakdown, "weights" | "gradients" | "optimizer"> {
  const { weightBytes, gradientBytes, optimizerBytes } = job.precision;
  const { stack } = job.software;
  const shards = stateShardCount(plan);
  const whole = plan.zeroStage === 3 ? shards : 1;
  // PyTorch's gradients are computed in the weights' format and added to wider buffers; Megatron's kernels add in
  // place.
  const isCopied = stack === "eager" && gradientBytes > weightBytes && plan.zeroStage < 3;
  const arriving = isCopied ? weightBytes * copied : 0;
  // Fully sharded modules keep their weights only in the optimizer's precision, and cast the gathered ones.
  const isMasterOnly = plan.zeroStage === 3 && stack !== "fused" && optimizerBytes > 0;
  return {
    weights: isMasterOnly ? frozenBytes(job, parameters, whole) : (weightBytes * parameters.total) / whole,
    gradients: ((gradientBytes + arriving) * parameters.trained) / (plan.zeroStage >= 2 ? shards : 1),
    optimizer: optimizerOf(plan, parameters, optimizerBytes),
  };
}

/**
 * Share of the gradients that have memory of their own in the weights' format. nanotron's ZeRO 1 frees them before it
 * gathers the updated weights into one flat tensor per replica. PyTorch's allocator takes the blocks of freed activations
 * for these tensors, and for about half of the gradients, only if the widest block is as large as a flat tensor;
 * otherwise the flat tensors need as much new memory as all gradients.
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
  stage: "first" | "last",
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

/** Bytes of weights without a master copy in the optimizer (LoRA's frozen ones), sharded over the replicas. */
function frozenBytes(job: TrainingJob, parameters: RankParameters, shards: number): number {
  return (job.precision.weightBytes * (parameters.total - parameters.trained)) / shards;
}

/**
 * Whether gradients exist at the same time as activations. Buffers wider than the weights (fp32 for 16-bit weights) are
 * allocated once, and accumulated gradients stay; otherwise a gradient appears when its activations are freed.
 */
function areGradientsKept(job: TrainingJob, plan: ParallelPlan): boolean {
  return job.precision.gradientBytes > job.precision.weightBytes || microBatchCount(job, plan) > 1;
}

/** Bytes of the optimizer. The dense part is sharded over all replicas; a routed expert has fewer replicas. */
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
 * Bytes per token that a layer keeps for its backward pass, tensor by tensor in 16 bits: inputs and outputs of the two
 * norms, queries, keys, values and the output of attention, inputs and product of the feed-forward layer. For GPT this
 * gives 32 bytes per hidden element, against 34 in arXiv 2205.05198, which counts dropout masks.
 */
export function keptBytesPerToken(job: TrainingJob, plan: ParallelPlan): number {
  const { model } = job;
  const { tensor } = plan;
  // Selectively recomputed tensors: normalised inputs, activated products, up-projections of latent attention.
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
 * Bytes per value of kept inputs of linear layers: they are kept in the format of the product, quantised if fused
 * kernels multiply 8 or 4 bits.
 */
function keptInputBytes(job: TrainingJob): number {
  const isQuantised = job.software.stack === "fused" && bytesPerElement(job.precision.linear) < 2;
  return isQuantised ? 1 : 2;
}

/**
 * Additional bytes of a Llama-like block of plain PyTorch modules: fp32 copies inside its two RMS norms, and the output
 * of the activation before it is multiplied. Fused kernels recompute both. nanotron's norm is fused, but its attention
 * keeps keys and values twice where they have as many heads as the queries: rotated, and in the joint buffer of the
 * three.
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
 * Bytes of the dispatched input and the feed-forward tensors of every routed copy of a token, and of the shared expert.
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
 * Bytes of queries, keys, values and the output of attention; only the compressed form is kept if latent attention is
 * projected up again.
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

function activationBytes(job: TrainingJob, plan: ParallelPlan, stage: "first" | "last"): number {
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
 * Bytes per token, hidden element and layer of gathered inputs that sequence-parallel PyTorch modules keep: 4 for the
 * two products of a layer. The measured runs do not state whether they keep the inputs or gather them again; 3.3 is the
 * average that fits them.
 */
const keptGatheredBytes = 3.3;

/**
 * Bytes per token of inputs that sequence-parallel PyTorch modules gather from the tensor ranks. On one stage they keep
 * them for the backward pass. nanotron gathers them again in pipelines and under selective recomputation
 * (`tp_recompute_allgather`), into a buffer that it never frees, beside the gathered gradient.
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
 * Number of micro-batches whose activations a stage holds, in units of the whole stage (SC21 §2.2; arXiv 2205.05198 for
 * chunks).
 */
function inFlight(job: TrainingJob, plan: ParallelPlan, stage: "first" | "last"): number {
  const microBatches = microBatchCount(job, plan);
  const { pipeline, virtualStages } = plan;
  if (virtualStages === 1) return Math.min(microBatches, stage === "first" ? pipeline : 1);
  const chunks = stage === "first" ? pipeline * virtualStages + pipeline - 1 : pipeline * (virtualStages - 1) + 1;
  return Math.min(microBatches, chunks / virtualStages);
}
