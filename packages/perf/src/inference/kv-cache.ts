import { bytesPerElement } from "../catalogue/number-format.ts";
import { activationBytes } from "./quantization.ts";
import { weightBytesPerAccelerator } from "./replica.ts";
import type { BuiltReplica } from "./replica.ts";
import { keptTokenLayers } from "./served-shape.ts";

const gib = 1024 ** 3;

/**
 * Memory that the runtime uses besides weights and cache, for the CUDA context, communication buffers and captured
 * graphs.
 */
const runtimeBytes = 2 * gib;

/** Memory of one accelerator by use, in bytes. The parts add up to `totalBytes`. */
export interface ServingMemory {
  readonly weightBytes: number;
  readonly activationBytes: number;
  readonly runtimeBytes: number;
  readonly kvCacheBytes: number;
  readonly unusedBytes: number;
  readonly totalBytes: number;
}

/**
 * Bytes of one step's buffers: the residual stream, the widest intermediate result of a feed-forward layer, and 32-bit
 * logits of the sampled tokens.
 */
function activationsOf(replica: BuiltReplica): number {
  const { model, layout, engine, shape } = replica;
  const expertWidth = (model.experts?.ffnHidden ?? 0) * (model.experts?.perToken ?? 0);
  const widest = Math.max(model.ffnHidden, expertWidth + (model.experts?.sharedFfnHidden ?? 0)) / layout.tensor;
  return engine.stepTokensMax * (4 * shape.hidden + 2 * widest) * activationBytes;
}

/**
 * If the cache would get less than `cacheShareLeast` of the memory, operators raise the engine's share of the memory by
 * up to `memoryShareExtra`.
 */
const cacheShareLeast = 0.05;
const memoryShareExtra = 0.07;

/**
 * Use of one accelerator's memory. `kvCacheBytes` is the part that the engine leaves for the cache; it is never
 * negative.
 */
export function servingMemory(replica: BuiltReplica): ServingMemory {
  const totalBytes = replica.accelerator.memoryGib * gib;
  const weightBytes = weightBytesPerAccelerator(replica);
  const activations = activationsOf(replica);
  const usable = totalBytes * replica.engine.memoryShare;
  const usual = usable - weightBytes - activations - runtimeBytes;
  const most = totalBytes * (replica.engine.memoryShare + memoryShareExtra) - weightBytes - activations - runtimeBytes;
  const kvCacheBytes = Math.max(0, usual, Math.min(most, totalBytes * cacheShareLeast));
  return {
    weightBytes,
    activationBytes: activations,
    runtimeBytes,
    kvCacheBytes,
    unusedBytes: totalBytes - weightBytes - activations - runtimeBytes - kvCacheBytes,
    totalBytes,
  };
}

/** Bytes that one sequence occupies on each accelerator of the attention rank that serves it. */
export function sequenceKvBytes(replica: BuiltReplica, tokens: number): number {
  const { kv } = replica.shape;
  const { tensor, pipeline } = replica.layout;
  const split = Math.min(tensor, kv.headCount) * pipeline;
  const cache = (keptTokenLayers(kv, tokens) * kv.width * bytesPerElement(replica.formats.kv)) / split;
  return cache + (kv.stateNumbers * 4) / (tensor * pipeline);
}

/** Number of sequences of this length that the whole replica holds at once. */
export function sequencesThatFit(replica: BuiltReplica, tokensPerSequence: number): number {
  const perRank = servingMemory(replica).kvCacheBytes / sequenceKvBytes(replica, Math.max(1, tokensPerSequence));
  return perRank * replica.layout.attentionData;
}
