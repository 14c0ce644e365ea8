import type { Attention, Experts, ModelArchitecture } from "./model.ts";
import { measureInstead, otherModelReason } from "./other-models.ts";

/** The result of reading a `config.json`. */
export type ConfigReading =
  | { readonly kind: "model"; readonly model: ModelArchitecture }
  | { readonly kind: "refused"; readonly reason: string; readonly nearest: string };

type Config = Readonly<Record<string, unknown>>;

/**
 * Properties of an architecture that its code determines and its config.json does not state (huggingface/transformers,
 * src/transformers/models/<type>/configuration_*.py and modeling_*.py).
 */
interface Family {
  readonly isGated: boolean;
  /** Value of `tie_word_embeddings` if the file does not state it. */
  readonly isTied: boolean;
  readonly hasLearnedPositions: boolean;
  readonly attention: "grouped" | "latent" | "linear-mix";
  /**
   * Every n-th layer has full attention, where n is this number. The other layers have a window or linear attention. It
   * is used if the file does not state the pattern of its layers.
   */
  readonly fullEvery?: number;
  /** Name of the key with the inner size of layers without experts, if the architecture has a separate key for it. */
  readonly denseFfnKey?: "intermediate_size_mlp";
}

const gated: Family = { isGated: true, isTied: false, hasLearnedPositions: false, attention: "grouped" };
const plain: Family = { ...gated, isGated: false };

const families: Readonly<Record<string, Family>> = {
  llama: gated,
  mistral: gated,
  ministral3: gated,
  mixtral: gated,
  qwen2: gated,
  qwen2_moe: gated,
  qwen3: gated,
  qwen3_moe: gated,
  phi3: gated,
  olmo2: gated,
  olmo3: gated,
  minimax_m2: gated,
  glm4: gated,
  glm4_moe: gated,
  gpt_oss: { ...gated, fullEvery: 2 },
  gemma: { ...gated, isTied: true },
  gemma2: { ...gated, isTied: true, fullEvery: 2 },
  gemma3_text: { ...gated, isTied: true, fullEvery: 6 },
  llama4_text: { ...gated, fullEvery: 4, denseFfnKey: "intermediate_size_mlp" },
  deepseek_v2: { ...gated, attention: "latent" },
  deepseek_v3: { ...gated, attention: "latent" },
  deepseek_v32: { ...gated, attention: "latent" },
  glm_moe_dsa: { ...gated, attention: "latent" },
  kimi_k2: { ...gated, attention: "latent" },
  qwen3_next: { ...gated, attention: "linear-mix", fullEvery: 4 },
  qwen3_5_text: { ...gated, attention: "linear-mix", fullEvery: 4 },
  qwen3_5_moe_text: { ...gated, attention: "linear-mix", fullEvery: 4 },
  nemotron: plain,
  starcoder2: plain,
  falcon: { ...plain, isTied: true },
  gptj: plain,
  gpt_neox: plain,
  bloom: { ...plain, isTied: true },
  mpt: { ...plain, isTied: true },
  phi: plain,
  gpt2: { ...plain, isTied: true, hasLearnedPositions: true },
  opt: { ...plain, isTied: true, hasLearnedPositions: true },
};

export const knownModelTypes: readonly string[] = Object.keys(families);

/** Reads a model's architecture from a parsed `config.json` of Hugging Face. */
export function readModelConfig(value: unknown, name: string): ConfigReading {
  if (!isConfig(value)) return refused("the config is not a JSON object", "the config.json of the model's repository");
  const config = textConfig(value);
  const type = text(config, "model_type");
  const family = type === undefined ? undefined : families[type];
  const other = family === undefined ? otherModelReason(type, text(config, "_class_name"), name) : undefined;
  if (other !== undefined) return refused(other, measureInstead);
  if (type === undefined) return refused("the config names no model_type", `one of ${knownModelTypes.join(", ")}`);
  if (family === undefined) {
    return refused(
      `the architecture ${type} is not known`,
      `describe it as ${nearestType(config)}, if it is built alike`,
    );
  }
  const wrong = wrongSize(config) ?? missingSize(config, family);
  if (wrong !== undefined) return refused(`the config of ${type}: ${wrong}`, "the complete config.json");
  const layerCount = count(config, ...sizeKeys.layers) ?? 0;
  const hidden = count(config, ...sizeKeys.hidden) ?? 0;
  const headCount = count(config, ...sizeKeys.heads) ?? 0;
  const vocabulary = count(config, ...sizeKeys.vocabulary) ?? 0;
  const kvHeadCount = kvHeads(config, headCount);
  if (headCount % kvHeadCount !== 0) {
    return refused(
      `${kvHeadCount} key-value heads do not divide ${headCount} heads`,
      "a number of heads that they divide",
    );
  }
  if (count(config, "head_dim") === undefined && family.attention !== "latent" && hidden % headCount !== 0) {
    return refused(
      `${headCount} heads do not divide a hidden size of ${hidden}, and no head_dim is given`,
      "the complete config.json",
    );
  }
  const sizes = { layerCount, hidden, headCount, kvHeadCount };
  const experts = expertsOf(config, family, layerCount);
  if (experts !== undefined && experts.perToken > experts.count) {
    return refused(
      `${experts.perToken} experts per token are more than the ${experts.count} there are`,
      `at most ${experts.count} per token`,
    );
  }
  const maxPosition = count(config, "max_position_embeddings", "n_positions", "max_seq_len", "seq_length");
  return {
    kind: "model",
    model: {
      name,
      layerCount,
      hidden,
      attention: attentionOf(config, family, sizes),
      ffnHidden: denseFfn(config, family, hidden, experts),
      isFfnGated: family.isGated,
      vocabulary,
      hasTiedEmbeddings: flag(config, "tie_word_embeddings") ?? family.isTied,
      learnedPositions: family.hasLearnedPositions ? (maxPosition ?? 0) : 0,
      ...(experts === undefined ? {} : { experts }),
      ...(maxPosition === undefined ? {} : { maxPosition }),
      ...leftOutOf(value, config),
      source: "config.json",
    },
  };
}

function refused(reason: string, nearest: string): ConfigReading {
  return { kind: "refused", reason, nearest };
}

function isConfig(value: unknown): value is Config {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Multimodal models nest the language model's config inside their own. */
function textConfig(config: Config): Config {
  const inner = config["text_config"] ?? config["llm_config"] ?? config["language_config"];
  return isConfig(inner) ? inner : config;
}

/** Keys under which a config describes encoders, decoders and projectors of images, video and sound. */
const otherPartKey = /^(?!quantization|generation).+_config$/;

/** The parts of a model that its config describes beside the language model. */
function leftOutOf(whole: Config, language: Config): Pick<ModelArchitecture, "leftOut"> {
  if (whole === language) return {};
  const leftOut = Object.keys(whole)
    .filter((key) => otherPartKey.test(key) && isConfig(whole[key]) && whole[key] !== language)
    .map((key) => key.slice(0, -"_config".length));
  return leftOut.length === 0 ? {} : { leftOut };
}

/** Keys of the sizes without which nothing can be predicted. Architectures use different keys for the same size. */
const sizeKeys = {
  layers: ["num_hidden_layers", "n_layer", "n_layers", "num_layers"],
  hidden: ["hidden_size", "n_embd", "d_model"],
  heads: ["num_attention_heads", "n_head", "n_heads"],
  vocabulary: ["vocab_size"],
} as const;

const otherSizeKeys = ["num_key_value_heads", "num_kv_heads", "n_head_kv", "head_dim"];
const ffnKeys = ["intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size"];
const expertKeys = ["num_local_experts", "num_experts", "n_routed_experts"];
const expertsPerTokenKeys = ["num_experts_per_tok", "experts_per_token", "num_experts_per_token"];

/**
 * Largest size that a config.json may state. The published models have at most 16,384 hidden elements and 126 layers.
 * The limit keeps searches short, because they enumerate the divisors of these sizes.
 */
const largestSize = 2 ** 24;
const mostLayers = 4096;

/** The first size in the file that is not a possible size. A size of null counts as not stated. */
function wrongSize(config: Config): string | undefined {
  const keys = [...Object.values(sizeKeys).flat(), ...otherSizeKeys, ...ffnKeys];
  for (const key of keys) {
    const value = config[key] ?? undefined;
    const isLayers = (sizeKeys.layers as readonly string[]).includes(key);
    const largest = isLayers ? mostLayers : largestSize;
    if (value === undefined) continue;
    // Models with experts in every layer may state 0 as the size of layers without experts.
    if (value === 0 && ffnKeys.includes(key) && (count(config, ...expertKeys) ?? 1) > 1) continue;
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0 && value <= largest) continue;
    return `${key} must be a whole number from 1 to ${largest}, not ${JSON.stringify(value)}`;
  }
  return undefined;
}

/**
 * The first size that the family needs and that the file does not state. A default value would give the prediction for
 * another model.
 */
function missingSize(config: Config, family: Family): string | undefined {
  const needed: readonly (readonly string[])[] = [
    ...Object.values(sizeKeys),
    ...(family.attention === "latent" ? [["kv_lora_rank"], ["qk_nope_head_dim"], ["qk_rope_head_dim"]] : []),
    ...((count(config, ...expertKeys) ?? 1) > 1
      ? [expertsPerTokenKeys, ["moe_intermediate_size", "intermediate_size"]]
      : []),
  ];
  const lacking = needed.find((keys) => count(config, ...keys) === undefined);
  return lacking === undefined ? undefined : `${lacking.join(" or ")} is missing`;
}

function nearestType(config: Config): string {
  if (config["kv_lora_rank"] !== undefined) return "deepseek_v3";
  if (count(config, "num_experts", "num_local_experts", "n_routed_experts") !== undefined) return "qwen3_moe";
  return "llama";
}

function count(config: Config, ...keys: readonly string[]): number | undefined {
  for (const key of keys) {
    const value = config[key];
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  }
  return undefined;
}

function text(config: Config, key: string): string | undefined {
  const value = config[key];
  return typeof value === "string" ? value : undefined;
}

function flag(config: Config, key: string): boolean | undefined {
  const value = config[key];
  return typeof value === "boolean" ? value : undefined;
}

function kvHeads(config: Config, headCount: number): number {
  // Falcon's first generation has one shared key-value head. The second generation (new_decoder_architecture) states
  // the number of key-value heads.
  if (flag(config, "multi_query") === true && flag(config, "new_decoder_architecture") !== true) return 1;
  return count(config, "num_key_value_heads", "num_kv_heads", "n_head_kv") ?? headCount;
}

interface Sizes {
  readonly layerCount: number;
  readonly hidden: number;
  readonly headCount: number;
  readonly kvHeadCount: number;
}

function attentionOf(config: Config, family: Family, sizes: Sizes): Attention {
  const { headCount, kvHeadCount, hidden } = sizes;
  const headDim = count(config, "head_dim") ?? Math.floor(hidden / headCount);
  const ranks = latentRanks(config);
  if (family.attention === "latent" && ranks !== undefined) return { kind: "latent", headCount, ...ranks };
  if (family.attention === "linear-mix") {
    const linear = {
      keyHeadCount: count(config, "linear_num_key_heads") ?? 16,
      valueHeadCount: count(config, "linear_num_value_heads") ?? 32,
      headDim: count(config, "linear_key_head_dim") ?? 128,
    };
    const fullEvery = count(config, "full_attention_interval") ?? family.fullEvery ?? 4;
    return { kind: "linear-mix", headCount, kvHeadCount, headDim, fullEvery, isOutputGated: true, linear };
  }
  const window = windowOf(config, family, sizes.layerCount);
  return { kind: "grouped", headCount, kvHeadCount, headDim, ...(window === undefined ? {} : { window }) };
}

function latentRanks(config: Config): Omit<Extract<Attention, { kind: "latent" }>, "kind" | "headCount"> | undefined {
  const kvRank = count(config, "kv_lora_rank");
  const nopeHeadDim = count(config, "qk_nope_head_dim");
  const ropeHeadDim = count(config, "qk_rope_head_dim");
  if (kvRank === undefined || nopeHeadDim === undefined || ropeHeadDim === undefined) return undefined;
  const tokens = count(config, "index_topk");
  const sparse = {
    tokens: tokens ?? 0,
    indexHeadCount: count(config, "index_n_heads") ?? 0,
    indexHeadDim: count(config, "index_head_dim") ?? 0,
  };
  return {
    queryRank: count(config, "q_lora_rank") ?? 0,
    kvRank,
    nopeHeadDim,
    ropeHeadDim,
    valueHeadDim: count(config, "v_head_dim") ?? nopeHeadDim,
    ...(tokens === undefined ? {} : { sparse }),
  };
}

function windowOf(
  config: Config,
  family: Family,
  layerCount: number,
): { readonly tokens: number; readonly fullEvery: number } | undefined {
  if (flag(config, "use_sliding_window") === false) return undefined;
  const tokens = count(config, "sliding_window", "attention_chunk_size");
  if (tokens === undefined) return undefined;
  const types = config["layer_types"];
  if (Array.isArray(types)) {
    const full = types.filter((one) => one === "full_attention").length;
    return full === types.length ? undefined : { tokens, fullEvery: full === 0 ? layerCount + 1 : layerCount / full };
  }
  const fullEvery = count(config, "sliding_window_pattern", "no_rope_layer_interval") ?? family.fullEvery;
  // If no pattern is stated, every layer has the window, as in the first Mistral.
  return { tokens, fullEvery: fullEvery ?? layerCount + 1 };
}

function expertsOf(config: Config, family: Family, layerCount: number): Experts | undefined {
  const total = count(config, ...expertKeys);
  const perToken = count(config, ...expertsPerTokenKeys);
  if (total === undefined || perToken === undefined || total === 1) return undefined;
  const ffnHidden = count(config, "moe_intermediate_size", "intermediate_size") ?? 0;
  return {
    count: total,
    perToken,
    ffnHidden,
    sharedFfnHidden: sharedFfn(config, family, ffnHidden),
    denseLayerCount: denseLayers(config, layerCount),
  };
}

function sharedFfn(config: Config, family: Family, expertFfn: number): number {
  const stated = count(config, "shared_expert_intermediate_size");
  if (stated !== undefined) return stated;
  if (family.denseFfnKey !== undefined) return expertFfn;
  return (count(config, "n_shared_experts", "num_shared_experts") ?? 0) * expertFfn;
}

/**
 * Number of layers without experts. They are the first ones (DeepSeek), listed ones, or all except every n-th (Llama 4,
 * Qwen).
 */
function denseLayers(config: Config, layerCount: number): number {
  const first = count(config, "first_k_dense_replace");
  if (first !== undefined) return Math.min(first, layerCount);
  const every = count(config, "interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_freq") ?? 1;
  const named = config["mlp_only_layers"];
  return layerCount - Math.floor(layerCount / every) + (Array.isArray(named) ? named.length : 0);
}

function denseFfn(config: Config, family: Family, hidden: number, experts: Experts | undefined): number {
  const isWithoutDense = experts !== undefined && experts.denseLayerCount === 0;
  if (isWithoutDense) return 0;
  if (family.denseFfnKey !== undefined) return count(config, family.denseFfnKey) ?? 0;
  const stated = count(config, ...ffnKeys);
  const ratio = count(config, "expansion_ratio") ?? 4;
  return stated ?? ratio * hidden;
}
