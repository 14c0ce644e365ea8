import { describe, expect, it } from "vitest";
import { readModelConfig } from "./hugging-face.ts";
import { parameterCounts, type ModelArchitecture } from "./model.ts";
import { findModel, modelNames } from "./models.ts";
import { otherModelReason } from "./other-models.ts";

function preset(name: string): ModelArchitecture {
  const model = findModel(name);
  if (model === undefined) throw new Error(name);
  return model;
}

describe("presets", () => {
  // Published numbers of parameters in 10^9, from model cards and technical reports: total and active. The active
  // numbers include the input embedding.
  it.each([
    ["llama-2-7b", 6.738, undefined],
    ["llama-2-13b", 13.016, undefined],
    ["llama-2-70b", 68.977, undefined],
    ["llama-3-8b", 8.03, undefined],
    ["llama-3-70b", 70.554, undefined],
    ["llama-3-405b", 405.853, undefined],
    ["llama-3.2-1b", 1.236, undefined],
    ["llama-3.2-3b", 3.213, undefined],
    ["llama-4-scout", 107.77, 17.17],
    ["llama-4-maverick", 400.7, 17.19],
    ["mistral-7b", 7.248, undefined],
    ["mixtral-8x7b", 46.7, 12.88],
    ["mixtral-8x22b", 140.6, 39.15],
    ["qwen3-32b", 32.762, undefined],
    ["qwen3-30b-a3b", 30.532, 3.353],
    ["qwen3-235b-a22b", 235.094, 22.191],
    ["qwen3.5-397b-a17b", 396.35, 17.35],
    ["deepseek-v3", 671.026, 37.552],
    ["kimi-k2", 1026.41, 32.86],
    ["glm-5", 743.91, 41.79],
    ["minimax-m2.5", 228.69, 11.03],
    ["gpt-oss-20b", 20.915, 4.187],
    ["gpt-oss-120b", 116.829, 5.712],
    ["gpt3-175b", 174.6, undefined],
    ["turing-530b", 529.6, undefined],
    ["megatron-1t", 1008, undefined],
    ["nemotron-4-340b", 341, undefined],
    ["falcon-180b", 178.557, undefined],
    ["bloom-176b", 176.247, undefined],
  ])("%s has %d billion parameters", (name, total, active) => {
    const counts = parameterCounts(preset(name));
    expect(Math.abs(counts.total / 1e9 / total - 1)).toBeLessThan(0.005);
    if (active !== undefined) expect(Math.abs(counts.active / 1e9 / active - 1)).toBeLessThan(0.01);
    else expect(counts.active).toBe(counts.total);
  });

  it("are all checked above, and found by what people call them", () => {
    expect(modelNames.length).toBe(29);
    for (const name of modelNames) expect(preset(name).name).toBe(name);
    expect(preset("meta-llama/Llama-3.1-8B").name).toBe("llama-3-8b");
    expect(preset("DeepSeek R1").name).toBe("deepseek-v3");
    expect(findModel("gpt-7")).toBeUndefined();
  });
});

describe("config.json", () => {
  const llama = {
    model_type: "llama",
    num_hidden_layers: 2,
    hidden_size: 64,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    intermediate_size: 128,
    vocab_size: 1000,
  };

  it("of models that also see is read where the language model is described", () => {
    const reading = readModelConfig({ model_type: "mllama", text_config: llama, vision_config: {} }, "x");
    expect(reading).toMatchObject({ kind: "model", model: { layerCount: 2, leftOut: ["vision"] } });
    const plain = readModelConfig({ ...llama, quantization_config: {} }, "x");
    expect(plain.kind === "model" && plain.model.leftOut).toBeUndefined();
  });

  it("windows by a list of layer types, by a pattern, or on every layer", () => {
    const layer_types = ["sliding_attention", "full_attention"];
    const windowOf = (config: object): unknown => {
      const reading = readModelConfig(config, "x");
      return reading.kind === "model" && reading.model.attention.kind === "grouped" && reading.model.attention.window;
    };
    expect(windowOf({ ...llama, sliding_window: 16, layer_types })).toEqual({ tokens: 16, fullEvery: 2 });
    expect(windowOf({ ...llama, model_type: "gemma3_text", sliding_window: 16 })).toEqual({ tokens: 16, fullEvery: 6 });
    expect(windowOf({ ...llama, model_type: "mistral", sliding_window: 16 })).toEqual({ tokens: 16, fullEvery: 3 });
    expect(windowOf({ ...llama, sliding_window: 16, use_sliding_window: false })).toBeUndefined();
  });

  it.each([
    [null, "not a JSON object"],
    [{}, "names no model_type"],
    [{ ...llama, model_type: "mamba" }, "the architecture mamba is not known"],
    [{ ...llama, hidden_size: -1 }, "hidden_size must be a whole number from 1 to 16777216, not -1"],
    [{ ...llama, hidden_size: undefined }, "hidden_size or n_embd or d_model is missing"],
    [
      { ...llama, intermediate_size: "wide" },
      'intermediate_size must be a whole number from 1 to 16777216, not "wide"',
    ],
    // A search of plans for such a model would not end.
    [{ ...llama, num_hidden_layers: 2 ** 53 - 1 }, "num_hidden_layers must be a whole number from 1 to 4096"],
    [
      { ...llama, num_local_experts: 8 },
      "num_experts_per_tok or experts_per_token or num_experts_per_token is missing",
    ],
    [{ ...llama, model_type: "deepseek_v3" }, "kv_lora_rank is missing"],
    [{ ...llama, num_key_value_heads: 3 }, "3 key-value heads do not divide 4 heads"],
    [{ ...llama, num_attention_heads: 7, num_key_value_heads: 7 }, "7 heads do not divide a hidden size of 64"],
    [
      { ...llama, model_type: "mixtral", num_local_experts: 8, num_experts_per_tok: 9 },
      "9 experts per token are more than the 8 there are",
    ],
  ])("is refused with what would do: %#", (config, reason) => {
    const reading = readModelConfig(config, "x");
    expect(reading).toMatchObject({ kind: "refused", reason: expect.stringContaining(reason) });
    expect(reading.kind === "refused" && reading.nearest).toBeTruthy();
  });

  it.each([
    [{ model_type: "resnet" }, /convolutional vision model/],
    [{ model_type: "vit", hidden_size: 768 }, /vision transformer/],
    [{ _class_name: "FluxTransformer2DModel" }, /diffusion model/],
    [{ model_type: "whisper" }, /speech model/],
  ])("of another kind is refused with the reason: %j", (config, reason) => {
    expect(readModelConfig(config, "example")).toMatchObject({
      kind: "refused",
      reason: expect.stringMatching(reason),
      nearest: expect.stringMatching(/measure a step/),
    });
    expect(otherModelReason("dlrm_dcnv2")).toMatch(/recommender/);
  });
});
