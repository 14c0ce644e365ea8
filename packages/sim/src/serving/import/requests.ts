/**
 * Importers of traffic: the Azure traces of 2023 and 2024 (CSV: TIMESTAMP, ContextTokens, GeneratedTokens), Mooncake's (JSONL
 * with hashes of prefix blocks), request logs of a vLLM benchmark (JSONL), a gateway's usage or access log (JSONL), and
 * the image-generation trace of Alibaba's GenAI service (CSV). Each importer refuses a file with broken rows unless its
 * options skip them.
 */
import { readTable } from "../../trace/delimited.ts";
import type { TableFormat } from "../../trace/delimited.ts";
import type { Row } from "../../trace/row.ts";
import type { ImportOptions, TraceLines } from "../../trace/trace.ts";
import { plainRequest, requestBounds } from "../request-trace.ts";
import { readJsonLines } from "./json-rows.ts";
import { RequestLedger } from "./request-book.ts";
import type { RequestImport } from "./request-book.ts";
import { utcMs } from "./utc-time.ts";

const { tokens, pages, arrivalMs } = requestBounds;

const commas = (required: readonly string[]): TableFormat => ({ delimiter: ",", required, quotes: "rfc4180" });

/** Numbers above it are ms since 1970, others s since any time: 5138 in s. */
const SECONDS_MAX = 100_000_000_000;

function timeIn(row: Row, column: string): number {
  const text = row.text(column);
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) > SECONDS_MAX ? Number(text) : Number(text) * 1000;
  const ms = utcMs(text);
  if (ms === undefined) row.fail(`${column}: expected a time such as 2023-11-16 18:17:03.979`);
  return ms ?? 0;
}

export function importAzure(source: TraceLines, { skipBroken }: ImportOptions): RequestImport {
  const ledger = new RequestLedger();
  const complaint = readTable(source, commas(["TIMESTAMP", "ContextTokens", "GeneratedTokens"]), ledger, (row) => {
    const request = {
      ...plainRequest,
      arrivalMs: timeIn(row, "TIMESTAMP"),
      promptTokens: row.integer("ContextTokens", tokens),
      outputTokens: row.integer("GeneratedTokens", tokens),
    };
    if (row.problem === null) ledger.request(request);
  });
  return complaint === null ? ledger.finish(0, skipBroken) : ledger.refuse(complaint);
}

/** Number of tokens of a prefix block in Mooncake's traces (kvcache-ai/Mooncake, FAST25-release). */
const mooncakePageTokens = 512;

export function importMooncake(source: TraceLines, { skipBroken }: ImportOptions): RequestImport {
  const ledger = new RequestLedger();
  readJsonLines(source, ledger, (row) => {
    const request = {
      ...plainRequest,
      arrivalMs: row.number("timestamp", arrivalMs),
      promptTokens: row.integer("input_length", tokens),
      outputTokens: row.integer("output_length", tokens),
      pages: row.integers("hash_ids", pages),
    };
    if (request.pages.length > Math.ceil(request.promptTokens / mooncakePageTokens)) row.fail("hash_ids: too many");
    if (row.problem === undefined) ledger.request(request);
  });
  return ledger.finish(mooncakePageTokens, skipBroken);
}

/** Imports request logs of a vLLM benchmark: arrival times and lengths. The engine's measurements are ignored. */
export function importVllmRun(source: TraceLines, { skipBroken }: ImportOptions): RequestImport {
  const ledger = new RequestLedger();
  readJsonLines(source, ledger, (row) => {
    const request = {
      ...plainRequest,
      arrivalMs: row.number("arrival_time", arrivalMs) * 1000,
      promptTokens: row.integer("input_toks", tokens),
      outputTokens: row.integer("output_toks", tokens),
    };
    if (row.problem === undefined) ledger.request(request);
  });
  return ledger.finish(0, skipBroken);
}

/**
 * Imports the gateway's own log: the access log (`at`, the start of the request) or usage files (`atMs`, the time of
 * settlement). A later line with the same id replaces the earlier one. Failed requests are left out; aborted requests
 * keep the output recorded for them.
 */
export function importGatewayLog(source: TraceLines, { skipBroken }: ImportOptions): RequestImport {
  const ledger = new RequestLedger();
  const byId = new Map<
    string,
    { readonly outcome: string; readonly request: Parameters<RequestLedger["request"]>[0] }
  >();
  readJsonLines(source, ledger, (row) => {
    const atMs = row.has("atMs") ? row.number("atMs", arrivalMs) : utcMs(row.text("at"));
    if (atMs === undefined) row.fail("at: expected a time such as 2026-01-31T18:17:03.979Z");
    const request = {
      ...plainRequest,
      arrivalMs: atMs ?? 0,
      promptTokens: row.integer("promptTokens", tokens),
      outputTokens: row.integer("completionTokens", tokens),
      cachedTokens: row.has("cachedTokens") ? row.integer("cachedTokens", tokens) : 0,
    };
    const id = row.text("id");
    const outcome = row.text("outcome");
    if (row.problem === undefined) byId.set(id, { outcome, request });
  });
  for (const { outcome, request } of byId.values()) {
    if (outcome === "failed" || outcome === "open") ledger.leaveOut(outcome);
    else ledger.request(request);
  }
  return ledger.finish(0, skipBroken);
}

/** Time in ms of one step of an image model. */
export const imageStepMs = 100;

/**
 * Imports requests of an image-generation service (Alibaba's GenAI trace of 2026). Each request occupies one replica
 * for its execution time, divided into steps, and needs its base model and adapters loaded.
 */
export function importGenai(source: TraceLines, { skipBroken }: ImportOptions): RequestImport {
  const ledger = new RequestLedger();
  const required = ["gmt_create", "predict_status", "exec_time_seconds", "checkpoint_model_version_id"];
  const complaint = readTable(source, commas(required), ledger, (row) => {
    const seconds = Number(row.text("exec_time_seconds"));
    const at = timeIn(row, "gmt_create");
    if (row.problem !== null) return;
    if (row.text("predict_status") !== "SUCCEED") ledger.leaveOut("notSucceeded");
    else if (!(seconds > 0 && seconds < 86_400)) ledger.leaveOut("noTime");
    else {
      const outputTokens = Math.max(1, Math.round((seconds * 1000) / imageStepMs));
      const adapter = row.text("checkpoint_model_version_id");
      ledger.request({ ...plainRequest, arrivalMs: at, promptTokens: 1, outputTokens, adapter });
    }
  });
  return complaint === null ? ledger.finish(0, skipBroken) : ledger.refuse(complaint);
}
