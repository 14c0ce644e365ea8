import type { Accelerator } from "../catalogue/accelerator.ts";
import { bytesPerElement } from "../catalogue/number-format.ts";
import type { MatrixClass, NumberFormat } from "../catalogue/number-format.ts";
import type { InferenceConstants } from "../constants-inference.ts";
import { exchange } from "./communication.ts";
import { activationBytes, multiplyClass } from "./quantization.ts";
import type { BuiltReplica } from "./replica.ts";
import { attendedTokenLayers } from "./served-shape.ts";

/** Work of one step of an engine, summed over all ranks of the replica. */
export interface StepWork {
  readonly decodeSequences: number;
  /** Mean number of tokens that a decoding sequence attends to. */
  readonly decodeContext: number;
  readonly promptTokens: number;
  /** Mean number of tokens that a prompt token attends to. With causal attention it is half of the prompt. */
  readonly promptContext: number;
  /** Number of prompts that end in this step and need the output head. */
  readonly promptsEnding: number;
}

/** Time of a step by cause, in ms. The parts add up to `totalMs`. */
export interface StepTime {
  readonly linearMs: number;
  readonly expertMs: number;
  readonly attentionMs: number;
  readonly exchangeMs: number;
  readonly floorMs: number;
  readonly hostMs: number;
  readonly totalMs: number;
}

/**
 * Combines arithmetic time and memory time by the roofline (Williams et al., CACM 52(4), 2009) with a soft ridge: near
 * the ridge, neither time is hidden completely behind the other. A Euclidean sum agrees with measurements on an H200
 * (`examples/calibration/h200.json`): 128 rows times 28,672 x 4,096 take 68 us, while arithmetic alone would take 44 us
 * and memory alone 54 us.
 */
function roof(arithmeticMs: number, memoryMs: number): number {
  return Math.sqrt(arithmeticMs * arithmeticMs + memoryMs * memoryMs);
}

/**
 * Rate at which matrix products with few rows read their weights, as a share of the memory bandwidth: 4.26 of 4.8 TB/s
 * measured on an H200 with one to sixteen rows (`examples/calibration/h200.json`). A fit without this measurement gives
 * 0.90.
 */
const weightReadEfficiency = 0.888;

/**
 * Share of the peak rate for accelerators without a measured matrix product. It is the median over the measured 16-bit
 * products in the catalogue.
 */
const usualBestShare = 0.78;

/** Floating-point operations per ms of the fastest matrix product on the accelerator, measured or estimated. */
function bestRate(accelerator: Accelerator, matrixClass: MatrixClass): number {
  const { denseTflops, bestMatmulTflops } = accelerator;
  const wide = denseTflops.bf16 ?? 1;
  const share = (bestMatmulTflops?.bf16 ?? wide * usualBestShare) / wide;
  return 1e9 * (bestMatmulTflops?.[matrixClass] ?? (denseTflops[matrixClass] ?? wide) * share);
}

/** Floating-point operations per ms in the matrix products of real layers. */
function matmulRate(replica: BuiltReplica, matrixClass: MatrixClass, k: InferenceConstants): number {
  const { denseTflops } = replica.accelerator;
  const wide = denseTflops.bf16 ?? 1;
  const peak = denseTflops[matrixClass] ?? wide;
  const rate = bestRate(replica.accelerator, matrixClass) * k.matmulEfficiency;
  return rate * (wide / peak) ** k.narrowFormatDiscount;
}

function bytesPerMs(replica: BuiltReplica, efficiency: number): number {
  return replica.accelerator.memoryGbPerS * 1e6 * efficiency;
}

/** Number of matrix elements in this number format that can be read from memory in one ms. */
function elementsPerMs(replica: BuiltReplica, format: NumberFormat, k: InferenceConstants): number {
  const bytes = bytesPerElement(format);
  return bytesPerMs(replica, weightReadEfficiency * (bytes / activationBytes) ** k.narrowFormatDiscount) / bytes;
}

/**
 * Bytes that the kernels between two matrices read and write for each layer and each value of the residual stream. The
 * kernels are two additions to the stream, two norms, and two conversions of the norms' results to the number format of
 * the matrices. Values have 16 bits.
 */
const streamBytes = 20;

/**
 * Bytes that kernels read and write for each value of a token that is sent to an expert. The value is gathered for the
 * expert, written as the expert's result, and read by the weighted sum of the results.
 */
const expertValueBytes = 5;

/**
 * Time in ms in which kernels read and write the activations between the matrices of all layers. Tensor parallelism
 * does not divide this time, because each tensor rank holds the whole residual stream.
 */
function streamMs(replica: BuiltReplica, tokens: number): number {
  const { shape, layout } = replica;
  const values = (shape.layerCount * shape.hidden * tokens) / layout.attentionData;
  return (values * streamBytes) / bytesPerMs(replica, weightReadEfficiency);
}

/**
 * Time in ms to gather tokens for their experts and to sum the experts' results. If tensor parallelism splits the
 * experts, every rank gets every token. If ranks hold whole experts, each rank gets only the tokens of its experts.
 */
function gatherMs(replica: BuiltReplica, tokens: number): number {
  const { shape, layout } = replica;
  const ranks = layout.attentionData * (layout.expert > 1 ? layout.tensor : 1);
  const values = (shape.expertLayerCount * shape.hidden * shape.expertsPerToken * tokens) / ranks;
  return (values * expertValueBytes) / bytesPerMs(replica, weightReadEfficiency);
}

/**
 * Time in ms of the matrices that every token passes through: projections, dense feed-forward, shared experts, routers,
 * output head. The head makes the last pipeline stage the slowest, and the slowest stage determines the pace, so the
 * head counts once for each stage.
 */
function linearMs(replica: BuiltReplica, tokens: number, sampled: number, k: InferenceConstants): number {
  const { shape, layout, formats } = replica;
  const perRank = tokens / layout.attentionData;
  const split = layout.tensor;
  const parameters = (shape.attentionParameters + shape.feedForwardParameters) / split;
  const matrixClass = multiplyClass(replica.accelerator, formats.linear);
  const body = roof(
    (2 * parameters * perRank) / matmulRate(replica, matrixClass, k),
    parameters / elementsPerMs(replica, formats.linear, k),
  );
  const head = shape.headParameters / split;
  return (
    body +
    streamMs(replica, tokens) +
    layout.pipeline *
      roof(
        (2 * head * (sampled / layout.attentionData)) / matmulRate(replica, "bf16", k),
        (head * activationBytes) / bytesPerMs(replica, weightReadEfficiency),
      )
  );
}

/**
 * Expected number of different experts of a layer that `tokens` tokens use if each token draws `perToken` of `count`
 * experts at random. The probability that no token uses a certain expert is (1 - perToken / count)^tokens (the
 * classical occupancy problem; Feller, An Introduction to Probability Theory I, §IV.2).
 */
export function expertsTouched(count: number, perToken: number, tokens: number): number {
  return count * (1 - (1 - perToken / count) ** tokens);
}

/** Rows of the tile that kernels for routed experts compute at a time (DeepGEMM and CUTLASS: 128). */
const expertTileRows = 128;

/**
 * Number of rows that kernels compute for `rows` rows over `experts` experts. The last tile of an expert is half empty
 * on average. For fewer rows than a tile, kernels choose smaller tiles, with the same share of empty rows.
 */
function paddedRows(rows: number, experts: number): number {
  return rows + 0.5 * Math.min(rows, expertTileRows * experts);
}

/**
 * Time in ms of the routed experts. The work is spread over every accelerator of a stage, whether each holds whole
 * experts or a slice of all experts. The busiest rank counts as no slower than the mean: the measurements show no such
 * difference, and the skew of random routing makes the fit worse.
 */
function expertMs(replica: BuiltReplica, tokens: number, k: InferenceConstants): number {
  const { shape, layout, formats } = replica;
  if (shape.expertLayerCount === 0) return 0;
  const ranks = layout.tensor * layout.attentionData;
  const touched = expertsTouched(shape.expertCount, shape.expertsPerToken, tokens ** k.expertChoiceExponent);
  const perRank = (shape.expertLayerCount * shape.oneExpertParameters) / ranks;
  const matrixClass = multiplyClass(replica.accelerator, formats.experts);
  const computed = paddedRows(shape.expertsPerToken * tokens, touched);
  const products = roof(
    (2 * perRank * computed) / (matmulRate(replica, matrixClass, k) * k.groupedMatmulEfficiency),
    (perRank * touched) / elementsPerMs(replica, formats.experts, k),
  );
  return products + gatherMs(replica, tokens);
}

/** Bytes that one decoding sequence reads from the cache of one rank in a step. */
function kvReadBytes(replica: BuiltReplica, context: number): number {
  const { kv } = replica.shape;
  const bytes = bytesPerElement(replica.formats.kv);
  const split = Math.min(replica.layout.tensor, kv.headCount);
  const index = kv.fullLayerCount * kv.indexWidth * context;
  const states = (kv.stateNumbers * 2 * 4) / replica.layout.tensor;
  return ((attendedTokenLayers(kv, context) * (kv.width - kv.indexWidth) + index) * bytes) / split + states;
}

/**
 * Time in ms of attention. Fused attention over prompts and absorbed latent attention reach the rate of the fastest
 * 16-bit matrix product: 740 TFLOP/s on an H100 (FlashAttention-3, arXiv 2407.08608 §4).
 */
function attentionMs(replica: BuiltReplica, work: StepWork, k: InferenceConstants): number {
  const { shape, layout } = replica;
  const rate = bestRate(replica.accelerator, "bf16");
  const sequences = work.decodeSequences / layout.attentionData;
  const decodePairs = sequences * attendedTokenLayers(shape.kv, work.decodeContext);
  const decode = roof(
    (decodePairs * shape.decodePairFlops) / layout.tensor / rate,
    (sequences * kvReadBytes(replica, work.decodeContext)) / bytesPerMs(replica, k.kvReadEfficiency),
  );
  const promptPairs = (work.promptTokens / layout.attentionData) * attendedTokenLayers(shape.kv, work.promptContext);
  return decode + (promptPairs * shape.prefillPairFlops) / layout.tensor / rate;
}

function floorMs(replica: BuiltReplica, k: InferenceConstants): number {
  const { shape, engine } = replica;
  const captured = shape.layerCount * k.layerFloorUs + shape.expertLayerCount * k.expertLayerFloorUs;
  return (captured * (engine.isKernelFused ? k.fusedKernelShare : 1)) / 1000;
}

/**
 * Time of host work on servers from before the Sapphire Rapids and Genoa generations (2022), relative to later servers.
 * A thread of the EPYC 7002 in A100 servers does about two thirds of the work of a thread of the Xeon 8480C in H100
 * servers.
 */
const olderHostFactor = 1.5;
const newerHostYear = 2022;

function hostFactor({ year }: Accelerator): number {
  return year < newerHostYear ? olderHostFactor : 1;
}

/** Time in ms in which the host does scheduling, sampling and output for one group of sequences. */
function hostWorkMs(replica: BuiltReplica, sequences: number, k: InferenceConstants): number {
  const eager = replica.engine.isGraphCaptured ? 1 : k.eagerHostFactor;
  const perRank = sequences / replica.layout.attentionData;
  return (eager * hostFactor(replica.accelerator) * (k.hostStepUs + k.hostSequenceUs * perRank)) / 1000;
}

/**
 * Number of kernels that an engine without captured graphs launches for a layer of a step with prompts, relative to a
 * decoding step. Attention over prompts and attention over the cache were kernels of their own, with copies between
 * them. The value was chosen for the rows of Splitwise.
 */
const eagerPromptLaunches = 2;

/**
 * Host time in µs to launch the kernels of a layer in a step with prompts, in engines with captured graphs: about fifty
 * kernels at 5 µs. The fitted time of engines without captured graphs (`eagerLayerUs`) is the same.
 */
const promptLayerLaunchUs = 250;

/**
 * Time in ms in which the host launches the kernels of a step one by one. Current engines replay decoding steps as one
 * graph; steps with prompts have too many shapes to be captured. A layer with routed experts launches about twice the
 * kernels of a dense layer.
 */
function launchMs(replica: BuiltReplica, hasPrompts: boolean, k: InferenceConstants): number {
  const { shape, engine, accelerator } = replica;
  if (engine.isGraphCaptured) {
    return hasPrompts ? ((shape.layerCount + shape.expertLayerCount) * promptLayerLaunchUs) / 1000 : 0;
  }
  const kernels = hasPrompts ? eagerPromptLaunches : 1;
  return (shape.layerCount * k.eagerLayerUs * kernels * hostFactor(accelerator)) / 1000;
}

/**
 * Time of one engine step, in which every sequence advances by one token. Under pipeline parallelism, the running
 * sequences are split into as many groups as there are stages. A step is then one turn of all groups, and the host
 * prepares each group separately. Attention-data ranks wait for each other before the experts, so the busiest rank
 * determines the pace. Without a captured graph, launching overlaps with computing, and only the slower of the two
 * counts.
 */
export function stepTime(replica: BuiltReplica, work: StepWork, k: InferenceConstants): StepTime {
  const { pipeline } = replica.layout;
  const group: StepWork = {
    ...work,
    decodeSequences: work.decodeSequences / pipeline,
    promptTokens: work.promptTokens / pipeline,
    promptsEnding: work.promptsEnding / pipeline,
  };
  const tokens = group.decodeSequences + group.promptTokens;
  const sent = exchange(replica, tokens, k);
  const skew = replica.layout.attentionData > 1 ? 1 + k.attentionRankSkew : 1;
  const parts = {
    linearMs: skew * linearMs(replica, tokens, group.decodeSequences + group.promptsEnding, k),
    expertMs: expertMs(replica, tokens, k),
    attentionMs: skew * attentionMs(replica, group, k),
    exchangeMs: sent.bandwidthMs + sent.latencyMs,
    floorMs: floorMs(replica, k),
    hostMs: pipeline * hostWorkMs(replica, group.decodeSequences, k),
  };
  const { linearMs: linear, expertMs: experts, attentionMs: attention, exchangeMs, hostMs } = parts;
  const device = linear + experts + attention + exchangeMs + parts.floorMs;
  // The batching kernel's tables of costs do not distinguish prompt tokens from decoding sequences. They are computed
  // without ending prompts, so they do not contain the launches of prompts.
  const waited = Math.max(0, launchMs(replica, work.promptsEnding > 0, k) - device);
  return { ...parts, hostMs: hostMs + waited, totalMs: device + hostMs + waited };
}
