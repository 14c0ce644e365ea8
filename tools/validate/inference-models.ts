import type { Attention, ModelArchitecture } from "../../packages/perf/src/index.ts";

type Row = Readonly<Record<string, string>>;

const numberIn = (row: Row, column: string): number => Number(row[column] === "" ? 0 : row[column]);

function attentionOf(row: Row): Attention {
  const headCount = numberIn(row, "heads");
  const kvHeadCount = numberIn(row, "kv_heads");
  const headDim = numberIn(row, "head_dim");
  const fullEvery = numberIn(row, "full_attention_every");
  switch (row["attention"]) {
    case "mla":
    case "dsa": {
      const latent = {
        kind: "latent",
        headCount,
        queryRank: numberIn(row, "q_lora_rank"),
        kvRank: numberIn(row, "kv_lora_rank"),
        nopeHeadDim: numberIn(row, "qk_nope_head_dim"),
        ropeHeadDim: numberIn(row, "qk_rope_head_dim"),
        valueHeadDim: numberIn(row, "v_head_dim"),
      } as const;
      // Sizes of the sparse-attention indexer of GLM-5, from the notes in models.csv: 32 heads of width 128, and the
      // 2,048 tokens with the best scores.
      const sparse = { tokens: 2048, indexHeadCount: 32, indexHeadDim: 128 };
      return row["attention"] === "dsa" ? { ...latent, sparse } : latent;
    }
    case "hybrid-linear": {
      // Sizes of the Gated DeltaNet layers of Qwen3.5, from the notes in models.csv.
      const linear = { keyHeadCount: 16, valueHeadCount: 64, headDim: 128 };
      return { kind: "linear-mix", headCount, kvHeadCount, headDim, fullEvery, isOutputGated: true, linear };
    }
    case "swa-mix":
      return {
        kind: "grouped",
        headCount,
        kvHeadCount,
        headDim,
        window: { tokens: numberIn(row, "window"), fullEvery },
      };
    default:
      return { kind: "grouped", headCount, kvHeadCount, headDim };
  }
}

/** Reads an architecture from a row of models.csv. */
export function architectureOf(row: Row): ModelArchitecture {
  const count = numberIn(row, "experts");
  const base = {
    name: row["model"] ?? "",
    layerCount: numberIn(row, "layers"),
    hidden: numberIn(row, "hidden"),
    attention: attentionOf(row),
    ffnHidden: numberIn(row, "ffn_hidden"),
    isFfnGated: row["gated_ffn"] === "1",
    vocabulary: numberIn(row, "vocab"),
    hasTiedEmbeddings: row["tied_embeddings"] === "1",
    learnedPositions: 0,
    maxPosition: numberIn(row, "max_position"),
    source: row["provenance"] ?? "",
  };
  if (count === 0) return base;
  const experts = {
    count,
    perToken: numberIn(row, "experts_per_token"),
    ffnHidden: numberIn(row, "expert_ffn"),
    sharedFfnHidden: numberIn(row, "shared_expert_ffn"),
    denseLayerCount: numberIn(row, "dense_layers"),
  };
  return { ...base, experts };
}
