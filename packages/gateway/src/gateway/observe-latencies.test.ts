/** Times of requests, as the verdict on a rollout compares them. */
import { describe, expect, it } from "vitest";
import type { ExchangeSummary } from "../exchange/runtime.ts";
import type { Pool } from "../replicas/pool.ts";
import { RolloutSplit } from "../replicas/rollout-split.ts";
import { observeLatencies } from "./observe-latencies.ts";

/** The stratum and the milliseconds to the first token that the reading of the present revision has after warm-up. */
function observed(shadowMilli: number | null, changes: object = {}): readonly [number, number] {
  const weightMilli = shadowMilli === null ? 100 : 0;
  const rollout = { number: 2, startedAtMs: 0, weightMilli, shadowMilli, canary: new Set(["b"]) };
  const split = new RolloutSplit(rollout);
  split.follow(rollout, ["a", "b", "c"]);
  const pool = {
    split,
    replicas: new Map(),
    tokens: { completed: () => undefined },
    latencies: { observe: () => undefined },
  } as unknown as Pool;
  // 700 ms passed at a replica that failed, and 200 ms in a queue; the replica that answered took 300 ms.
  const summary = {
    record: { outcome: "completed", promptTokens: 64, cachedTokens: 0, completionTokens: 4 },
    replicaId: "a",
    decision: { cachedTokens: 60 },
    attempts: [
      { replica: "c", startedAtMs: 1_000 },
      { replica: "a", startedAtMs: 1_900 },
    ],
    startedAtMs: 1_000,
    firstByteAtMs: 2_200,
    endedAtMs: 2_500,
    isStream: true,
    ...changes,
  } as unknown as ExchangeSummary;
  for (let stream = 0; stream < 21; stream++) observeLatencies(pool, summary, 64);
  const [[stratum, count, sum] = [0, 0, Number.NaN]] = split.counters().baseline.ttft;
  expect(count).toBe(split.counters().baseline.ttft.length);
  return [stratum, Math.round(Math.exp(sum))];
}

it("counts the time at the replica that answered, without waits and failed attempts", () => {
  expect(observed(null)).toEqual([4, 300]);
});

it("counts from the request that a hedge of the same revision rescued, which else would hide a slow one", () => {
  const slow = { kind: "first", replica: "c", startedAtMs: 1_200, endedAtMs: 2_200 };
  const hedge = { kind: "hedge", replica: "a", startedAtMs: 1_900, endedAtMs: 0 };
  expect(observed(null, { attempts: [slow, hedge] })).toEqual([4, 1_000]);
  expect(observed(null, { attempts: [{ ...slow, endedAtMs: 0 }, hedge] })).toEqual([4, 1_000]);
  // One that had failed before, and one of the other revision, say nothing about this one.
  expect(observed(null, { attempts: [{ ...slow, endedAtMs: 1_500 }, hedge] })).toEqual([4, 300]);
  expect(observed(null, { attempts: [{ ...slow, replica: "b" }, hedge] })).toEqual([4, 300]);
});

describe("while copies are compared, for which the router expects nothing in caches", () => {
  it("counts the whole prompt where nothing is expected, and what the engine reports", () => {
    expect(observed(1_000, { decision: { cachedTokens: 0 } })).toEqual([12, 300]);
    const record = { outcome: "completed", promptTokens: 64, cachedTokens: 60, completionTokens: 4 };
    expect(observed(1_000, { record })).toEqual([4, 300]);
  });

  it("leaves the time out where a cached prefix is expected and none is reported", () => {
    expect(observed(1_000)).toEqual([0, Number.NaN]);
  });
});
