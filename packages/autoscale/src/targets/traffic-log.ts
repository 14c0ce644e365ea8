/**
 * The last samples of an endpoint, from which a rule learns again after a restart what it had learnt: rules are a function of
 * their samples, so no state of a rule is stored, and another release may have other rules.
 */
import type { EndpointSample } from "../contract.ts";

/** Samples that are kept: an hour of looks every two seconds. */
const SAMPLES_MAX = 1_800;
/** The longest time that a sample counts for. */
const TICK_MS_MAX = 60_000;
/** Samples of an earlier time are forgotten. */
const AGE_MAX_MS = 86_400_000;
const AMOUNT_MAX = 1e12;

/** One sample: tickMs, ready, starting, arrivals, prompt tokens, ended, output tokens, met, missed. */
type Row = readonly number[];
const ROW_LENGTH = 9;

export interface SavedTraffic {
  readonly version: 1;
  /** The targets for which it was learnt. */
  readonly key: string;
  readonly endedAtMs: number;
  readonly coldStartMs: number;
  /** Time in ms of a prompt token and of an output token; `null`: not measured. */
  readonly promptTokenMs: number | null;
  readonly outputTokenMs: number | null;
  readonly rows: readonly Row[];
}

/** Reads what was stored; `null`: damaged, too old, from the future, or for other targets. */
export function readTraffic(stored: unknown, key: string, nowMs: number): SavedTraffic | null {
  if (typeof stored !== "object" || stored === null) return null;
  const saved = stored as Partial<Record<keyof SavedTraffic, unknown>>;
  const { endedAtMs, coldStartMs, promptTokenMs, outputTokenMs, rows } = saved;
  if (saved.version !== 1 || saved.key !== key || !isAmount(endedAtMs) || !isAmount(coldStartMs)) return null;
  if (endedAtMs > nowMs || nowMs - endedAtMs > AGE_MAX_MS) return null;
  if (![promptTokenMs, outputTokenMs].every((time) => time === null || (isAmount(time) && time > 0))) return null;
  if (!Array.isArray(rows) || rows.length > 4 * SAMPLES_MAX || !rows.every(isRow)) return null;
  // A release that kept more samples may have stored them.
  return { ...(saved as SavedTraffic), rows: (rows as readonly Row[]).slice(-SAMPLES_MAX) };
}

const isAmount = (value: unknown): value is number =>
  typeof value === "number" && value >= 0 && value <= AMOUNT_MAX * 10;

function isRow(row: unknown): row is Row {
  if (!Array.isArray(row) || row.length !== ROW_LENGTH || !row.every(isAmount)) return false;
  const [tickMs = 0, , , arrivals = 0, promptTokens = 0] = row;
  return tickMs > 0 && tickMs <= TICK_MS_MAX && (arrivals > 0 || promptTokens === 0);
}

export class TrafficLog {
  /** The rows one after the other. */
  #values: number[] = [];

  add(sample: EndpointSample): void {
    const { tickMs, ready, starting, arrivals, arrivedPromptTokens, ended, endedOutputTokens, met, missed } = sample;
    for (const value of [tickMs, ready, starting, arrivals, arrivedPromptTokens, ended, endedOutputTokens, met, missed])
      this.#values.push(Math.round(1000 * value) / 1000);
    const most = ROW_LENGTH * SAMPLES_MAX;
    if (this.#values.length > 1.1 * most) this.#values.splice(0, this.#values.length - most);
  }

  clear(): void {
    this.#values = [];
  }

  restore(rows: readonly Row[]): void {
    this.#values = rows.flat();
  }

  get rows(): readonly Row[] {
    const count = Math.min(SAMPLES_MAX, this.#values.length / ROW_LENGTH);
    const from = this.#values.length - ROW_LENGTH * count;
    return Array.from({ length: count }, (_, row) =>
      this.#values.slice(from + ROW_LENGTH * row, from + ROW_LENGTH * (row + 1)),
    );
  }
}

/** The samples of stored traffic, in their order. Requests that waited then are gone. */
export function* samplesOf({ rows, endedAtMs, coldStartMs }: SavedTraffic): Generator<EndpointSample, undefined> {
  let nowMs = endedAtMs - rows.reduce((sum, [tickMs = 0]) => sum + tickMs, 0);
  for (const row of rows) {
    const [tickMs = 0, ready = 0, starting = 0, arrivals = 0, arrivedPromptTokens = 0] = row;
    const [ended = 0, endedOutputTokens = 0, met = 0, missed = 0] = row.slice(5);
    nowMs += tickMs;
    yield {
      nowMs,
      tickMs,
      ready,
      starting,
      arrivals,
      arrivedPromptTokens,
      ended,
      endedOutputTokens,
      met,
      missed,
      inFlight: arrivals,
      waiting: 0,
      waitingPromptTokens: 0,
      ttftMs: Number.NaN,
      coldStartMs,
    };
  }
  return undefined;
}
