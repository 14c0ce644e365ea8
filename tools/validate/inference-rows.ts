import {
  buildReplica,
  closedLoop,
  currentEngine,
  disaggregatedLoop,
  findAccelerator,
  numberFormats,
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
} from "../../packages/perf/src/index.ts";

export type Row = Readonly<Record<string, string>>;

/** What a row measured, or what the model says about it. */
export interface Outcome {
  readonly tpotMs?: number;
  readonly tokensPerS?: number;
}

/** A row that the model can be asked about. */
export interface Case {
  readonly id: string;
  readonly source: string;
  readonly accelerator: string;
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

function engineOf(row: Row): BuiltReplica["engine"] {
  // Engines of 2023: vLLM before CUDA graphs.
  const isGraphCaptured = !(row["engine_version"] ?? "").startsWith("2023");
  return { ...currentEngine, isGraphCaptured };
}

function layoutOf(tensor: number, pipeline: number, attentionData: number, expert: number): ServingLayout {
  return { tensor, pipeline, attentionData, expert };
}

interface Setting {
  readonly accelerator: Accelerator;
  readonly model: ModelArchitecture;
  readonly replica: (layout: ServingLayout) => BuiltReplica;
  readonly request: RequestShape;
}

function settingOf(row: Row, models: ReadonlyMap<string, ModelArchitecture>): Setting | string {
  const accelerator = acceleratorOf(row);
  if (accelerator === undefined) return `accelerator "${row["gpu"]}" is not in the catalogue`;
  const model = models.get(row["model"] ?? "");
  if (model === undefined) return `architecture of "${row["model"]}" is not known`;
  const weights = formatOf(row["precision"]);
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
  return (k) => {
    const state = disaggregatedLoop(group, setting.request, concurrency, k);
    return { tpotMs: state.tpotMs, tokensPerS: state.outputTokensPerS };
  };
}

/** Layouts that the row leaves open: a mixture of experts may run with attention data parallelism under the same name. */
function offline(row: Row, setting: Setting, layout: ServingLayout): Prediction {
  const wide = layoutOf(1, layout.pipeline, layout.tensor, layout.tensor);
  const isOpen = setting.model.experts !== undefined && layout.tensor > 1;
  const replicas = (isOpen ? [layout, wide] : [layout]).map(setting.replica);
  return (k) => {
    const rates = replicas.map((replica) => closedLoop(replica, setting.request, 1e6, k).outputTokensPerS);
    return { tokensPerS: Math.max(...rates) };
  };
}

function predictionOf(row: Row, setting: Setting): Prediction | string {
  const concurrency = numberIn(row, "batch_or_concurrency");
  if (row["mode"] === "disagg" && row["kind"] === "online_concurrency") {
    return concurrency === undefined ? "load is not stated" : disaggregated(row, setting, concurrency);
  }
  const [tp, pp, dp, ep] = ["tp", "pp", "dp", "ep"].map((column) => numberIn(row, column));
  const layout = layoutOf(tp ?? 1, pp ?? 1, dp ?? 1, ep ?? 1);
  const replica = setting.replica(layout);
  switch (row["kind"]) {
    case "offline_max_throughput":
      return offline(row, setting, layout);
    case "static_batch":
    case "single_request_fit":
      if (concurrency === undefined) return "batch is not stated";
      return (k) => {
        const state = staticBatch(replica, setting.request, concurrency, k);
        return { tpotMs: state.tpotMs, tokensPerS: state.outputTokensPerS };
      };
    case "online_concurrency":
    case "online_trace":
      if (concurrency === undefined) return "load is not stated";
      return (k) => {
        const state = closedLoop(replica, setting.request, concurrency, k);
        return { tpotMs: state.tpotMs, tokensPerS: state.outputTokensPerS };
      };
    default:
      return `measurements of kind "${row["kind"]}" are not modelled`;
  }
}

function measuredOf(row: Row): Outcome | undefined {
  const tpot = row["tpot_stat"]?.startsWith("p9") === true ? undefined : numberIn(row, "tpot_ms");
  const rate = numberIn(row, "output_tok_s_total");
  if (tpot === undefined && rate === undefined) return undefined;
  return { ...(tpot === undefined ? {} : { tpotMs: tpot }), ...(rate === undefined ? {} : { tokensPerS: rate }) };
}

/** A row as something to predict, the reason why the model does not answer, or nothing where nothing was measured. */
export function readRow(row: Row, models: ReadonlyMap<string, ModelArchitecture>): Case | Abstention | undefined {
  const measured = measuredOf(row);
  if (measured === undefined) return undefined;
  const id = row["id"] ?? "";
  const source = row["source"] ?? "";
  const setting = settingOf(row, models);
  if (typeof setting === "string") return { id, source, reason: setting };
  const predict = predictionOf(row, setting);
  if (typeof predict === "string") return { id, source, reason: predict };
  return { id, source, accelerator: setting.accelerator.name, row, measured, predict };
}
