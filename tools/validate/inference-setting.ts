import {
  buildReplica,
  checkpointFormat,
  currentEngine,
  findAccelerator,
  numberFormats,
  otherModelReason,
  powerLimited,
  servingFormats,
} from "../../packages/perf/src/index.ts";
import type {
  Accelerator,
  BuiltReplica,
  ModelArchitecture,
  NumberFormat,
  RequestShape,
  ServingEngine,
  ServingLayout,
} from "../../packages/perf/src/index.ts";

export type Row = Readonly<Record<string, string>>;

/** Model architectures, by the name that rows use for the model. */
export interface KnownModels {
  readonly get: (name: string) => ModelArchitecture | undefined;
}

/** The machine, model and request that a row states. */
export interface Setting {
  readonly accelerator: Accelerator;
  readonly model: ModelArchitecture;
  readonly replica: (layout: ServingLayout) => BuiltReplica;
  readonly request: RequestShape;
  /** Number of requests of the whole run, if the row's notes state it ("300 ShareGPT requests"). */
  readonly requests: number | undefined;
}

export function numberIn(row: Row, column: string): number | undefined {
  const text = row[column];
  const value = text === undefined || text === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/**
 * "H100-SXM (power cap)" is an H100 with a power limit, which reduces its clock. If the row does not state the limit,
 * it is half of the H100's power, as in Splitwise (arXiv 2311.18677 §5).
 */
function acceleratorOf(row: Row): Accelerator | undefined {
  const [, name = "", isCapped] = /^(.*?)( \(power cap\)| \(.*\))?$/.exec(row["gpu"] ?? "") ?? [];
  const accelerator = findAccelerator(name);
  if (isCapped !== " (power cap)" || accelerator?.powerWatts === undefined) return accelerator;
  return powerLimited(accelerator, accelerator.powerWatts / 2);
}

function requestsOf(row: Row): number | undefined {
  const stated = /\b(\d+) (?:\w+ )?requests\b/.exec(row["notes"] ?? "")?.[1];
  return stated === undefined ? undefined : Number(stated);
}

/** Other names of number formats. NVIDIA's tools write FP4; weight-only 4-bit methods have names of their own. */
const formatWords: Readonly<Record<string, NumberFormat>> = {
  fp4: "nvfp4",
  awq: "int4",
  gptq: "int4",
  w4a16: "int4",
  float16: "fp16",
  bfloat16: "bf16",
  fp8_e4m3: "fp8",
};

function formatOf(text: string | undefined): NumberFormat | undefined {
  const word = (text ?? "").toLowerCase().split(" ")[0] ?? "";
  return formatWords[word] ?? numberFormats.find((format) => format === word);
}

/** Quantised checkpoints carry their format in the name ("nvidia/Llama-3.1-8B-Instruct-FP8"). */
function formatInName(model: string): NumberFormat | undefined {
  return formatOf(model.split("-").at(-1));
}

/**
 * Whether the engine launches every kernel of a decoding step from Python. vLLM did so before 0.2.6 of December 2023,
 * which brought CUDA graphs, and plain PyTorch does so.
 */
function isEager(engine: string, version: string): boolean {
  if (/transformers|deepspeed|pytorch|eager/.test(engine)) return true;
  return engine.includes("vllm") && /^(2023|0\.1\.|0\.2\.[0-5]($|\D))/.test(version);
}

function engineOf(row: Row): ServingEngine {
  const engine = (row["engine"] ?? "").toLowerCase();
  return {
    ...currentEngine,
    isGraphCaptured: !isEager(engine, row["engine_version"] ?? ""),
    isKernelFused: /tensorrt|trt/.test(engine),
    isPromptMixed: !engine.includes("sglang"),
    isRelayed: /sglang|tensorrt|trt/.test(engine),
  };
}

export function layoutOf(tensor: number, pipeline: number, attentionData: number, expert: number): ServingLayout {
  return { tensor, pipeline, attentionData, expert };
}

/** The layout that a row states. Accelerators that belong to no stated dimension become tensor-parallel ranks. */
export function rowLayout(row: Row): ServingLayout {
  const [tensor, pipeline = 1, attentionData = 1, expert = 1] = ["tp", "pp", "dp", "ep"].map((column) =>
    numberIn(row, column),
  );
  const rest = (numberIn(row, "n_gpus") ?? 1) / (pipeline * attentionData);
  return layoutOf(tensor ?? Math.max(1, Math.round(rest)), pipeline, attentionData, expert);
}

/** The machine, model and request of a row, or the name of a missing field. */
export function settingOf(row: Row, models: KnownModels): Setting | string {
  const accelerator = acceleratorOf(row);
  if (accelerator === undefined) return `accelerator "${row["gpu"]}" is not in the catalogue`;
  const model = models.get(row["model"] ?? "");
  if (model === undefined) return otherModelReason(row["model"]) ?? `architecture of "${row["model"]}" is not known`;
  const unread = ["precision", "kv_precision"].find((column) => row[column] && formatOf(row[column]) === undefined);
  if (unread !== undefined) return `${unread} ${JSON.stringify(row[unread])} is not known`;
  const name = row["model"] ?? "";
  const weights = formatOf(row["precision"]) ?? formatInName(name) ?? checkpointFormat(name);
  const promptTokens = numberIn(row, "isl");
  if (promptTokens === undefined) return "prompt length is not stated";
  const outputTokens = numberIn(row, "osl");
  if (outputTokens === undefined && row["kind"] !== "disagg_decode") return "output length is not stated";
  const formats = servingFormats(weights, formatOf(row["kv_precision"]));
  const engine = engineOf(row);
  const replica = (layout: ServingLayout): BuiltReplica =>
    buildReplica({ model, accelerator, formats, layout, engine });
  const request = { promptTokens, outputTokens: outputTokens ?? 1, prefixHitShare: 0 };
  return { accelerator, model, replica, request, requests: requestsOf(row) };
}
