/**
 * The architecture of a transformer language model: the dimensions that determine parameters, arithmetic, activations
 * and KV cache. The values of the weights are not needed.
 */
export interface ModelArchitecture {
  readonly name: string;
  readonly layerCount: number;
  readonly hidden: number;
  readonly attention: Attention;
  /** Inner size of the dense feed-forward layers. 0 if every layer has experts. */
  readonly ffnHidden: number;
  /** If true, a feed-forward layer has three matrices (SwiGLU and similar). If false, it has two. */
  readonly isFfnGated: boolean;
  readonly vocabulary: number;
  readonly hasTiedEmbeddings: boolean;
  /**
   * Length of a learned position table (GPT-2 and GPT-3). 0 for rotary and other position encodings, which have no
   * weights.
   */
  readonly learnedPositions: number;
  readonly experts?: Experts;
  readonly maxPosition?: number;
  /** Parts of the published model that this architecture leaves out, such as the vision encoder before it. */
  readonly leftOut?: readonly string[];
  readonly source: string;
}

export interface Experts {
  readonly count: number;
  readonly perToken: number;
  readonly ffnHidden: number;
  /** Total inner size of the shared experts, which every token passes through. 0 if there are none. */
  readonly sharedFfnHidden: number;
  /** Number of layers with a dense feed-forward layer instead of experts. */
  readonly denseLayerCount: number;
}

export type Attention = GroupedAttention | LatentAttention | LinearMixAttention;

/** Multi-head, grouped-query and multi-query attention. Most of the layers can have a sliding or chunked window. */
export interface GroupedAttention {
  readonly kind: "grouped";
  readonly headCount: number;
  readonly kvHeadCount: number;
  readonly headDim: number;
  /**
   * Attention window. Only every `fullEvery`-th layer attends to all positions. The other layers attend to the last
   * `tokens` positions.
   */
  readonly window?: { readonly tokens: number; readonly fullEvery: number };
}

/**
 * Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434). It can have the sparse selection of DSA (DeepSeek sparse
 * attention).
 */
export interface LatentAttention {
  readonly kind: "latent";
  readonly headCount: number;
  /** Rank of the compressed queries. 0 if queries are not compressed. */
  readonly queryRank: number;
  readonly kvRank: number;
  readonly nopeHeadDim: number;
  readonly ropeHeadDim: number;
  readonly valueHeadDim: number;
  readonly sparse?: { readonly tokens: number; readonly indexHeadCount: number; readonly indexHeadDim: number };
}

/**
 * Mix of two kinds of layers: every `fullEvery`-th layer has grouped attention. The other layers have linear attention
 * (gated DeltaNet), with a state of fixed size.
 */
export interface LinearMixAttention {
  readonly kind: "linear-mix";
  readonly headCount: number;
  readonly kvHeadCount: number;
  readonly headDim: number;
  readonly fullEvery: number;
  /** If true, full-attention layers gate their output with a matrix as wide as the queries (Qwen3-Next). */
  readonly isOutputGated: boolean;
  readonly linear: { readonly keyHeadCount: number; readonly valueHeadCount: number; readonly headDim: number };
}

/**
 * Parameters of one layer's attention matrices, without biases and norms. The number is an average over the kinds of
 * layers.
 */
export function attentionParameters(model: ModelArchitecture): number {
  const { attention, hidden } = model;
  switch (attention.kind) {
    case "grouped":
      return hidden * attention.headDim * 2 * (attention.headCount + attention.kvHeadCount);
    case "latent":
      return latentParameters(attention, hidden);
    case "linear-mix":
      return linearMixParameters(attention, hidden);
  }
}

function latentParameters(attention: LatentAttention, hidden: number): number {
  const { headCount, queryRank, kvRank, nopeHeadDim, ropeHeadDim, valueHeadDim, sparse } = attention;
  const queryWidth = headCount * (nopeHeadDim + ropeHeadDim);
  const query = queryRank > 0 ? queryRank * (hidden + queryWidth) : hidden * queryWidth;
  const keyValue = hidden * (kvRank + ropeHeadDim) + kvRank * headCount * (nopeHeadDim + valueHeadDim);
  // The indexer of DSA has projections for its queries (from the compressed query), for one shared key and for one
  // weight for each head.
  const index =
    sparse === undefined
      ? 0
      : (queryRank > 0 ? queryRank : hidden) * sparse.indexHeadCount * sparse.indexHeadDim +
        hidden * (sparse.indexHeadDim + sparse.indexHeadCount);
  return query + keyValue + headCount * valueHeadDim * hidden + index;
}

function linearMixParameters(attention: LinearMixAttention, hidden: number): number {
  const { headCount, kvHeadCount, headDim, fullEvery, linear } = attention;
  const queries = headCount * (attention.isOutputGated ? 3 : 2);
  const full = hidden * headDim * (queries + 2 * kvHeadCount);
  // Gated DeltaNet has matrices for q, k, v, the output gate and the output, and two scalars for each value head.
  const inner = linear.headDim * (2 * linear.keyHeadCount + 3 * linear.valueHeadCount);
  const linearOnly = hidden * (inner + 2 * linear.valueHeadCount);
  return full / fullEvery + linearOnly * (1 - 1 / fullEvery);
}

const matricesOfFfn = (model: ModelArchitecture): number => (model.isFfnGated ? 3 : 2);

/** Parameters of a layer with a dense feed-forward layer, including its norms. */
export function denseLayerParameters(model: ModelArchitecture): number {
  return attentionParameters(model) + matricesOfFfn(model) * model.hidden * model.ffnHidden + 2 * model.hidden;
}

/** Parameters of a layer with experts: the total, and the number that is active for one token. */
export function expertLayerParameters(model: ModelArchitecture): {
  readonly total: number;
  readonly active: number;
  readonly expertsTotal: number;
  readonly expertsActive: number;
} {
  const { experts } = model;
  if (experts === undefined) return { total: 0, active: 0, expertsTotal: 0, expertsActive: 0 };
  const perExpert = matricesOfFfn(model) * model.hidden * experts.ffnHidden;
  const shared = matricesOfFfn(model) * model.hidden * experts.sharedFfnHidden;
  const outside = attentionParameters(model) + shared + model.hidden * experts.count + 2 * model.hidden;
  return {
    total: outside + perExpert * experts.count,
    active: outside + perExpert * experts.perToken,
    expertsTotal: perExpert * experts.count,
    expertsActive: perExpert * experts.perToken,
  };
}

export function expertLayerCount(model: ModelArchitecture): number {
  return model.experts === undefined ? 0 : model.layerCount - model.experts.denseLayerCount;
}

/**
 * Parameters of the whole model: the total, and the number that is active for one token. Both include the input
 * embedding.
 */
export function parameterCounts(model: ModelArchitecture): { readonly total: number; readonly active: number } {
  const expertLayers = expertLayerCount(model);
  const dense = (model.layerCount - expertLayers) * denseLayerParameters(model);
  const expert = expertLayerParameters(model);
  const embedding = embeddingParameters(model);
  return {
    total: dense + expertLayers * expert.total + embedding + model.hidden,
    active: dense + expertLayers * expert.active + embedding + model.hidden,
  };
}

/**
 * Parameters of the embedding, the learned positions and the output head. A head that shares the matrix of the
 * embedding is not counted again.
 */
export function embeddingParameters(model: ModelArchitecture): number {
  const tables = model.hasTiedEmbeddings ? 1 : 2;
  return (tables * model.vocabulary + model.learnedPositions) * model.hidden;
}

/** Total width of the query heads, the `h_attn` of the attention formulas. */
export function queryWidth(attention: Attention): number {
  if (attention.kind === "latent") return attention.headCount * (attention.nopeHeadDim + attention.ropeHeadDim);
  return attention.headCount * attention.headDim;
}

/** Total width of the value heads. Under latent attention it differs from the total width of the query heads. */
export function valueWidth(attention: Attention): number {
  if (attention.kind === "latent") return attention.headCount * attention.valueHeadDim;
  return attention.headCount * attention.headDim;
}

/** Number of values that the KV cache keeps for each token in one full-attention layer. */
export function kvCacheWidth(attention: Attention): number {
  if (attention.kind === "latent") {
    return attention.kvRank + attention.ropeHeadDim + (attention.sparse?.indexHeadDim ?? 0);
  }
  return 2 * attention.kvHeadCount * attention.headDim;
}
