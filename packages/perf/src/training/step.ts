import {
  attentionParameters,
  denseLayerParameters,
  expertLayerCount,
  expertLayerParameters,
  kvCacheWidth,
  queryWidth,
  valueWidth,
} from "../catalogue/model.ts";
import { trainingConstantValues, type TrainingConstants } from "../constants.ts";
import {
  dispatchSeconds,
  gatherSeconds,
  groupOf,
  linksOf,
  reduceSeconds,
  sendSeconds,
  type Links,
} from "./collectives.ts";
import {
  acceleratorCountOf,
  microBatchCount,
  stateShardCount,
  type ParallelPlan,
  type TrainingJob,
  type TrainingSystem,
} from "./job.ts";
import {
  denseLayerTime,
  expertLayerTime,
  headTime,
  recomputedTime,
  secondsOf,
  tokensPerRank,
  withLaunches,
  type ComputeTime,
  type LayerTime,
  type LayerWork,
} from "./layer.ts";
import { parametersPerRank, type RankParameters } from "./parameters.ts";
import { bubbleSeconds, stagesOf } from "./pipeline.ts";
import { ratesOf } from "./rates.ts";

/** Seconds of one optimizer step on the slowest stage, by cause. The parts add up to the time of the step. */
export interface StepBreakdown {
  readonly matmul: number;
  readonly attention: number;
  readonly elements: number;
  readonly routing: number;
  readonly launch: number;
  readonly recomputation: number;
  readonly tensorExchange: number;
  readonly contextExchange: number;
  readonly expertExchange: number;
  readonly stageTransfer: number;
  readonly bubble: number;
  readonly stateExchange: number;
  readonly optimizer: number;
  readonly jitter: number;
}

export interface StepEstimate {
  readonly seconds: number;
  readonly tokensPerSecondPerAccelerator: number;
  readonly breakdown: StepBreakdown;
}

/**
 * Seconds that the parts of one layer, or of the output head, take for one micro-batch. Forward and backward pass are
 * added.
 */
interface PartTime {
  readonly compute: ComputeTime;
  readonly recomputation: number;
  readonly tensor: number;
  readonly context: number;
  readonly expert: number;
  /**
   * Exposed time of the exchange of sharded weights and gradients that takes place for every micro-batch (ZeRO-3,
   * FSDP).
   */
  readonly state: number;
  readonly total: number;
  readonly forwardSeconds: number;
  readonly backwardSeconds: number;
}

interface TrainingStepWork extends LayerWork {
  readonly system: TrainingSystem;
  readonly links: Links;
  readonly parameters: RankParameters;
}

/**
 * Number of times that the optimizer state passes through memory: Adam reads the master weight and two moments, and
 * writes them. The gradient that it reads and the weight that it writes count separately.
 */
const optimizerPasses = 2;

/**
 * Bytes of one gradient on the network. By default, Megatron reduces gradients in fp32, and FSDP and XLA in 16 bits.
 */
function reducedBytes(job: TrainingJob): number {
  return job.software.stack === "fused" ? job.precision.gradientBytes : 2;
}

function workOf(
  job: TrainingJob,
  plan: ParallelPlan,
  system: TrainingSystem,
  constants: TrainingConstants,
): TrainingStepWork {
  const rates = ratesOf(job, system, constants);
  const links = linksOf(system.cluster, constants, system.calibration?.scaleUpEfficiency);
  return { job, plan, rates, constants, system, links, parameters: parametersPerRank(job, plan) };
}

/**
 * Seconds of one micro-batch over all layers and the output head, without the effects of stages, replicas and sharding.
 * No plan with the same tensor, context and expert ranks and the same micro-batch is faster, so the bounds of the
 * search use this time.
 */
export function wholeModelSeconds(
  job: TrainingJob,
  plan: ParallelPlan,
  system: TrainingSystem,
  constants: TrainingConstants = trainingConstantValues(),
): number {
  const bare: ParallelPlan = { ...plan, zeroStage: 1, recomputation: "none" };
  const work = workOf(job, bare, system, constants);
  const expertLayers = expertLayerCount(job.model);
  const dense = expertLayers < job.model.layerCount ? partTime(work, denseLayerTime(work), false).total : 0;
  const expert = expertLayers > 0 ? partTime(work, expertLayerTime(work), true).total : 0;
  return (job.model.layerCount - expertLayers) * dense + expertLayers * expert + headPart(work).total;
}

export function estimateStep(
  job: TrainingJob,
  plan: ParallelPlan,
  system: TrainingSystem,
  constants: TrainingConstants = trainingConstantValues(),
): StepEstimate {
  const work = workOf(job, plan, system, constants);
  const dense = partTime(work, denseLayerTime(work), false);
  const expert = job.model.experts === undefined ? dense : partTime(work, expertLayerTime(work), true);
  const head = headPart(work);
  const stages = stagesOf(job.model, plan, { dense: dense.total, expert: expert.total, head: head.total });
  const microBatches = microBatchCount(job, plan);
  const weights = stages.slowest;
  const total = (pick: (part: PartTime) => number): number =>
    microBatches * (weights.dense * pick(dense) + weights.expert * pick(expert) + weights.head * pick(head));
  const stageTransfer = transferSeconds(work) * microBatches;
  const passes = hidingPasses(plan, microBatches);
  const window = {
    forward: passes * (weights.dense * dense.forwardSeconds + weights.expert * expert.forwardSeconds),
    backward: passes * (weights.dense * dense.backwardSeconds + weights.expert * expert.backwardSeconds),
  };
  const busy = {
    matmul: total((part) => part.compute.matmul),
    attention: total((part) => part.compute.attention),
    elements: total((part) => part.compute.elements),
    routing: total((part) => part.compute.routing),
    launch: total((part) => part.compute.launch),
    recomputation: total((part) => part.recomputation),
    tensorExchange: total((part) => part.tensor),
    contextExchange: total((part) => part.context),
    expertExchange: total((part) => part.expert),
    stageTransfer,
    bubble: bubbleSeconds(stages, plan),
    stateExchange: total((part) => part.state) + stateSeconds(work, window),
    optimizer: optimizerSeconds(work),
  };
  return withJitter(work, busy);
}

function withJitter(work: TrainingStepWork, busy: Omit<StepBreakdown, "jitter">): StepEstimate {
  const { job, plan, system, constants } = work;
  let seconds = 0;
  for (const part of Object.values(busy)) seconds += part;
  const count = acceleratorCountOf(plan);
  const nodes = count / system.cluster.node.acceleratorCount;
  // The slowest of n nodes determines the pace. If the times of nodes vary, the expected maximum of n normal draws is
  // near σ√(2 ln n).
  const jitter = nodes > 1 ? seconds * constants.jitter * Math.sqrt(2 * Math.log(nodes)) : 0;
  const whole = seconds + jitter;
  return {
    seconds: whole,
    tokensPerSecondPerAccelerator: (job.globalBatch * job.sequenceLength) / (whole * count),
    breakdown: { ...busy, jitter },
  };
}

function partTime(work: TrainingStepWork, bare: LayerTime, hasExperts: boolean): PartTime {
  const { plan, constants } = work;
  const waits = contextSeconds(work, bare);
  const layer = withLaunches(bare, waits, work);
  // Recomputation does not exchange keys and values again, so only its kernels can hide the time of its launches.
  const again = recomputedTime(
    withLaunches(bare, { forward: 0, backward: 0 }, work),
    plan,
    work.job.software.attention,
  );
  const forward = secondsOf(layer.forward);
  const recomputation = secondsOf(again);
  const backward = secondsOf(layer.backward) + recomputation;
  const passes = plan.recomputation === "full" ? 3 : plan.recomputation === "partial" ? 2.5 : 2;
  const tensor = tensorSeconds(work, hasExperts) * passes * exposedShare(work);
  const context = waits.forward + waits.backward;
  const expert = hasExperts ? expertSeconds(work) * passes * constants.expertExposed : 0;
  // Other exchange also overlaps with the time in which attention waits for keys and values. Faster attention therefore
  // does not make other exchange more visible.
  const window = { forward: forward + waits.forward, backward: backward + waits.backward };
  const state = plan.zeroStage === 3 ? shardedSeconds(work, hasExperts, window) : 0;
  return {
    compute: {
      matmul: layer.forward.matmul + layer.backward.matmul,
      attention: layer.forward.attention + layer.backward.attention,
      elements: layer.forward.elements + layer.backward.elements,
      routing: layer.forward.routing + layer.backward.routing,
      launch: layer.forward.launch + layer.backward.launch,
    },
    recomputation,
    tensor,
    context,
    expert,
    state,
    total: forward + backward + tensor + context + expert + state,
    forwardSeconds: window.forward,
    backwardSeconds: window.backward,
  };
}

function headPart(work: TrainingStepWork): PartTime {
  const head = headTime(work);
  const forward = secondsOf(head.forward);
  const backward = secondsOf(head.backward);
  return {
    compute: {
      matmul: head.forward.matmul + head.backward.matmul,
      attention: 0,
      elements: head.forward.elements + head.backward.elements,
      routing: 0,
      launch: 0,
    },
    recomputation: 0,
    tensor: 0,
    context: 0,
    expert: 0,
    state: 0,
    total: forward + backward,
    forwardSeconds: forward,
    backwardSeconds: backward,
  };
}

/**
 * Share of the exchange that takes additional time. Only fused and compiled stacks overlap matrix products with their
 * own exchange; eager modules wait for the exchange.
 */
function exposedShare(work: TrainingStepWork): number {
  return work.job.software.stack === "eager" ? 1 : work.constants.exchangeExposed;
}

/**
 * Seconds of tensor parallelism's exchange for one layer and direction: two all-reduces of the hidden states (Megatron,
 * arXiv 1909.08053), or one in a layer with experts.
 */
function tensorSeconds(work: TrainingStepWork, hasExperts: boolean): number {
  const { job, plan, links } = work;
  if (plan.tensor === 1) return 0;
  const bytes = 2 * tokensPerRank(job, plan) * job.model.hidden;
  return (hasExperts ? 1 : 2) * reduceSeconds(links, groupOf(links, plan.tensor, 1), bytes);
}

/**
 * Seconds that ring attention waits for keys and values. It passes them round once in the forward pass and twice in the
 * backward pass. If attention itself takes longer, it hides the exchange.
 */
function contextSeconds(
  work: TrainingStepWork,
  layer: LayerTime,
): { readonly forward: number; readonly backward: number } {
  const { job, plan, links } = work;
  if (plan.context === 1) return { forward: 0, backward: 0 };
  const group = groupOf(links, plan.context, plan.tensor);
  const { attention } = job.model;
  const width = attention.kind === "latent" ? queryWidth(attention) + valueWidth(attention) : kvCacheWidth(attention);
  const bytes = (2 * tokensPerRank(job, plan) * width * plan.context) / plan.tensor;
  const once = gatherSeconds(links, group, bytes);
  return {
    forward: Math.max(0, once - layer.forward.attention),
    backward: Math.max(0, 2 * once - layer.backward.attention),
  };
}

/**
 * Seconds of dispatching tokens to the experts and combining their results, once in each direction. A token for several
 * experts of one node crosses the network once (DeepEP, Megatron's hybrid dispatcher).
 */
function expertSeconds(work: TrainingStepWork): number {
  const { job, plan, links } = work;
  const { experts } = job.model;
  if (experts === undefined || plan.expert === 1) return 0;
  const tokenBytes = (2 * tokensPerRank(job, plan) * job.model.hidden) / plan.tensor;
  return 2 * dispatchSeconds(links, groupOf(links, plan.expert, 1), tokenBytes, experts.perToken);
}

/**
 * Seconds of the exchange of sharded weights and gradients, for each layer and micro-batch. Weights are gathered for
 * the forward pass and again for the backward pass. Gradients are scattered after the backward pass.
 */
function shardedSeconds(
  work: TrainingStepWork,
  hasExperts: boolean,
  compute: { readonly forward: number; readonly backward: number },
): number {
  const { job, plan, links, constants } = work;
  const { model } = job;
  const count = hasExperts
    ? attentionParameters(model) / plan.tensor + expertLayerParameters(model).expertsTotal / plan.expert
    : denseLayerParameters(model) / plan.tensor;
  const group = groupOf(links, plan.shardCount, plan.tensor);
  const gather = gatherSeconds(links, group, job.precision.weightBytes * count);
  const isFrozen = job.method.kind === "lora";
  const scatter = isFrozen ? 0 : gatherSeconds(links, group, reducedBytes(job) * count);
  const exposed =
    Math.max(0, gather - constants.dataOverlap * compute.forward) +
    Math.max(0, gather + scatter - constants.dataOverlap * compute.backward);
  return exposed + constants.overlapSlowdown * (2 * gather + scatter - exposed);
}

/**
 * Exposed time of the exchange of gradients and updated weights among replicas, once per step. The exchange overlaps
 * with the last backward pass and the first forward pass.
 */
function stateSeconds(work: TrainingStepWork, window: { readonly forward: number; readonly backward: number }): number {
  const { job, plan, links, constants, parameters } = work;
  const replicas = plan.zeroStage === 3 ? plan.data / plan.shardCount : plan.data * plan.context;
  if (replicas <= 1 || job.method.kind === "lora") return 0;
  const stride = plan.tensor * (plan.zeroStage === 3 ? plan.shardCount : 1);
  const group = groupOf(links, replicas, stride);
  const held = plan.zeroStage === 3 ? parameters.total / plan.shardCount : parameters.dense;
  // Sharded gradients cannot be accumulated on the rank that computes them, so they are sent for every micro-batch
  // (ZeRO, arXiv 1910.02054).
  const times = plan.zeroStage === 2 ? microBatchCount(job, plan) : 1;
  const gradients = times * gatherSeconds(links, group, reducedBytes(job) * held);
  const second = plan.zeroStage === 0 || plan.zeroStage === 3 ? reducedBytes(job) : job.precision.weightBytes;
  const weights = gatherSeconds(links, group, second * held);
  const exposed =
    Math.max(0, gradients - times * constants.dataOverlap * window.backward) +
    Math.max(0, weights - constants.dataOverlap * window.forward);
  return exposed + constants.overlapSlowdown * (gradients + weights - exposed);
}

function optimizerSeconds(work: TrainingStepWork): number {
  const { job, plan, rates, parameters } = work;
  const shards = plan.zeroStage === 0 ? 1 : stateShardCount(plan);
  const bytes =
    optimizerPasses * job.precision.optimizerBytes + job.precision.gradientBytes + job.precision.weightBytes;
  return (bytes * parameters.trained) / shards / rates.memoryBytes;
}

/**
 * Number of passes of a stage that can hide the exchange of gradients and weights: the last backward pass and the first
 * forward pass. With interleaved stages, the gradients of one chunk are final while a group of micro-batches still
 * passes through the other chunks.
 */
function hidingPasses(plan: ParallelPlan, microBatches: number): number {
  const others = (plan.virtualStages - 1) / plan.virtualStages;
  return Math.max(1, Math.min(microBatches, plan.pipeline) * others);
}

/**
 * Seconds in which activations are sent to the next stage and gradients back, for each micro-batch and chunk of layers.
 */
function transferSeconds(work: TrainingStepWork): number {
  const { job, plan, links } = work;
  if (plan.pipeline === 1) return 0;
  const bytes = (2 * tokensPerRank(job, plan) * job.model.hidden) / (plan.sequenceParallel ? plan.tensor : 1);
  const stride = plan.tensor * plan.context * plan.data;
  return 2 * plan.virtualStages * exposedShare(work) * sendSeconds(links, bytes, stride);
}
