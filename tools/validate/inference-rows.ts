import {
  acceleratorCount,
  batchLimit,
  closedLoop,
  closedRun,
  decodeStep,
  disaggregatedLoop,
  finiteRun,
  fittedInference,
  ignorance,
  meanContext,
  obstacles,
  offlineRun,
  openLoop,
  staticBatch,
} from "../../packages/perf/src/index.ts";
import type {
  BuiltReplica,
  FirstToken,
  InferenceConstants,
  RequestShape,
  ServingLayout,
  SteadyState,
} from "../../packages/perf/src/index.ts";
import { layoutOf, numberIn, rowLayout, settingOf } from "./inference-setting.ts";
import { impossibleNumber, type NumberColumns } from "./stated-numbers.ts";
import type { KnownModels, Row, Setting } from "./inference-setting.ts";

/** A row's measurement, or the model's prediction for it. */
export interface Outcome {
  readonly tpotMs?: number;
  readonly tokensPerS?: number;
  readonly ttftMs?: number;
  /**
   * Fields that only predictions have: the number of sequences that decode together, the time waiting for prompts of
   * other requests, and the parts of the time to the first token.
   */
  readonly batch?: number;
  readonly promptsMs?: number;
  readonly firstToken?: FirstToken;
}

/** A row for which the model can make a prediction. */
export interface Case {
  readonly id: string;
  readonly source: string;
  readonly accelerator: string;
  readonly isMixture: boolean;
  /** The replica for which the prediction is made. For disaggregated serving, it is the one that decodes. */
  readonly replica: BuiltReplica;
  readonly request: RequestShape;
  /** Values chosen for missing fields of the row. */
  readonly chosen: readonly string[];
  readonly measured: Outcome;
  readonly predict: (constants: InferenceConstants) => Outcome;
}

export interface Abstention {
  readonly id: string;
  readonly source: string;
  readonly reason: string;
}

/** A row that measured none of the quantities that the model predicts. */
export interface Unmeasured {
  readonly id: string;
  readonly source: string;
  readonly unmeasured: string;
}

const workerPattern = /^P(\d+)x\(tp(\d+),dp(\d+),ep(\d+)\) D(\d+)x\(tp(\d+),dp(\d+),ep(\d+)\)$/;

/** Layout of the workers that decode. */
function decodeLayout(row: Row): ServingLayout {
  const parts = workerPattern.exec(row["disagg_cfg"] ?? "");
  if (row["mode"] !== "disagg" || parts === null) return rowLayout(row);
  const [tensor = 1, attentionData = 1, expert = 1] = parts.slice(6).map(Number);
  return layoutOf(tensor, 1, attentionData, expert);
}

function outcomeOf(state: SteadyState): Outcome {
  const { tpotMs, ttftMs, batch, promptsMs, firstToken } = state;
  return { tpotMs, tokensPerS: state.outputTokensPerS, ttftMs, batch, promptsMs, firstToken };
}

type Prediction = (constants: InferenceConstants) => Outcome;

function disaggregated(row: Row, setting: Setting, concurrency: number): Prediction | string {
  const parts = workerPattern.exec(row["disagg_cfg"] ?? "");
  if (parts === null) return "number and shape of the prefill and decode workers are not stated";
  if (parts.slice(1).some((count) => Number(count) === 0)) return `disagg_cfg ${parts[0]} has a count of 0`;
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
  return (k) => outcomeOf(disaggregatedLoop(group, setting.request, concurrency, k));
}

/** Number of concurrent requests that is used if a row states only a rate. */
const usualRequests = 2048;

/**
 * Number of requests that is used for an offline run whose row does not state it. All requests together have about four
 * million output tokens, as in TensorRT-LLM's performance overview (30,000 requests of 128 tokens, 1,500 of 2,048 to
 * 4,096).
 */
function offlineRequests(outputTokens: number): number {
  return Math.round(Math.min(30_000, Math.max(1000, 4e6 / outputTokens)));
}

/**
 * The prediction for an offline run. Mixture-of-experts models use attention data parallelism if that fits, like the
 * published options of TensorRT-LLM's throughput runs.
 */
function offline(setting: Setting, layout: ServingLayout): Prediction {
  const wide = setting.replica(layoutOf(1, layout.pipeline, layout.tensor, layout.tensor));
  const isWide =
    setting.model.experts !== undefined && layout.tensor > 1 && reasonAgainst(wide, setting.request) === undefined;
  const replica = isWide ? wide : setting.replica(layout);
  const requests = offlineRequests(setting.request.outputTokens);
  return (k) => {
    const { outputTokensPerS, batch } = offlineRun(replica, setting.request, requests, k);
    return { tokensPerS: outputTokensPerS, batch };
  };
}

/**
 * The reason why a layout cannot run, or why the model has no prediction for it. Sequences that are longer than the
 * model's positions are accepted, because they were measured.
 */
function reasonAgainst(replica: BuiltReplica, request: RequestShape): string | undefined {
  const found = obstacles(replica, request).find(({ kind }) => kind !== "length");
  return found?.message ?? ignorance(replica)[0]?.message;
}

/**
 * The prediction for requests that arrive at a rate. At most as many run at a time as the row allows for an engine. If
 * the rate exceeds what the replica can sustain, the replica is always full.
 */
function arriving(replica: BuiltReplica, setting: Setting, rate: number, most: number): Prediction {
  const { request, requests } = setting;
  if (requests !== undefined) {
    // The limit applies to each attention-data rank, because each of them is an engine of its own.
    const run = { requestsPerS: rate, requests, most: most * replica.layout.attentionData };
    return (k) => outcomeOf(finiteRun(replica, request, run, k));
  }
  return (k) => {
    const state = openLoop(replica, request, rate, k);
    if (state.kind === "overloaded" || state.batch > most) return outcomeOf(closedLoop(replica, request, most, k));
    const { tpotMs, outputTokensPerS, firstToken, batch } = state;
    return { tpotMs, tokensPerS: outputTokensPerS, ttftMs: firstToken.totalMs, batch, firstToken };
  };
}

function decodeOnly(replica: BuiltReplica, request: RequestShape): Prediction {
  return (k) => {
    const batch = batchLimit(replica, request);
    return { tokensPerS: (1000 * batch) / decodeStep(replica, batch, meanContext(request), k).totalMs };
  };
}

function online(row: Row, replica: BuiltReplica, setting: Setting): Prediction | string {
  const concurrency = numberIn(row, "batch_or_concurrency");
  const rate = numberIn(row, "request_rate_rps");
  if (rate !== undefined) return arriving(replica, setting, rate, concurrency ?? usualRequests);
  if (concurrency === undefined) return "load is not stated";
  const { request, requests } = setting;
  if (requests === undefined) return (k) => outcomeOf(closedLoop(replica, request, concurrency, k));
  // Only a small share of the requests start together, so they do not change a median.
  const firstWave = row["ttft_stat"]?.startsWith("median") === true ? 0 : Math.min(1, concurrency / requests);
  return (k) => outcomeOf(closedRun(replica, request, { concurrency, firstWave }, k));
}

function predictionOf(row: Row, setting: Setting): Prediction | string {
  const concurrency = numberIn(row, "batch_or_concurrency");
  const kind = row["kind"] ?? "";
  if (row["mode"] === "disagg" && kind.startsWith("online")) {
    return concurrency === undefined ? "load is not stated" : disaggregated(row, setting, concurrency);
  }
  const layout = rowLayout(row);
  const count = acceleratorCount(layout);
  const stated = numberIn(row, "n_gpus") ?? count;
  if (count > stated) return `tp × pp × dp of ${count} are more than the ${stated} accelerators`;
  const replica = setting.replica(layout);
  const found = reasonAgainst(replica, setting.request);
  if (found !== undefined) return found;
  if (kind.startsWith("online")) return online(row, replica, setting);
  if (kind.startsWith("offline")) return offline(setting, layout);
  if (kind === "disagg_decode") return decodeOnly(replica, setting.request);
  if (kind === "static_batch" || kind === "single_request_fit") {
    if (concurrency === undefined) return "batch is not stated";
    return (k) => outcomeOf(staticBatch(replica, setting.request, concurrency, k));
  }
  return `measurements of kind "${kind}" are not modelled`;
}

/** Whether every predicted number is a number. The time to the first token of an overloaded engine grows for ever. */
function isFiniteOutcome({ tpotMs = 0, tokensPerS = 0, ttftMs = 0 }: Outcome): boolean {
  return [tpotMs, tokensPerS, ttftMs].every(Number.isFinite);
}

function measuredOf(row: Row): Outcome | undefined {
  const isTail = (column: string): boolean => row[column]?.startsWith("p9") === true;
  const tpotMs = isTail("tpot_stat") ? undefined : numberIn(row, "tpot_ms");
  const perGpu = numberIn(row, "output_tok_s_per_gpu");
  const tokensPerS = numberIn(row, "output_tok_s_total") ?? (perGpu && perGpu * (numberIn(row, "n_gpus") ?? 1));
  const ttftMs = isTail("ttft_stat") ? undefined : numberIn(row, "ttft_ms");
  if (tpotMs === undefined && tokensPerS === undefined && ttftMs === undefined) return undefined;
  return {
    ...(tpotMs === undefined ? {} : { tpotMs }),
    ...(tokensPerS === undefined ? {} : { tokensPerS }),
    ...(ttftMs === undefined ? {} : { ttftMs }),
  };
}

const measureColumns = ["tpot_ms", "output_tok_s_total", "output_tok_s_per_gpu", "ttft_ms"];

/** Columns that a file of serving measurements must have. */
export const servingColumns = { all: ["model", "gpu", "kind", "isl", "osl"], any: measureColumns };

/** The reason why `measuredOf` finds no measurement. */
function unmeasuredReason(row: Row): string {
  const isTail = measureColumns.some((column) => numberIn(row, column) !== undefined);
  return isTail
    ? "only tail percentiles were measured, and means are predicted"
    : "no time per token, throughput or time to the first token was measured";
}

const numberColumns: NumberColumns = {
  counts: ["n_gpus", "tp", "pp", "dp", "ep", "isl", "osl", "batch_or_concurrency"],
  amounts: [],
  measures: ["request_rate_rps", ...measureColumns],
};

/** The values that were chosen for missing fields of a row. */
function chosenFor(row: Row, { request, model }: Setting, { formats, layout }: BuiltReplica): readonly string[] {
  const isOffline = row["kind"]?.startsWith("offline") === true;
  return [
    ...(row["precision"] ? [] : [`${formats.linear} weights, by the model's name or its published checkpoint`]),
    ...(row["kv_precision"] ? [] : [`${formats.kv} cache`]),
    ...(row["tp"] || row["disagg_cfg"] ? [] : [`tensor ${layout.tensor}`]),
    ...(isOffline ? [`${offlineRequests(request.outputTokens)} requests`] : []),
    ...(isOffline && model.experts !== undefined && layout.tensor > 1
      ? ["attention data parallelism where it fits"]
      : []),
  ];
}

/**
 * Converts a row to a case to predict. If the model has no prediction for the row, or the row has no measurement, the
 * result is the reason.
 */
export function readRow(row: Row, models: KnownModels): Case | Abstention | Unmeasured {
  const id = row["id"] ?? "";
  const source = row["source"] ?? "no source";
  const wrong = impossibleNumber(row, numberColumns);
  if (wrong !== undefined) return { id, source, reason: wrong };
  const measured = measuredOf(row);
  if (measured === undefined) return { id, source, unmeasured: unmeasuredReason(row) };
  const setting = settingOf(row, models);
  if (typeof setting === "string") return { id, source, reason: setting };
  const predict = predictionOf(row, setting);
  if (typeof predict === "string") return { id, source, reason: predict };
  if (!isFiniteOutcome(predict(fittedInference)))
    return { id, source, reason: "the load is more than the replica sustains" };
  const isMixture = setting.model.experts !== undefined;
  const replica = setting.replica(decodeLayout(row));
  const chosen = chosenFor(row, setting, replica);
  const { request, accelerator } = setting;
  return { id, source, accelerator: accelerator.name, isMixture, replica, request, chosen, measured, predict };
}
