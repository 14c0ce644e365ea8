import { describe, expect, it } from "vitest";
import { interruptionOutcome, startsEarlier } from "./what-if-figures.ts";
import { whatIfView } from "./what-if-view.ts";
import type { WhatIfPlayer } from "./what-if-view.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const HOUR_MS = 3_600_000;
type Played = ReturnType<WhatIfPlayer>;
type Timeline = Played["present"];

const change = { loseNodes: ["n0"], addNodes: [], teams: [], policy: null };

const timeline = (held: number, interruptions: Timeline["interruptions"] = new Map()): Timeline => ({
  samples: [
    {
      atMs: 0,
      heldAccelerators: held,
      usableAccelerators: 8,
      waitingWorkloads: 0,
      waitingTasks: 0,
      waitingAccelerators: 0,
      startedWorkloads: 0,
      startedTasks: 0,
      heldByTeam: {},
    },
  ],
  starts: new Map(),
  interruptions,
  arrived: { count: 0, startedCount: 0, meanWaitMs: 0 },
  evictions: 0,
  refusals: [],
});

describe("the next hours in words", () => {
  it("says parts of accelerators as the tables do, and what of the running work is interrupted", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    const workloadId = fleet.submit("runs");
    const shown = { taskCount: 1, atMs: 1000, againAtMs: HOUR_MS, lostAcceleratorMs: 5000 };
    const interruption = { ...shown, againOn: [] };
    const changed = timeline(0.4, new Map([[workloadId, interruption]]));
    const play = (present: Timeline): WhatIfPlayer => {
      const played = {
        arrivals: null,
        present,
        changed,
        moved: [],
        interrupted: [{ workloadId, present: null, changed: interruption }],
      };
      return () => played;
    };
    const present = { engine: fleet.engine, sequence: 1, nowMs: 0 };
    const answer = whatIfView(present, { change, horizonMs: HOUR_MS, arrivals: "none" }, play(timeline(0.2)));
    expect(answer.sentence).toBe(
      "In the next 1 h, without further submissions: 0 waiting workloads would start earlier and 0 later; 0.2 accelerators in use on average without the change, 0.4 with it; 0 running workloads interrupted without the change, 1 with it; 0 evictions without the change, 0 with it.",
    );
    expect(answer.interrupted).toEqual([{ workloadId, name: "runs", team: "default", present: null, changed: shown }]);
    expect(answer.changed).toMatchObject({ interruptions: 1, lostAcceleratorMs: 5000 });
    const one = whatIfView(present, { change, horizonMs: HOUR_MS, arrivals: "none" }, play(timeline(1)));
    expect(one.sentence).toContain("; 1 accelerator in use on average");
  });

  it("states the submissions that recur, and how long they wait", () => {
    const { engine } = SmallFleet.withNodes(1, 8);
    const DAY_MS = 24 * HOUR_MS;
    const recurring = { recordedFromMs: 0, recordedCount: 40, arrivals: [], untilMs: DAY_MS + HOUR_MS };
    const arrived = (meanWaitMs: number) => ({ ...timeline(1), arrived: { count: 2, startedCount: 2, meanWaitMs } });
    const played = { present: arrived(720_000), changed: arrived(0), moved: [], interrupted: [] };
    const answered = (arrivals: Played["arrivals"]) =>
      whatIfView({ engine, sequence: 1, nowMs: DAY_MS }, { change, horizonMs: HOUR_MS, arrivals: "recorded" }, () => ({
        ...played,
        arrivals,
      }));
    const { sentence, arrivals } = answered(recurring);
    expect(sentence).toContain("In the next 1 h, if the 40 submissions of the last 1 d recur (0 in this time): ");
    expect(sentence).toContain("submissions wait 12 min on average without the change, 0 s with it; ");
    expect(arrivals).toEqual({ recordedFromMs: 0, recordedCount: 40, recurringCount: 0, untilMs: DAY_MS + HOUR_MS });
    expect(answered({ ...recurring, untilMs: DAY_MS + 60_000 }).sentence).toContain(
      "recur (0 in the first 1 min, which is the maximum): ",
    );
    expect(answered({ ...recurring, recordedCount: 0 }).sentence).toContain(
      "without further submissions, as the last 1 d had none: ",
    );
  });

  it("tells starts by the first task of an array, and by its last where the first is the same", () => {
    const starts = (first: [number | null, number | null], last: [number | null, number | null]) =>
      startsEarlier({
        presentAtMs: first[0],
        changedAtMs: first[1],
        presentLastAtMs: last[0],
        changedLastAtMs: last[1],
      });
    expect(starts([5, 3], [null, null])).toBe(true);
    expect(starts([5, null], [null, null])).toBe(false);
    expect(starts([5, 5], [null, 9])).toBe(true);
    expect(starts([null, null], [9, null])).toBe(false);
  });

  it("tells what becomes of running work", () => {
    const at = (againAtMs: number | null) => ({ taskCount: 1, atMs: 0, againAtMs, lostAcceleratorMs: 0 });
    expect(interruptionOutcome({ present: null, changed: at(5) })).toBe("interrupted");
    expect(interruptionOutcome({ present: at(5), changed: null })).toBe("spared");
    expect(interruptionOutcome({ present: at(5), changed: at(4) })).toBe("earlier");
    expect(interruptionOutcome({ present: at(5), changed: at(null) })).toBe("later");
  });
});
