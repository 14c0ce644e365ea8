import { describe, expect, it } from "vitest";
import { DurationModel, usualDurationRules } from "../estimate/durations.ts";
import type { WorkRecord } from "../estimate/durations.ts";
import { TypicalDurations } from "./typical-durations.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SCENARIOS = 600;

const record = (family: string, submittedAtMs: number, more: Partial<WorkRecord> = {}): WorkRecord => ({
  family,
  accelerators: 1,
  submittedAtMs,
  endedAfterMs: [],
  walltimeMs: null,
  ...more,
});

function medianDrawnMs(records: readonly WorkRecord[], of: number, elapsedMs: number): number {
  const model = new DurationModel(records);
  const drawn = Array.from({ length: SCENARIOS }, (_, seed) => model.scenario(seed).durationMs(of, elapsedMs));
  return drawn.toSorted((left, right) => left - right)[SCENARIOS >> 1]!;
}

const typicalMs = (records: readonly WorkRecord[], of: number, elapsedMs: number): number =>
  new TypicalDurations(new DurationModel(records)).durationMs(of, elapsedMs);

/** Sweeps of one family, an hour apart, each with three runs of similar length. The last sweep has no ended run. */
const sweeps = [
  ...[5, 10, 20, 30, 60, 90, 120, 180].map((minutes, index) =>
    record("train", index * HOUR_MS, {
      endedAfterMs: [minutes, 1.1 * minutes, 1.2 * minutes].map((m) => m * MINUTE_MS),
    }),
  ),
  record("train", 100 * HOUR_MS),
];

describe("a typical duration", () => {
  it("is the middle of what scenarios draw, near enough", () => {
    for (const elapsedMs of [0, 15 * MINUTE_MS, 70 * MINUTE_MS, 200 * MINUTE_MS]) {
      const ratio =
        typicalMs(sweeps, sweeps.length - 1, elapsedMs) / medianDrawnMs(sweeps, sweeps.length - 1, elapsedMs);
      expect(ratio).toBeGreaterThan(0.75);
      expect(ratio).toBeLessThan(1.35);
    }
  });

  it("is that of the sweep's own members, where some have ended", () => {
    const own = [
      ...sweeps,
      record("train", 200 * HOUR_MS, { endedAfterMs: [7, 8, 9, 10, 11].map((m) => m * MINUTE_MS) }),
    ];
    expect(typicalMs(own, own.length - 1, 0)).toBe(9 * MINUTE_MS);
    expect(typicalMs(own, own.length - 1, 9.8 * MINUTE_MS)).toBeCloseTo(10.5 * MINUTE_MS, -5);
  });

  it("is the walltime, or half an hour of none, where nothing has ended", () => {
    const fresh = (walltimeMs: number | null): readonly WorkRecord[] => [record("new", 0, { walltimeMs })];
    expect(typicalMs(fresh(20 * MINUTE_MS), 0, 3000)).toBe(20 * MINUTE_MS);
    expect(typicalMs(fresh(null), 0, 3000)).toBe(32 * MINUTE_MS);
    expect(typicalMs(fresh(null), 0, 5000)).toBe(32 * MINUTE_MS);
    expect(typicalMs(fresh(null), 0, 5 * HOUR_MS) / medianDrawnMs(fresh(null), 0, 5 * HOUR_MS)).toBeCloseTo(1, 0);
    expect(typicalMs(fresh(20 * MINUTE_MS), 0, 21 * MINUTE_MS)).toBe(21 * MINUTE_MS + 1);
  });

  it("is twice what has elapsed of what outlasts everything like it, and never less than has elapsed", () => {
    expect(typicalMs(sweeps, sweeps.length - 1, 10 * HOUR_MS)).toBe(20 * HOUR_MS + 1);
    for (let elapsedMs = 0; elapsedMs < 30 * HOUR_MS; elapsedMs += 7 * MINUTE_MS)
      expect(typicalMs(sweeps, sweeps.length - 1, elapsedMs)).toBeGreaterThan(elapsedMs);
  });

  it("is the same for work in no record as for its like", () => {
    const durations = new TypicalDurations(new DurationModel(sweeps, usualDurationRules));
    const unseen = { family: "train", accelerators: 1, walltimeMs: null };
    expect(durations.durationOfUnseenMs(unseen, 0)).toBe(durations.durationMs(sweeps.length - 1, 0));
  });
});
