import { createEngine } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { CAPACITY_SAMPLE_EVERY_MS, CapacityRecorder } from "./capacity-recorder.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const DAY_MS = 86_400_000;

describe("the capacity recorder", () => {
  const { engine } = SmallFleet.withNodes(1, 8);

  it("takes no sample before the fleet has a node", () => {
    const recorder = new CapacityRecorder();
    expect(recorder.sampleIfDue(createEngine(), 1_000)).toBe(false);
    expect(recorder.history.samples).toEqual([]);
  });

  it("samples when due, keeps a day, and forgets samples from after the clock was set back", () => {
    const recorder = new CapacityRecorder();
    expect(recorder.sampleIfDue(engine, 1_000)).toBe(true);
    expect(recorder.sampleIfDue(engine, 1_000 + CAPACITY_SAMPLE_EVERY_MS - 1)).toBe(false);
    expect(recorder.sampleIfDue(engine, 1_000 + CAPACITY_SAMPLE_EVERY_MS)).toBe(true);
    expect(recorder.history.samples.map(({ atMs }) => atMs)).toEqual([1_000, 1_000 + CAPACITY_SAMPLE_EVERY_MS]);
    recorder.sampleIfDue(engine, 1_000 + DAY_MS);
    expect(recorder.history.samples.map(({ atMs }) => atMs)).toEqual([
      1_000 + CAPACITY_SAMPLE_EVERY_MS,
      1_000 + DAY_MS,
    ]);
    expect(recorder.sampleIfDue(engine, 500)).toBe(true);
    expect(recorder.history.samples.map(({ atMs }) => atMs)).toEqual([500]);
    expect(recorder.history.samples[0]).toMatchObject({ total: 8, held: 0, queued: 0, unavailable: 0, teams: {} });
  });
});
