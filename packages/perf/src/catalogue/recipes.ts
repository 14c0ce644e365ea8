/**
 * Published facts about models that users often do not know: the batch and number format of the training run, and the
 * format of the checkpoint.
 */
import { findModel, modelKey } from "./models.ts";
import { parameterCounts } from "./model.ts";
import type { ModelArchitecture } from "./model.ts";
import type { NumberFormat } from "./number-format.ts";

export interface TrainingRecipe {
  /** Length of a sequence in tokens. */
  readonly sequenceLength: number;
  /** Number of sequences of one optimizer step: the largest and the smallest batch of the published run. */
  readonly globalBatch: { readonly usual: number; readonly least: number };
  readonly source: string;
}

const recipe = (sequenceLength: number, usual: number, least: number, source: string): TrainingRecipe => ({
  sequenceLength,
  globalBatch: { usual, least },
  source,
});

const llama2 = recipe(4096, 1024, 1024, "Llama 2, arXiv 2307.09288, table 1: 4M tokens");

const recipes: Readonly<Record<string, TrainingRecipe>> = {
  "llama-2-7b": llama2,
  "llama-2-13b": llama2,
  "llama-2-70b": llama2,
  "llama-3-405b": recipe(8192, 2048, 512, "Llama 3, arXiv 2407.21783, section 3.4.1: 4M to 16M tokens"),
  "deepseek-v3": recipe(4096, 15_360, 3072, "DeepSeek-V3, arXiv 2412.19437, section 4.2: 3,072 to 15,360 sequences"),
  "gpt3-175b": recipe(2048, 1536, 1536, "Megatron-LM, arXiv 2104.04473, table 1: 1,536 sequences"),
  "megatron-1t": recipe(2048, 3072, 3072, "Megatron-LM, arXiv 2104.04473, table 1: 3,072 sequences"),
  "turing-530b": recipe(2048, 1920, 1920, "MT-NLG, arXiv 2201.11990, section 3.2: 1,920 sequences"),
  "bloom-176b": recipe(2048, 2048, 192, "BLOOM, arXiv 2211.05100, table 3: 2,048 sequences"),
  "nemotron-4-340b": recipe(4096, 2304, 768, "Nemotron-4 340B, arXiv 2406.11704: 768 to 2,304 sequences"),
};

const defaultSequence = 4096;
/** Tokens per parameter of a compute-optimal run (arXiv 2203.15556). */
const tokensPerParameter = 20;

/**
 * The published recipe of a preset. For any other model, the batch comes from DeepSeek's fit: 0.2920 × C^0.3271 tokens
 * for a training run of C FLOPs (arXiv 2401.02954, equation 1). C follows from 20 tokens for each active parameter, and
 * the number of sequences is the nearest power of two.
 */
export function trainingRecipe(
  name: string | undefined,
  model: ModelArchitecture,
  sequenceLength?: number,
): TrainingRecipe {
  const published = name === undefined ? undefined : recipes[modelKey(name)];
  const sequence = sequenceLength ?? published?.sequenceLength ?? defaultSequence;
  if (published !== undefined) {
    const scaled = (sequences: number): number =>
      Math.max(1, Math.round((sequences * published.sequenceLength) / sequence));
    const { usual, least } = published.globalBatch;
    return recipe(sequence, scaled(usual), scaled(least), published.source);
  }
  const { active } = parameterCounts(model);
  const flops = 6 * active * tokensPerParameter * active;
  const tokens = 0.292 * flops ** 0.3271;
  const batch = 2 ** Math.max(0, Math.round(Math.log2(tokens / sequence)));
  return recipe(sequence, batch, batch, "DeepSeek LLM, arXiv 2401.02954, equation 1; the model's own is not published");
}

/** Formats of published checkpoints that are not bf16, as the quantization_config of their repositories states them. */
const checkpointFormats: Readonly<Record<string, NumberFormat>> = {
  "deepseek-v3": "fp8",
  "kimi-k2": "fp8",
  "minimax-m2.5": "fp8",
  "gpt-oss-20b": "mxfp4",
  "gpt-oss-120b": "mxfp4",
};

/** The number format of the linear layers in training, and the source of this fact. */
export interface TrainingFormat {
  readonly format: NumberFormat;
  readonly source: string;
}

/**
 * Formats other than 16 bits in which models were trained, as their reports state them. A narrow checkpoint does not
 * prove that training was narrow: Kimi K2 (arXiv 2507.20534, section 2.4) was published in FP8 and trained in bf16, and
 * gpt-oss was quantised after its pre-training.
 */
const trainingFormats: Readonly<Record<string, TrainingFormat>> = {
  "deepseek-v3": { format: "fp8", source: "DeepSeek-V3, arXiv 2412.19437, section 3.3" },
};

/**
 * Names of models by the `model_type` of configurations whose FP8 checkpoint has the format in which the model was
 * trained.
 */
const trainedNarrow: Readonly<Record<string, string>> = { deepseek_v3: "deepseek-v3" };

/** The format in which a model was trained, if a report states a format other than 16 bits. */
export function trainingFormat(model: string | { readonly config: unknown }): TrainingFormat | undefined {
  if (typeof model === "string") return findModel(model) === undefined ? undefined : trainingFormats[modelKey(model)];
  const { model_type: type } = (model.config ?? {}) as { readonly model_type?: unknown };
  const found = trainingFormats[trainedNarrow[String(type)] ?? ""];
  return found?.format === checkpointFormat(model) ? found : undefined;
}

const quantizationFormats: Readonly<Record<string, NumberFormat>> = { fp8: "fp8", mxfp4: "mxfp4", fbgemm_fp8: "fp8" };

/**
 * Format of a model's published checkpoint. For a config.json, it is the format that its `quantization_config` names.
 */
export function checkpointFormat(model: string | { readonly config: unknown }): NumberFormat {
  if (typeof model === "string")
    return findModel(model) === undefined ? "bf16" : (checkpointFormats[modelKey(model)] ?? "bf16");
  const { quantization_config: quantization } = (model.config ?? {}) as {
    readonly quantization_config?: { readonly quant_method?: unknown };
  };
  return quantizationFormats[String(quantization?.quant_method)] ?? "bf16";
}
