import { attentionParameters, expertLayerCount, kvCacheWidth, valueWidth, queryWidth } from "../catalogue/model.ts";
import type { Attention, ModelArchitecture } from "../catalogue/model.ts";

/**
 * The sizes of a model that matter to an engine: matrices that every token passes through, matrices that only some
 * tokens pass through, and the data that attention reads. All counts are for the whole model, over all layers.
 */
export interface ServedShape {
  readonly hidden: number;
  readonly layerCount: number;
  readonly expertLayerCount: number;
  /** Parameters of the projections around attention. */
  readonly attentionParameters: number;
  /**
   * Parameters of dense feed-forward layers, shared experts and routers. Tensor parallelism splits them, and attention
   * data parallelism copies them.
   */
  readonly feedForwardParameters: number;
  /** Parameters of one routed expert in one layer. */
  readonly oneExpertParameters: number;
  readonly expertCount: number;
  readonly expertsPerToken: number;
  /** Parameters of the output head. The head is applied only to sampled tokens, not to every token of a prompt. */
  readonly headParameters: number;
  /**
   * Parameters of the input embedding if it is a separate table. The table takes memory, but steps read little of it.
   */
  readonly embeddingParameters: number;
  readonly kv: KvShape;
  /**
   * Floating-point operations in decoding for each pair of a query token and an attended token, over all layers with
   * full attention.
   */
  readonly decodePairFlops: number;
  readonly prefillPairFlops: number;
}

/** Data that one sequence keeps in the accelerator's memory. */
export interface KvShape {
  /** Number of values that are kept for each token in one layer with attention. */
  readonly width: number;
  /**
   * Number of parts into which the cache can be divided without copies. It is the number of KV heads, or 1 for a latent
   * cache, which every rank holds as a whole.
   */
  readonly headCount: number;
  /** Number of layers that keep every token. */
  readonly fullLayerCount: number;
  readonly windowLayerCount: number;
  readonly windowTokens: number;
  /** Number of 32-bit values of recurrent state for each sequence, over all linear layers. */
  readonly stateNumbers: number;
  /**
   * Maximum number of tokens that a sparse attention reads for each query. For other tokens in the cache it reads only
   * the index.
   */
  readonly readTokensMax: number;
  /** Number of values per token and layer in the index of a sparse attention. All of them are read for every query. */
  readonly indexWidth: number;
}

/** Computes how many layers keep all tokens, how many keep a window, and how many keep a state of fixed size. */
function kvShape(model: ModelArchitecture): KvShape {
  const { attention, layerCount } = model;
  const base = {
    width: kvCacheWidth(attention),
    headCount: attention.kind === "latent" ? 1 : attention.kvHeadCount,
    fullLayerCount: layerCount,
    windowLayerCount: 0,
    windowTokens: 0,
    stateNumbers: 0,
    readTokensMax: Number.POSITIVE_INFINITY,
    indexWidth: 0,
  };
  if (attention.kind === "grouped" && attention.window !== undefined) {
    const fullLayerCount = Math.floor(layerCount / attention.window.fullEvery);
    const windowLayerCount = layerCount - fullLayerCount;
    return { ...base, fullLayerCount, windowLayerCount, windowTokens: attention.window.tokens };
  }
  if (attention.kind === "linear-mix") {
    const fullLayerCount = Math.floor(layerCount / attention.fullEvery);
    const { headDim, valueHeadCount } = attention.linear;
    return {
      ...base,
      fullLayerCount,
      stateNumbers: (layerCount - fullLayerCount) * valueHeadCount * headDim * headDim,
    };
  }
  if (attention.kind === "latent" && attention.sparse !== undefined) {
    return { ...base, readTokensMax: attention.sparse.tokens, indexWidth: attention.sparse.indexHeadDim };
  }
  return base;
}

/**
 * Floating-point operations for each (query, key) pair in one layer. Decoding with latent attention works on the
 * compressed cache (the absorbed form of DeepSeek-V2, arXiv 2405.04434 §2.1); prompts attend to uncompressed keys.
 */
function pairFlops(attention: Attention): { readonly decode: number; readonly prefill: number } {
  const prefill = 2 * (queryWidth(attention) + valueWidth(attention));
  if (attention.kind !== "latent") return { decode: prefill, prefill };
  return { decode: 2 * attention.headCount * (2 * attention.kvRank + attention.ropeHeadDim), prefill };
}

export function servedShape(model: ModelArchitecture): ServedShape {
  const { hidden, layerCount, experts, vocabulary } = model;
  const matrices = model.isFfnGated ? 3 : 2;
  const expertLayers = expertLayerCount(model);
  const dense = (layerCount - expertLayers) * matrices * hidden * model.ffnHidden;
  const shared = expertLayers * hidden * (matrices * (experts?.sharedFfnHidden ?? 0) + (experts?.count ?? 0));
  const kv = kvShape(model);
  const pairs = pairFlops(model.attention);
  return {
    hidden,
    layerCount,
    expertLayerCount: expertLayers,
    attentionParameters: layerCount * attentionParameters(model),
    feedForwardParameters: dense + shared,
    oneExpertParameters: matrices * hidden * (experts?.ffnHidden ?? 0),
    expertCount: experts?.count ?? 0,
    expertsPerToken: experts?.perToken ?? 0,
    headParameters: vocabulary * hidden,
    embeddingParameters: model.hasTiedEmbeddings ? 0 : vocabulary * hidden,
    kv,
    decodePairFlops: pairs.decode,
    prefillPairFlops: pairs.prefill,
  };
}

/**
 * Number of tokens that one query reads, summed over the layers. Layers with full attention, a window or sparse
 * selection read different numbers.
 */
export function attendedTokenLayers(kv: KvShape, contextTokens: number): number {
  const full = kv.fullLayerCount * Math.min(contextTokens, kv.readTokensMax);
  return full + kv.windowLayerCount * Math.min(contextTokens, kv.windowTokens);
}

/** Number of tokens that a sequence of this length keeps, summed over the layers. */
export function keptTokenLayers(kv: KvShape, contextTokens: number): number {
  return kv.fullLayerCount * contextTokens + kv.windowLayerCount * Math.min(contextTokens, kv.windowTokens);
}
