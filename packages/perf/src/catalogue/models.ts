import { readModelConfig } from "./hugging-face.ts";
import type { ModelArchitecture } from "./model.ts";

type Numbers = Readonly<Record<string, number | string | boolean>>;

/** Layers, hidden size, query heads, key-value heads, feed-forward size, vocabulary. */
type ModelSizes = readonly [layers: number, hidden: number, heads: number, kv: number, ffn: number, vocab: number];

const llama = (...[layers, hidden, heads, kv, ffn, vocab]: ModelSizes): Numbers => ({
  model_type: "llama",
  num_hidden_layers: layers,
  hidden_size: hidden,
  num_attention_heads: heads,
  num_key_value_heads: kv,
  intermediate_size: ffn,
  vocab_size: vocab,
});

const qwenExperts = (layers: number, hidden: number, heads: number, expertFfn: number): Numbers => ({
  ...llama(layers, hidden, heads, 4, 0, 151_936),
  model_type: "qwen3_moe",
  head_dim: 128,
  num_experts: 128,
  num_experts_per_tok: 8,
  moe_intermediate_size: expertFfn,
  max_position_embeddings: 40_960,
});

const gpt = (layers: number, hidden: number, heads: number, vocab: number): Numbers => ({
  model_type: "gpt2",
  n_layer: layers,
  n_embd: hidden,
  n_head: heads,
  vocab_size: vocab,
  n_positions: 2048,
});

const latent = { q_lora_rank: 1536, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128 };

/**
 * Architectures by name, in the terms of their own config.json. The numbers come from the config.json unless a note
 * states another source.
 */
const configs: Readonly<Record<string, Numbers>> = {
  "llama-2-7b": llama(32, 4096, 32, 32, 11_008, 32_000),
  "llama-2-13b": llama(40, 5120, 40, 40, 13_824, 32_000),
  "llama-2-70b": llama(80, 8192, 64, 8, 28_672, 32_000),
  "llama-3-8b": { ...llama(32, 4096, 32, 8, 14_336, 128_256), max_position_embeddings: 131_072 },
  "llama-3-70b": { ...llama(80, 8192, 64, 8, 28_672, 128_256), max_position_embeddings: 131_072 },
  "llama-3-405b": { ...llama(126, 16_384, 128, 8, 53_248, 128_256), max_position_embeddings: 131_072 },
  "llama-3.2-1b": {
    ...llama(16, 2048, 32, 8, 8192, 128_256),
    tie_word_embeddings: true,
    max_position_embeddings: 131_072,
  },
  "llama-3.2-3b": {
    ...llama(28, 3072, 24, 8, 8192, 128_256),
    tie_word_embeddings: true,
    max_position_embeddings: 131_072,
  },
  "llama-4-scout": {
    ...llama(48, 5120, 40, 8, 8192, 202_048),
    model_type: "llama4_text",
    head_dim: 128,
    num_local_experts: 16,
    num_experts_per_tok: 1,
    interleave_moe_layer_step: 1,
    attention_chunk_size: 8192,
    max_position_embeddings: 10_485_760,
  },
  "llama-4-maverick": {
    ...llama(48, 5120, 40, 8, 8192, 202_048),
    model_type: "llama4_text",
    head_dim: 128,
    num_local_experts: 128,
    num_experts_per_tok: 1,
    interleave_moe_layer_step: 2,
    intermediate_size_mlp: 16_384,
    attention_chunk_size: 8192,
    max_position_embeddings: 1_048_576,
  },
  "mistral-7b": { ...llama(32, 4096, 32, 8, 14_336, 32_768), model_type: "mistral", max_position_embeddings: 32_768 },
  "mixtral-8x7b": {
    ...llama(32, 4096, 32, 8, 14_336, 32_000),
    model_type: "mixtral",
    num_local_experts: 8,
    num_experts_per_tok: 2,
    max_position_embeddings: 32_768,
  },
  "mixtral-8x22b": {
    ...llama(56, 6144, 48, 8, 16_384, 32_768),
    model_type: "mixtral",
    num_local_experts: 8,
    num_experts_per_tok: 2,
    max_position_embeddings: 65_536,
  },
  "qwen3-32b": {
    ...llama(64, 5120, 64, 8, 25_600, 151_936),
    model_type: "qwen3",
    head_dim: 128,
    max_position_embeddings: 40_960,
  },
  "qwen3-30b-a3b": qwenExperts(48, 2048, 32, 768),
  "qwen3-235b-a22b": qwenExperts(94, 4096, 64, 1536),
  "qwen3.5-397b-a17b": {
    ...llama(60, 4096, 32, 2, 0, 248_320),
    model_type: "qwen3_5_moe_text",
    head_dim: 256,
    linear_num_key_heads: 16,
    linear_num_value_heads: 64,
    linear_key_head_dim: 128,
    full_attention_interval: 4,
    num_experts: 512,
    num_experts_per_tok: 10,
    moe_intermediate_size: 1024,
    shared_expert_intermediate_size: 1024,
    max_position_embeddings: 262_144,
  },
  "deepseek-v3": {
    ...llama(61, 7168, 128, 128, 18_432, 129_280),
    ...latent,
    model_type: "deepseek_v3",
    n_routed_experts: 256,
    num_experts_per_tok: 8,
    moe_intermediate_size: 2048,
    n_shared_experts: 1,
    first_k_dense_replace: 3,
    max_position_embeddings: 163_840,
  },
  "kimi-k2": {
    ...llama(61, 7168, 64, 64, 18_432, 163_840),
    ...latent,
    model_type: "kimi_k2",
    n_routed_experts: 384,
    num_experts_per_tok: 8,
    moe_intermediate_size: 2048,
    n_shared_experts: 1,
    first_k_dense_replace: 1,
    max_position_embeddings: 262_144,
  },
  "glm-5": {
    ...llama(78, 6144, 64, 64, 12_288, 154_880),
    model_type: "glm_moe_dsa",
    q_lora_rank: 2048,
    kv_lora_rank: 512,
    qk_nope_head_dim: 192,
    qk_rope_head_dim: 64,
    v_head_dim: 256,
    index_topk: 2048,
    index_n_heads: 32,
    index_head_dim: 128,
    n_routed_experts: 256,
    num_experts_per_tok: 8,
    moe_intermediate_size: 2048,
    n_shared_experts: 1,
    first_k_dense_replace: 3,
    max_position_embeddings: 202_752,
  },
  "minimax-m2.5": {
    ...llama(62, 3072, 48, 8, 1536, 200_064),
    model_type: "minimax_m2",
    head_dim: 128,
    num_local_experts: 256,
    num_experts_per_tok: 8,
    max_position_embeddings: 196_608,
  },
  "gpt-oss-20b": {
    ...llama(24, 2880, 64, 8, 2880, 201_088),
    model_type: "gpt_oss",
    head_dim: 64,
    num_local_experts: 32,
    num_experts_per_tok: 4,
    sliding_window: 128,
    max_position_embeddings: 131_072,
  },
  "gpt-oss-120b": {
    ...llama(36, 2880, 64, 8, 2880, 201_088),
    model_type: "gpt_oss",
    head_dim: 64,
    num_local_experts: 128,
    num_experts_per_tok: 4,
    sliding_window: 128,
    max_position_embeddings: 131_072,
  },
  // GPT of Megatron. The vocabulary is padded to 51,200, and the position table has the length of the training
  // sequences (SC21, table 1).
  "gpt3-175b": gpt(96, 12_288, 96, 51_200),
  "turing-530b": gpt(105, 20_480, 128, 51_200),
  "megatron-1t": gpt(128, 25_600, 160, 51_200),
  "nemotron-4-340b": {
    ...llama(96, 18_432, 96, 8, 73_728, 256_000),
    model_type: "nemotron",
    head_dim: 192,
    max_position_embeddings: 4096,
  },
  "falcon-180b": {
    model_type: "falcon",
    num_hidden_layers: 80,
    hidden_size: 14_848,
    num_attention_heads: 232,
    num_kv_heads: 8,
    new_decoder_architecture: true,
    vocab_size: 65_024,
    max_position_embeddings: 2048,
  },
  "bloom-176b": {
    model_type: "bloom",
    n_layer: 70,
    hidden_size: 14_336,
    n_head: 112,
    vocab_size: 250_880,
    seq_length: 2048,
  },
};

const aliases: Readonly<Record<string, string>> = {
  "llama-3.1-8b": "llama-3-8b",
  "llama-3.1-70b": "llama-3-70b",
  "llama-3.3-70b": "llama-3-70b",
  "llama-3.1-405b": "llama-3-405b",
  "deepseek-r1": "deepseek-v3",
  "kimi-k2.5": "kimi-k2",
  "gpt-3": "gpt3-175b",
  gpt3: "gpt3-175b",
};

export const modelNames: readonly string[] = Object.keys(configs);

const normalised = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-");

/**
 * The canonical name of a preset. For any other name, the result is the normalised text with which presets are looked
 * up.
 */
export function modelKey(name: string): string {
  const wanted = normalised(name.split("/").at(-1) ?? name);
  return aliases[wanted] ?? wanted;
}

/** A preset by name or alias in any spelling ("Llama 3.1 8B", "meta-llama/Llama-3.1-8B"). */
export function findModel(name: string): ModelArchitecture | undefined {
  const key = modelKey(name);
  const config = configs[key];
  if (config === undefined) return undefined;
  const reading = readModelConfig(config, key);
  return reading.kind === "model" ? reading.model : undefined;
}
