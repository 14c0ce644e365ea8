import {
  batchLimit,
  buildReplica,
  closedLoop,
  currentEngine,
  decodeStep,
  disaggregatedLoop,
  findAccelerator,
  ignorance,
  meanContext,
  numberFormats,
  obstacles,
  servingFormats,
  staticBatch,
} from "../../packages/perf/src/index.ts";
import type {
  Accelerator,
  BuiltReplica,
  InferenceConstants,
  ModelArchitecture,
  NumberFormat,
  RequestShape,
  ServingLayout,
  SteadyState,
} from "../../packages/perf/src/index.ts";

export type Row = Readonly<Record<string, string>>;

/** What a row measured, or what the model says about it. */
export interface Outcome {
  readonly tpotMs?: number;
  readonly tokensPerS?: number;
  readonly ttftMs?: number;
}

/** A row that the model can be asked about. */
export interface Case {
  readonly id: string;
  readonly source: string;
  readonly accelerator: string;
  readonly isMixture: boolean;
  readonly row: Row;
  readonly measured: Outcome;
  readonly predict: (constants: InferenceConstants) => Outcome;
}

export interface Abstention {
  readonly id: string;
  readonly source: string;
  readonly reason: string;
}

const numberIn = (row: Row, column: string): number | undefined => {
  const text = row[column];
  return text === undefined || text === "" ? undefined : Number(text);
};

/** "H100-SXM (power cap)" is an H100 whose clocks are limited: decoding is bound by memory and hardly notices. */
function acceleratorOf(row: Row): Accelerator | undefined {
  return findAccelerator((row["gpu"] ?? "").replace(/ \(.*\)$/, ""));
}

function formatOf(text: string | undefined): NumberFormat | undefined {
  const named = text === "fp4" ? "nvfp4" : text?.split(" ")[0];
  return numberFormats.find((format) => format === named);
}

/** Quantised checkpoints carry their format in the name ("nvidia/Llama-3.1-8B-Instruct-FP8"). */
function formatInName(model: string): NumberFormat | undefined {
  return numberFormats.find((format) => model.toLowerCase().endsWith(`-${format}`));
}

function engineOf(row: Row): BuiltReplica["engine"] {
  // Engines of 2023: vLLM before CUDA graphs.
  const isGraphCaptured = !(row["engine_version"] ?? "").startsWith("2023");
  const isKernelFused = row["engine"] === "tensorrt-llm";
  const isPromptMixed = row["engine"] !== "sglang";
  return { ...currentEngine, isGraphCaptured, isKernelFused, isPromptMixed };
}

function layoutOf(tensor: number, pipeline: number, attentionData: number, expert: number): ServingLayout {
  return { tensor, pipeline, attentionData, expert };
}

/** Architectures by the name that a row gives. */
export interface KnownModels {
  readonly get: (name: string) => ModelArchitecture | undefined;
}

interface Setting {
  readonly accelerator: Accelerator;
  readonly model: ModelArchitecture;
  readonly replica: (layout: ServingLayout) => BuiltReplica;
  readonly request: RequestShape;
}

function settingOf(row: Row, models: KnownModels): Setting | string {
  const accelerator = acceleratorOf(row);
  if (accelerator === undefined) return `accelerator "${row["gpu"]}" is not in the catalogue`;
  const model = models.get(row["model"] ?? "");
  if (model === undefined) return `architecture of "${row["model"]}" is not known`;
  const weights = formatOf(row["precision"]) ?? formatInName(row["model"] ?? "");
  if (weights === undefined) return "precision is not stated";
  const promptTokens = numberIn(row, "isl");
  if (promptTokens === undefined) return "prompt length is not stated";
  const formats = servingFormats(weights, formatOf(row["kv_precision"]));
  const engine = engineOf(row);
  const replica = (layout: ServingLayout): BuiltReplica =>
    buildReplica({ model, accelerator, formats, layout, engine });
  const request = { promptTokens, outputTokens: numberIn(row, "osl") ?? 1, prefixHitShare: 0 };
  return { accelerator, model, replica, request };
}

const workerPattern = /^P(\d+)x\(tp(\d+),dp(\d+),ep(\d+)\) D(\d+)x\(tp(\d+),dp(\d+),ep(\d+)\)$/;

function outcomeOf(state: SteadyState): Outcome {
  return { tpotMs: state.tpotMs, tokensPerS: state.outputTokensPerS, ttftMs: state.ttftMs };
}

type Prediction = (constants: InferenceConstants) => Outcome;

function disaggregated(row: Row, setting: Setting, concurrency: number): Prediction | string {
  const parts = workerPattern.exec(row["disagg_cfg"] ?? "");
  if (parts === null) return "number and shape of the prefill and decode workers are not stated";
  const [prefillCount = 0, pt = 1, pd = 1, pe = 1, decodeCount = 0, dt = 1, dd = 1, de = 1] = parts
    .slice(1)
    .map(Number);
  const group = {
    prefill: setting.replica(layoutOf(pt, 1, pd, pe)),
    prefillCount,
    decode: setting.replica(layoutOf(dt, 1, dd, de)),
    decodeCount,
  };
  const found = reasonAgainst(group.prefill, setting.request) ?? reasonAgainst(group.decode, setting.request);
  if (found !== undefined) return found;
  return (k) => {
    const state = disaggregatedLoop(group, setting.request, concurrency, k);
    return outcomeOf(state);
  };
}

/** Requests that an offline run has in flight: such benchmarks queue one to a few thousand requests at the start. */
const offlineRequests = 2048;

/** Layouts that the row leaves open: a mixture of experts may run with attention data parallelism under the same name. */
function offline(setting: Setting, layout: ServingLayout): Prediction {
  const wide = layoutOf(1, layout.pipeline, layout.tensor, layout.tensor);
  const isOpen = setting.model.experts !== undefined && layout.tensor > 1;
  const replicas = (isOpen ? [layout, wide] : [layout]).map(setting.replica);
  return (k) => {
    const rates = replicas.map((replica) => closedLoop(replica, setting.request, offlineRequests, k).outputTokensPerS);
    return { tokensPerS: Math.max(...rates) };
  };
}

/** Why a layout cannot run or is not known. Lengths beyond a model's positions are let pass: they were measured. */
function reasonAgainst(replica: BuiltReplica, request: RequestShape): string | undefined {
  const found = obstacles(replica, request).find(({ kind }) => kind !== "length");
  return found?.message ?? ignorance(replica)[0]?.message;
}

function predictionOf(row: Row, setting: Setting): Prediction | string {
  const concurrency = numberIn(row, "batch_or_concurrency");
  if (row["mode"] === "disagg" && row["kind"] === "online_concurrency") {
    return concurrency === undefined ? "load is not stated" : disaggregated(row, setting, concurrency);
  }
  const [tp, pp, dp, ep] = ["tp", "pp", "dp", "ep"].map((column) => numberIn(row, column));
  const layout = layoutOf(tp ?? 1, pp ?? 1, dp ?? 1, ep ?? 1);
  const replica = setting.replica(layout);
  const found = reasonAgainst(replica, setting.request);
  if (found !== undefined) return found;
  switch (row["kind"]) {
    case "offline_max_throughput":
      return offline(setting, layout);
    case "disagg_decode":
      return (k) => {
        const batch = batchLimit(replica, setting.request, k);
        const step = decodeStep(replica, batch, meanContext(setting.request), k);
        return { tokensPerS: (1000 * batch) / step.totalMs };
      };
    case "static_batch":
    case "single_request_fit":
      if (concurrency === undefined) return "batch is not stated";
      return (k) => {
        const state = staticBatch(replica, setting.request, concurrency, k);
        return outcomeOf(state);
      };
    case "online_concurrency":
    case "online_trace":
      if (concurrency === undefined) return "load is not stated";
      return (k) => {
        const state = closedLoop(replica, setting.request, concurrency, k);
        return outcomeOf(state);
      };
    default:
      return `measurements of kind "${row["kind"]}" are not modelled`;
  }
}

function measuredOf(row: Row): Outcome | undefined {
  const isTail = (column: string): boolean => row[column]?.startsWith("p9") === true;
  const tpotMs = isTail("tpot_stat") ? undefined : numberIn(row, "tpot_ms");
  const tokensPerS = numberIn(row, "output_tok_s_total");
  const ttftMs = isTail("ttft_stat") ? undefined : numberIn(row, "ttft_ms");
  if (tpotMs === undefined && tokensPerS === undefined) return undefined;
  return {
    ...(tpotMs === undefined ? {} : { tpotMs }),
    ...(tokensPerS === undefined ? {} : { tokensPerS }),
    ...(ttftMs === undefined ? {} : { ttftMs }),
  };
}

/** A row as something to predict, the reason why the model does not answer, or nothing where nothing was measured. */
export function readRow(row: Row, models: KnownModels): Case | Abstention | undefined {
  const measured = measuredOf(row);
  if (measured === undefined) return undefined;
  const id = row["id"] ?? "";
  const source = row["source"] ?? "";
  const setting = settingOf(row, models);
  if (typeof setting === "string") return { id, source, reason: setting };
  const predict = predictionOf(row, setting);
  if (typeof predict === "string") return { id, source, reason: predict };
  const isMixture = setting.model.experts !== undefined;
  return { id, source, accelerator: setting.accelerator.name, isMixture, row, measured, predict };
}
