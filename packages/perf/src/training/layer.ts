import {
  attentionParameters,
  kvCacheWidth,
  queryWidth,
  valueWidth,
  type ModelArchitecture,
} from "../catalogue/model.ts";
import type { TrainingConstants } from "../constants.ts";
import { microBatchCount, type ParallelPlan, type TrainingJob } from "./job.ts";
import type { Rates } from "./rates.ts";

/** Seconds of one part of the computation, by cause. */
export interface ComputeTime {
  readonly matmul: number;
  readonly attention: number;
  readonly elements: number;
  readonly routing: number;
  /** Time in which the host launches kernels and no kernel runs. */
  readonly launch: number;
}

/** Time of one layer for one micro-batch on one accelerator, without the time of the host. */
export interface LayerTime {
  readonly forward: ComputeTime;
  readonly backward: ComputeTime;
  /** Number of kernels that the forward pass launches. */
  readonly kernels: number;
}

/** Inputs of the time of a layer. */
export interface LayerWork {
  readonly job: TrainingJob;
  readonly plan: ParallelPlan;
  readonly rates: Rates;
  readonly constants: TrainingConstants;
}

/**
 * Number of kernels of one layer's forward pass: projections, attention, norms, residuals, activation. Eager modules
 * launch about twice as many, because biases, casts, masks and transpositions are separate kernels.
 */
const kernelsPerLayer = { fused: 20, compiled: 20, eager: 40 } as const;
/** Number of kernels for routing in a layer with experts: router, sort, permutation, exchange and un-permutation. */
const kernelsOfRouting = 60;
/** Number of kernels for each local expert. Products, casts and copies are launched one expert at a time. */
const kernelsPerExpert = 6;
/**
 * Number of kernels in the backward pass, relative to the forward pass. Backward computes the gradients of inputs and
 * of weights.
 */
const backwardKernels = 2;

/** Number of tokens of a micro-batch on one rank, before they are divided among tensor ranks. */
export function tokensPerRank(job: TrainingJob, plan: ParallelPlan): number {
  return (plan.microBatch * job.sequenceLength) / plan.context;
}

export function secondsOf(time: ComputeTime): number {
  return time.matmul + time.attention + time.elements + time.routing + time.launch;
}

/**
 * A product of an m × k matrix with a k × n matrix. `alike`: number of equal products that run as one kernel (grouped
 * experts).
 */
interface MatrixShape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly alike: number;
}

/**
 * Seconds of a product of an m × k matrix with a k × n matrix. It has 2mnk FLOPs. Moving the mk + kn + mn elements adds
 * time that arithmetic does not hide. This makes small and narrow products inefficient, mostly on accelerators with
 * many FLOPs per byte. The tiles do not fill the last wave over the compute units; on average half a wave is lost.
 */
function product({ m, n, k, alike }: MatrixShape, work: LayerWork): number {
  const { linearFlops, linearOperandBytes, memoryBytes, waveElements, matrixUnitWidth } = work.rates;
  if (m * n * k === 0) return 0;
  const elements = m * padded(n, matrixUnitWidth) + waveElements / 2 / alike;
  return (
    (2 * elements * padded(k, matrixUnitWidth)) / linearFlops +
    (linearOperandBytes * (m * k + k * n + m * n)) / memoryBytes
  );
}

/**
 * A dimension rounded up to a multiple of a systolic unit's width. A width of 0 means that the accelerator has no such
 * unit.
 */
function padded(size: number, unit: number): number {
  return unit === 0 ? size : Math.ceil(size / unit) * unit;
}

/**
 * Time to add the gradients of weights to their buffer, beyond the time to write the 16-bit result of the product.
 * Fully sharded gradients are scattered before they would be added. With a single micro-batch, eager and compiled
 * modules have nothing to which they would add.
 */
function accumulation(n: number, k: number, work: LayerWork): number {
  const { job, plan, rates } = work;
  const isSingle = job.software.stack !== "fused" && microBatchCount(job, plan) <= 1;
  if ((plan.zeroStage === 3 && plan.shardCount > 1) || isSingle) return 0;
  return ((2 * job.precision.gradientBytes - 2) * n * k) / rates.memoryBytes;
}

/** Time of the low-rank matrices (LoRA) beside a product with frozen weights. They are two thin products. */
function adapter(shape: MatrixShape, work: LayerWork): number {
  const { method } = work.job;
  if (method.kind !== "lora") return 0;
  return product({ ...shape, n: method.rank }, work) + product({ ...shape, k: method.rank }, work);
}

/**
 * Time of the forward and backward pass of a linear layer. The backward pass has two products, for the gradients of
 * inputs and of weights. If the weights are frozen, it has one.
 */
function linear(shape: MatrixShape, work: LayerWork): { forward: number; backward: number } {
  const base = product(shape, work);
  const thin = adapter(shape, work);
  if (work.job.method.kind === "lora") return { forward: base + thin, backward: base + 2 * thin };
  const { m, n, k, alike } = shape;
  // The gradient of inputs is an m × k product over n, and the gradient of weights an n × k product over m. Their last
  // waves of tiles are therefore filled differently.
  const inputs = product({ m, n: k, k: n, alike }, work);
  const weights = product({ m: n, n: k, k: m, alike }, work) + accumulation(n, k, work);
  return { forward: base, backward: inputs + weights };
}

/**
 * Time of the projections around attention. It is computed from their parameters, as if all projections that read
 * `hidden` were one product.
 */
function projections(work: LayerWork): { forward: number; backward: number } {
  const { model } = work.job;
  const tokens = tokensPerRank(work.job, work.plan);
  const out = valueWidth(model.attention) / work.plan.tensor;
  const inward = attentionParameters(model) / model.hidden / work.plan.tensor - out;
  const first = linear({ m: tokens, n: inward, k: model.hidden, alike: 1 }, work);
  const last = linear({ m: tokens, n: model.hidden, k: out, alike: 1 }, work);
  return { forward: first.forward + last.forward, backward: first.backward + last.backward };
}

/**
 * Mean number of positions to which a query attends, before causality is taken into account: the sequence, or the
 * window in layers with a window.
 */
function attendedPositions(model: ModelArchitecture, sequenceLength: number): number {
  const { attention } = model;
  if (attention.kind === "latent" && attention.sparse !== undefined) {
    return Math.min(sequenceLength, 2 * attention.sparse.tokens);
  }
  if (attention.kind === "linear-mix") {
    // A gated delta layer reads and writes a state of head × head values. This costs as much as attention to a context
    // of twice the head's size.
    return sequenceLength / attention.fullEvery + 2 * attention.linear.headDim * (1 - 1 / attention.fullEvery);
  }
  if (attention.kind !== "grouped" || attention.window === undefined) return sequenceLength;
  const { tokens, fullEvery } = attention.window;
  // Causality halves full attention but not a window. Because the result is later halved for all layers, twice the
  // window is used here.
  const windowed = Math.min(sequenceLength, 2 * tokens);
  return sequenceLength / fullEvery + windowed * (1 - 1 / fullEvery);
}

/** Time of the attention core: scores, softmax, weighted sum. */
function attentionCore(work: LayerWork): { forward: number; backward: number } {
  const { job, plan, rates } = work;
  const { attention } = job.model;
  const positions = attendedPositions(job.model, job.sequenceLength);
  const tokens = tokensPerRank(job, plan);
  const flops = (2 * tokens * positions * (queryWidth(attention) + valueWidth(attention))) / plan.tensor;
  if (job.software.attention === "flash") {
    // Blocks above the diagonal are skipped. The backward pass recomputes the scores, so it has five products instead
    // of two.
    const forward = flops / 2 / rates.attentionFlops;
    return { forward, backward: 2.5 * forward };
  }
  const matrixBytes = (2 * tokens * positions * attention.headCount) / plan.tensor;
  const forward = flops / rates.halfFlops + (work.constants.unfusedPasses * matrixBytes) / rates.memoryBytes;
  return { forward, backward: 2 * forward };
}

/**
 * Number of values per token that element-wise kernels around attention and feed-forward read or write in the forward
 * pass.
 */
function elementsPerToken(work: LayerWork, ffnWidth: number): number {
  const { model } = work.job;
  const { tensor, sequenceParallel } = work.plan;
  // Two norms and two residual additions read twice and write once, and also read their inputs. Tensor ranks share this
  // work only under sequence parallelism.
  const stream = (10 * model.hidden) / (sequenceParallel ? tensor : 1);
  const rotary = (2 * (queryWidth(model.attention) + kvCacheWidth(model.attention) / 2)) / tensor;
  return stream + rotary + (model.isFfnGated ? 3 : 2) * ffnWidth;
}

/** Number of values per token that are quantised in the forward pass before the products of a layer. */
function castsPerToken(work: LayerWork, ffnWidth: number): number {
  const { model } = work.job;
  const { tensor } = work.plan;
  return 2 * model.hidden + valueWidth(model.attention) / tensor + ffnWidth;
}

/** Bytes that the cast of one value moves: it reads 16 bits and writes 8 or fewer. */
const castBytes = 3;

function elementSeconds(work: LayerWork, ffnWidth: number): number {
  const { rates } = work;
  const tokens = tokensPerRank(work.job, work.plan);
  const cast = rates.isNarrow ? castBytes * castsPerToken(work, ffnWidth) : 0;
  return (tokens * (2 * rates.elementPasses * elementsPerToken(work, ffnWidth) + cast)) / rates.memoryBytes;
}

/**
 * Launch time that is not hidden. Launching overlaps with the kernels. If one of the two takes much longer, the shorter
 * one is hidden. If they are nearly equal, both cost time, because kernels differ in length. The root of the sum of
 * squares gives a smooth transition between the two cases.
 */
function uncovered(kernels: number, covered: number, work: LayerWork): number {
  return Math.hypot(kernels * work.rates.launchSeconds, covered) - covered;
}

function layerTime(work: LayerWork, ffn: { forward: number; backward: number }, rest: Extra): LayerTime {
  const around = projections(work);
  const core = attentionCore(work);
  const elements = elementSeconds(work, rest.ffnWidth);
  const { routing, kernels } = rest;
  const matmul = { forward: around.forward + ffn.forward, backward: around.backward + ffn.backward };
  return {
    forward: { matmul: matmul.forward, attention: core.forward, elements, routing, launch: 0 },
    backward: { matmul: matmul.backward, attention: core.backward, elements: 2 * elements, routing, launch: 0 },
    kernels,
  };
}

/**
 * Adds the launch time during which neither kernels run nor the accelerator waits. `waits`: seconds of exchange that
 * attention does not hide.
 */
export function withLaunches(
  layer: LayerTime,
  waits: { readonly forward: number; readonly backward: number },
  work: LayerWork,
): LayerTime {
  const { forward, backward, kernels } = layer;
  const launched = uncovered(kernels, secondsOf(forward) + waits.forward, work);
  const launchedBack = uncovered(backwardKernels * kernels, secondsOf(backward) + waits.backward, work);
  return { forward: { ...forward, launch: launched }, backward: { ...backward, launch: launchedBack }, kernels };
}

/**
 * Work of a layer beyond its matrix products and attention. It differs between dense layers and layers with experts.
 */
interface Extra {
  readonly ffnWidth: number;
  readonly routing: number;
  readonly kernels: number;
}

export function denseLayerTime(work: LayerWork): LayerTime {
  const { model } = work.job;
  const width = model.ffnHidden / work.plan.tensor;
  return layerTime(work, feedForward(work, width), {
    ffnWidth: width,
    routing: 0,
    kernels: kernelsPerLayer[work.job.software.stack],
  });
}

function feedForward(work: LayerWork, width: number): { forward: number; backward: number } {
  const { model } = work.job;
  const tokens = tokensPerRank(work.job, work.plan);
  const up = linear({ m: tokens, n: (model.isFfnGated ? 2 : 1) * width, k: model.hidden, alike: 1 }, work);
  const down = linear({ m: tokens, n: model.hidden, k: width, alike: 1 }, work);
  return { forward: up.forward + down.forward, backward: up.backward + down.backward };
}

export function expertLayerTime(work: LayerWork): LayerTime {
  const { model } = work.job;
  const { experts } = model;
  if (experts === undefined) return denseLayerTime(work);
  const { rates, plan, constants } = work;
  const routedTokens = (tokensPerRank(work.job, plan) * experts.perToken) / plan.tensor;
  const localCount = Math.max(1, experts.count / plan.expert);
  const routed = groupedProducts(work, routedTokens, localCount);
  const shared = feedForward(work, experts.sharedFfnHidden / plan.tensor);
  const bytes = constants.routingPasses * 2 * routedTokens * model.hidden;
  return layerTime(
    work,
    { forward: routed.forward + shared.forward, backward: routed.backward + shared.backward },
    {
      ffnWidth: experts.ffnHidden * (experts.perToken / plan.tensor) + experts.sharedFfnHidden / plan.tensor,
      routing: bytes / rates.memoryBytes,
      kernels: kernelsPerLayer[work.job.software.stack] + kernelsOfRouting + kernelsPerExpert * localCount,
    },
  );
}

/** Time of the matrix products of the routed experts. The tokens of a rank are spread evenly over its local experts. */
function groupedProducts(work: LayerWork, tokens: number, localCount: number): { forward: number; backward: number } {
  const { model } = work.job;
  const width = model.experts?.ffnHidden ?? 0;
  const perExpert = tokens / localCount;
  const alike = localCount;
  const up = linear({ m: perExpert, n: (model.isFfnGated ? 2 : 1) * width, k: model.hidden, alike }, work);
  const down = linear({ m: perExpert, n: model.hidden, k: width, alike }, work);
  return { forward: localCount * (up.forward + down.forward), backward: localCount * (up.backward + down.backward) };
}

/**
 * Time of the output head and the loss: one wide product in 16 bits, and passes over the logits, which are kept in
 * fp32.
 */
export function headTime(work: LayerWork): LayerTime {
  const { job, plan, rates } = work;
  const tokens = tokensPerRank(job, plan);
  const width = job.model.vocabulary / plan.tensor;
  const { hidden } = job.model;
  const flops = (2 * tokens * hidden * width) / rates.halfFlops;
  const operands = (rates.operandBytes * (tokens * hidden + hidden * width + tokens * width)) / rates.memoryBytes;
  const elements = (rates.elementPasses * 8 * tokens * width) / rates.memoryBytes;
  const matmul = flops + operands;
  const gradients = job.method.kind === "lora" ? 1 : 2;
  return {
    forward: { matmul, attention: 0, elements, routing: 0, launch: 0 },
    backward: { matmul: gradients * matmul, attention: 0, elements, routing: 0, launch: 0 },
    kernels: 0,
  };
}

/** Time that recomputation adds to the backward pass of a layer. */
export function recomputedTime(layer: LayerTime, plan: ParallelPlan, attention: "flash" | "unfused"): ComputeTime {
  const { forward } = layer;
  switch (plan.recomputation) {
    case "none":
      return scaled(forward, 0);
    case "selective":
      // Fused attention recomputes its scores in any case. Here, the recomputation of norms and activations is added.
      return attention === "flash"
        ? { ...scaled(forward, 0), elements: forward.elements }
        : { ...scaled(forward, 0), attention: forward.attention };
    case "partial":
      return scaled(forward, 0.5);
    case "full":
      return forward;
  }
}

function scaled(time: ComputeTime, factor: number): ComputeTime {
  return {
    matmul: time.matmul * factor,
    attention: time.attention * factor,
    elements: time.elements * factor,
    routing: time.routing * factor,
    launch: time.launch * factor,
  };
}
