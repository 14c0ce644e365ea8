import { expect, it } from "vitest";
import type { LoadReading } from "./load-reading.ts";
import { TargetScaler, type TargetSample } from "./target-scaler.ts";
import type { Targets } from "./targets.ts";

const targets: Targets = {
  concurrency: 4,
  requestsPerSecond: null,
  queueTimeMs: null,
  ttft: null,
  tpot: null,
  idleToZeroMs: 60_000,
  downAfterMs: 300_000,
};
const idle: LoadReading = {
  atMs: 0,
  running: 0,
  queued: 0,
  held: 0,
  requestsPerSecond: 0,
  arrived: 0,
  idleMs: 900_000,
  ttft: null,
  tpot: null,
  tokens: null,
};
const sampleAt = (nowMs: number, changes: Partial<TargetSample> = {}): TargetSample => ({
  nowMs,
  replicas: 2,
  ready: 2,
  changedAtMs: 0,
  coldStartMs: 10_000,
  bounds: { min: 0, max: 4 },
  reading: idle,
  isPartial: false,
  ...changes,
});

/** The times at which the scaler gives up all replicas, of ticks every two seconds. */
function zeroAt(scaler: TargetScaler, fromMs: number, untilMs: number): number | null {
  for (let nowMs = fromMs; nowMs <= untilMs; nowMs += 2_000)
    if (scaler.decide(sampleAt(nowMs), targets).replicas === 0) return nowMs;
  return null;
}

// After a restart of the control plane an idle gateway may report before a busy one.
it("hears gateways for twenty seconds before an endpoint without requests has no replicas", () => {
  expect(zeroAt(new TargetScaler(), 1_000_000, 1_060_000)).toBe(1_020_000);
});

it("hears them again after a time without readings", () => {
  const scaler = new TargetScaler();
  expect(scaler.decide(sampleAt(1_000_000), targets)).toMatchObject({ replicas: 2, kept: "holding" });
  expect(scaler.decide(sampleAt(1_002_000, { reading: null }), targets)).toMatchObject({ replicas: 2, kept: "silent" });
  expect(zeroAt(scaler, 1_018_000, 1_090_000)).toBe(1_038_000);
});
