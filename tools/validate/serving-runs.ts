import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { findAccelerator, findModel } from "../../packages/perf/src/index.ts";
import { fileError, InputError } from "./input-error.ts";
import type { Accelerator, ModelArchitecture } from "../../packages/perf/src/index.ts";

/** One request of a measured run. Times are in ms after the first arrival. */
export interface MeasuredRequest {
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly arrivalMs: number;
  readonly startMs: number;
  readonly firstTokenMs: number;
  readonly endMs: number;
}

/** The requests of a measured run, in the order of their arrivals. */
export interface MeasuredRun {
  readonly name: string;
  readonly accelerator: Accelerator;
  readonly model: ModelArchitecture;
  /**
   * Whether model and accelerator are in the catalogue. If not, other entries stand in for them, and the fit penalises
   * corrections less.
   */
  readonly isKnown: boolean;
  readonly requests: readonly MeasuredRequest[];
}

/** Minimum number of requests of a run. Each half of the run must be large enough for a comparison. */
const requestsMin = 20;

const columns = [
  "input_toks",
  "output_toks",
  "arrival_time",
  "queued_ts",
  "scheduled_ts",
  "first_token_ts",
  "last_token_ts",
] as const;

type Row = Readonly<Record<(typeof columns)[number], number>>;

function rowOf(line: string, where: string): Row {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new InputError(`${where}: not JSON; every line states one request with ${columns.join(", ")}`);
  }
  const entries = columns.map((name) => {
    const number: unknown = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
    if (typeof number === "number" && Number.isFinite(number)) return [name, number] as const;
    throw new InputError(`${where}: ${name} is not a number; every line needs ${columns.join(", ")}`);
  });
  return Object.fromEntries(entries) as Row;
}

/**
 * Finds a model by its name. If the name is unknown, it is tried without the suffixes that publishers append
 * (`-Instruct-2507`).
 */
function modelByName(name: string): ModelArchitecture | undefined {
  for (let text = name; text !== ""; text = text.slice(0, Math.max(0, text.lastIndexOf("-")))) {
    const found = findModel(text);
    if (found !== undefined) return found;
  }
  return undefined;
}

function standIn<Entry>(entry: Entry | undefined, otherwise: Entry | undefined): Entry {
  const chosen = entry ?? otherwise;
  if (chosen === undefined) throw new Error("the catalogue lacks its own stand-in");
  return chosen;
}

/**
 * Converts the times of a run to ms on one clock. `arrival_time` is a wall-clock time, and the other times are
 * monotonic. The offset between the clocks is chosen so that the shortest time between the arrival of a request and its
 * entry into the queue is zero.
 */
function requestsOf(rows: readonly Row[]): MeasuredRequest[] {
  const sorted = rows.toSorted((a, b) => a.arrival_time - b.arrival_time);
  const begin = sorted[0]?.arrival_time ?? 0;
  const offset = sorted.reduce((least, row) => Math.min(least, row.queued_ts - (row.arrival_time - begin)), Infinity);
  return sorted.map((row) => ({
    promptTokens: row.input_toks,
    outputTokens: row.output_toks,
    arrivalMs: (row.arrival_time - begin) * 1000,
    startMs: (row.scheduled_ts - offset) * 1000,
    firstTokenMs: (row.first_token_ts - offset) * 1000,
    endMs: (row.last_token_ts - offset) * 1000,
  }));
}

/** Reads a file ACCELERATOR_MODEL.jsonl. Throws an `InputError` that names the file and the line. */
export function readRun(file: string): MeasuredRun {
  const name = path.basename(file, ".jsonl");
  const lines = inputOf(file, () => readFileSync(file, "utf8")).split("\n");
  const rows = lines.flatMap((line, index) => (line.trim() === "" ? [] : [rowOf(line, `${file}:${index + 1}`)]));
  if (rows.length < requestsMin) {
    throw new InputError(`${file}: ${rows.length} requests, at least ${requestsMin} are needed`);
  }
  const [device = "", ...rest] = name.split("_");
  const accelerator = findAccelerator(device);
  const model = modelByName(rest.join("_"));
  return {
    name,
    accelerator: standIn(accelerator, findAccelerator("H100-SXM-80GB")),
    model: standIn(model, findModel("llama-3-8b")),
    isKnown: accelerator !== undefined && model !== undefined,
    requests: requestsOf(rows),
  };
}

/** The runs in a folder, sorted by name. Throws an `InputError` if the folder contains none. */
export function readRuns(folder: string): MeasuredRun[] {
  const files = inputOf(folder, () => readdirSync(folder)).filter((file) => file.endsWith(".jsonl"));
  if (files.length === 0) throw new InputError(`${folder} holds no .jsonl file; name a folder of measured runs`);
  return files.toSorted().map((file) => readRun(path.join(folder, file)));
}

function inputOf<Value>(place: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw fileError(error, place, "name a folder with ACCELERATOR_MODEL.jsonl files");
  }
}
