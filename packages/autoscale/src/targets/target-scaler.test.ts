import { expect, it } from "vitest";
import type { LoadReading } from "./load-reading.ts";
import type { MetricReading } from "./metric-reading.ts";
import { TargetScaler, type TargetSample } from "./target-scaler.ts";
import type { Targets } from "./targets.ts";

const targets: Targets = {
  concurrency: 4,
  requestsPerSecond: null,
  queueTimeMs: null,
  ttft: null,
  tpot: null,
  metrics: [],
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

const queue: Targets = {
  ...targets,
  concurrency: null,
  metrics: [{ name: "jobsQueued", source: null, kind: "perReplica", target: 20 }],
};
const jobs = (nowMs: number, value: number): readonly MetricReading[] => [
  { source: "site", name: "jobsQueued", value, atMs: nowMs, everyMs: 5_000, replicas: null },
];

it("starts a replica for the first work that a source sees, and stops it after idleToZero, without a gateway", () => {
  const scaler = new TargetScaler();
  let replicas = 0;
  const stepAt = (nowMs: number, value: number): void => {
    const sample = sampleAt(nowMs, { replicas, ready: replicas, reading: null, metrics: jobs(nowMs, value) });
    ({ replicas } = scaler.decide(sample, queue));
  };
  stepAt(1_000_000, 0);
  expect(replicas).toBe(0);
  stepAt(1_002_000, 1);
  expect(replicas).toBe(1);
  for (let nowMs = 1_004_000; nowMs <= 1_120_000; nowMs += 2_000) stepAt(nowMs, 0);
  expect(replicas).toBe(0);
});

it("is not idle for a gateway while a source sees work, or does not know", () => {
  const scaler = new TargetScaler();
  for (const [from, metrics] of [
    [1_000_000, (nowMs: number) => jobs(nowMs, 3)],
    [1_200_000, () => []],
  ] as const)
    for (let nowMs = from; nowMs < from + 200_000; nowMs += 2_000)
      expect(scaler.decide(sampleAt(nowMs, { replicas: 1, metrics: metrics(nowMs) }), queue).replicas).toBe(1);
});

it("adds replicas for other targets while a value is missing", () => {
  const both = { ...queue, concurrency: 4 };
  const reading = { ...idle, running: 16, idleMs: 0 };
  const decision = new TargetScaler().decide(sampleAt(1_000_000, { reading }), both);
  expect(decision).toMatchObject({ replicas: 4, need: { cause: "concurrency" } });
});
