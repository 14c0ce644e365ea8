import { TimedEngine } from "./engine-clock.ts";
import type { BatchingObserver, TimedEngineOptions } from "./engine-clock.ts";
import type { BatchingTotals } from "./kernel.ts";
import type { BatchedRequest } from "./requests.ts";

/**
 * Times of requests in ms, by the index of the request in the input. The start of a request is the time at which the
 * first step with its tokens was scheduled.
 */
export interface BatchingTimes {
  readonly arrivalMs: Float64Array;
  readonly startMs: Float64Array;
  readonly firstTokenMs: Float64Array;
  readonly endMs: Float64Array;
  readonly totals: BatchingTotals;
}

/** Lengths of a request. The id of a request is its index in the list. */
export type RequestLengths = Pick<BatchedRequest, "promptTokens" | "outputTokens"> &
  Partial<Pick<BatchedRequest, "priority" | "pages" | "loadedTokens">>;

class Times implements BatchingObserver {
  readonly startMs: Float64Array;
  readonly firstTokenMs: Float64Array;
  readonly endMs: Float64Array;
  readonly ended: number[] = [];

  constructor(count: number) {
    this.startMs = new Float64Array(count).fill(Number.NaN);
    this.firstTokenMs = new Float64Array(count).fill(Number.NaN);
    this.endMs = new Float64Array(count).fill(Number.NaN);
  }

  started(id: number, atMs: number): void {
    this.startMs[id] = atMs;
  }

  firstToken(id: number, atMs: number): void {
    this.firstTokenMs[id] = atMs;
  }

  finished(id: number, atMs: number): void {
    this.endMs[id] = atMs;
    this.ended.push(id);
  }
}

function batched(lengths: RequestLengths, id: number): BatchedRequest {
  return { priority: 0, pages: [], loadedTokens: 0, ...lengths, id };
}

/**
 * Runs requests with given arrival times (ms, ascending) on one engine. Throws RangeError if a request can never run.
 */
export function runArrivals(
  options: TimedEngineOptions,
  requests: readonly RequestLengths[],
  arrivalMs: Float64Array,
): BatchingTimes {
  const engine = new TimedEngine(options);
  const times = new Times(requests.length);
  for (const [id, lengths] of requests.entries()) {
    const atMs = arrivalMs[id] ?? Number.NaN;
    engine.advanceTo(atMs, times);
    engine.add(batched(lengths, id), atMs);
  }
  engine.advanceTo(Infinity, times);
  return {
    startMs: times.startMs,
    firstTokenMs: times.firstTokenMs,
    endMs: times.endMs,
    arrivalMs,
    totals: engine.kernel.totals,
  };
}

/**
 * Keeps `concurrency` requests in flight. The first ones arrive together at time 0, and each of the others arrives as
 * soon as a request ends. Throws RangeError if a request can never run.
 */
export function runClosedLoop(
  options: TimedEngineOptions,
  requests: readonly RequestLengths[],
  concurrency: number,
): BatchingTimes {
  const engine = new TimedEngine(options);
  const times = new Times(requests.length);
  const arrivalMs = new Float64Array(requests.length);
  let next = 0;
  const arrive = (atMs: number): void => {
    const lengths = requests[next];
    if (lengths === undefined) return;
    arrivalMs[next] = atMs;
    engine.add(batched(lengths, next), atMs);
    next += 1;
  };
  while (next < concurrency && next < requests.length) arrive(0);
  while (!engine.isIdle) {
    engine.advance(times);
    for (const id of times.ended.splice(0)) arrive(times.endMs[id] ?? 0);
  }
  return {
    startMs: times.startMs,
    firstTokenMs: times.firstTokenMs,
    endMs: times.endMs,
    arrivalMs,
    totals: engine.kernel.totals,
  };
}
