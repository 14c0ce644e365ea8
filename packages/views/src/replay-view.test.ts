import type { ReplayReport } from "@headroom/sim";
import { describe, expect, it } from "vitest";
import { replayView } from "./replay-view.ts";

const MINUTE_MS = 60_000;
type Timeline = ReplayReport["changed"];

const timeline = (workloads: number, waitMeanMs: number): Timeline => ({
  workloads,
  started: workloads,
  waitMeanMs,
  waitP50Ms: 0,
  waitP95Ms: 0,
  slowdown: null,
  acceleratorHours: 1,
  lostAcceleratorHours: 0,
  evictions: 0,
  utilisation: 0.5,
  endedCount: 0,
  makespanMs: 0,
  samples: [],
});

const played = (changed: Timeline, shared: ReplayReport["shared"]): ReplayReport => ({
  fromMs: 0,
  toMs: 60 * MINUTE_MS,
  stepMs: MINUTE_MS,
  recorded: timeline(30, MINUTE_MS),
  control: timeline(30, MINUTE_MS),
  changed,
  teams: [],
  users: [],
  sizes: [],
  shared,
  assumptions: {
    imaginedDurations: 0,
    stopped: 0,
    lostAttempts: 0,
    waitingAtEnd: { recorded: 0, control: 0, changed: 0 },
    refusals: { control: 0, changed: 0 },
    startupMs: 0,
    stopMs: 0,
  },
});

describe("a replay in words", () => {
  it("compares the waits of the work that both courses have, and says what one of them lacks", () => {
    const shared = { workloads: 28, controlMeanMs: 3 * MINUTE_MS, changedMeanMs: 2 * MINUTE_MS };
    const { sentence, notes } = replayView(played(timeline(28, 2 * MINUTE_MS), shared), 0);
    expect(sentence).toContain("In 1 h, 28 workloads would have waited 2 min on average instead of 3 min, with 50% of");
    expect(notes.at(-1)).toBe(
      "Refused or not submitted by a schedule: 2 workloads with the change, 0 in the control. Shorter and longer waits compare the 28 workloads of both timelines; other figures cover all work of a timeline.",
    );
  });

  it("says nothing of that where both have the same", () => {
    const shared = { workloads: 30, controlMeanMs: MINUTE_MS, changedMeanMs: MINUTE_MS };
    expect(replayView(played(timeline(30, MINUTE_MS), shared), 0).notes).toHaveLength(3);
  });
});
