import { nodeId, teamName } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { calendarList, windowUseSentence } from "./calendar-view.ts";
import { fromDueSentence, scheduleList } from "./schedule-view.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe("the calendar", () => {
  it("says who is drained for a window and when, and how much of a reservation its holder uses", () => {
    const fleet = SmallFleet.withNodes(3, 4);
    fleet.nowMs = HOUR_MS;
    fleet.team("lab", null);
    fleet.submit("short", { gang: { accelerators: 4 }, walltimeMs: HOUR_MS });
    fleet.submit("long", { gang: { accelerators: 3 }, graceTimeoutMs: 5 * MINUTE_MS });
    const own = fleet.submit("own", { gang: { accelerators: 4 }, team: "lab" });
    const nodeOf = (id: string): string => {
      const attempt = [...fleet.engine.state.attempts.values()].find(({ workloadId }) => workloadId === id);
      return attempt?.workers[0]?.node ?? "";
    };
    for (const attemptId of fleet.engine.state.attempts.keys()) fleet.receive({ kind: "attemptRunning", attemptId });
    const window = { startMs: 4 * HOUR_MS, endMs: 5 * HOUR_MS };
    fleet.apply({
      calendar: [
        { kind: "maintenance", name: "repair", nodes: ["n0", "n1", "n2"].map(nodeId), ...window },
        {
          kind: "reservation",
          name: "kept",
          team: teamName("lab"),
          nodes: [nodeId(nodeOf(own))],
          startMs: 2 * HOUR_MS,
          endMs: 3 * HOUR_MS,
        },
      ],
    });
    const [kept, repair] = calendarList(fleet.engine).items;
    if (kept === undefined || repair === undefined) throw new Error("not there");
    expect(kept.use).toEqual({
      nodeCount: 1,
      acceleratorCount: 4,
      heldFor: 4,
      drained: [],
      drainedCount: 0,
      completionCount: 0,
    });
    expect(windowUseSentence(kept)).toBe(
      "Its work holds 4 of 4 accelerators. No work on its 1 node is stopped for it.",
    );
    expect(repair.use).toMatchObject({
      nodeCount: 3,
      acceleratorCount: 12,
      heldFor: 0,
      drainedCount: 2,
      completionCount: 1,
    });
    const drained = repair.use?.drained.map(({ name, team, accelerators, askedAtMs, isStopping }) => [
      name,
      team,
      accelerators,
      askedAtMs,
      isStopping,
    ]);
    expect(drained).toEqual([
      ["long", "default", 3, 4 * HOUR_MS - 5 * MINUTE_MS, false],
      ["own", "lab", 4, 4 * HOUR_MS - 1_000, false],
    ]);
    expect(windowUseSentence(repair)).toBe(
      "2 attempts on its 3 nodes are stopped for it: long, own. 1 attempt ends before it, by walltime.",
    );
    // The engine must agree with the view: it stops `long` then, and not earlier.
    const asked = (): readonly string[] =>
      [...fleet.engine.state.attempts.values()].filter(({ stop }) => stop !== null).map(({ workloadId }) => workloadId);
    fleet.nowMs = 4 * HOUR_MS - 5 * MINUTE_MS - 1;
    fleet.receive({ kind: "tick" });
    expect(asked()).not.toContain("w2");
    fleet.nowMs += 1;
    fleet.receive({ kind: "tick" });
    expect(asked()).toContain("w2");
    expect(calendarList(fleet.engine).items[0]?.use?.drained).toContainEqual(
      expect.objectContaining({ name: "long", isStopping: true, askedAtMs: fleet.nowMs }),
    );
  });

  it("shows a tariff without anybody's use", () => {
    const fleet = SmallFleet.withNodes(1, 1);
    const when = { kind: "once", startMs: HOUR_MS, endMs: 2 * HOUR_MS } as const;
    fleet.apply({ calendar: [{ kind: "tariff", name: "dear", when, microUsdPerKwh: 100_000 }] });
    const [tariff] = calendarList(fleet.engine).items;
    expect(tariff?.use).toBeUndefined();
    expect(tariff === undefined ? "" : windowUseSentence(tariff)).toBe("");
  });
});

describe("schedules", () => {
  it.each([
    [{}, null],
    [{ deadlineMs: 8 * HOUR_MS }, "After the due time: due within 8 h."],
    [
      { notBeforeMs: HOUR_MS, latestStartMs: 5 * HOUR_MS },
      "After the due time: not started before 1 h, started at the latest after 5 h.",
    ],
  ])("say what counts from when they were due: %j", (fromDue, sentence) => {
    expect(fromDueSentence(fromDue)).toBe(sentence);
  });

  it("say when they are due next and what came of the last times, the newest first", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const every = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
    const times = {
      minutes: [0],
      hours: every(24),
      daysOfMonth: every(31).map((day) => day + 1),
      months: every(12).map((month) => month + 1),
      daysOfWeek: every(7),
    };
    const id = fleet.submit("pattern");
    const spec = fleet.engine.state.workloads.get(id)?.spec;
    if (spec === undefined) throw new Error("not there");
    fleet.stop(id);
    fleet.nowMs = HOUR_MS + 1;
    fleet.apply({ schedules: [{ name: "hourly", times, spec, concurrency: "forbid" }] });
    const shown = () => {
      const [item] = scheduleList(fleet.engine).items;
      if (item === undefined) throw new Error("not there");
      return { ...item, runs: item.runs.map(({ dueAtMs, phase, left }) => [dueAtMs / HOUR_MS, phase ?? left]) };
    };
    expect(shown()).toMatchObject({ nextAtsMs: [2, 3, 4, 5, 6].map((hour) => hour * HOUR_MS), runs: [] });
    for (const hour of [2, 3]) {
      fleet.nowMs = hour * HOUR_MS;
      fleet.receive({ kind: "tick" });
    }
    const { runs, nextAtMs, lastWorkloadId } = shown();
    expect(runs).toEqual([
      [3, "the last run has not ended"],
      [2, "running"],
    ]);
    expect(nextAtMs).toBe(4 * HOUR_MS);
    if (lastWorkloadId === undefined) throw new Error("nothing was submitted");
    fleet.finish(fleet.engine.state.workloads.get(lastWorkloadId as typeof id)?.id ?? id, 0);
    for (let hour = 4; hour <= 12; hour++) {
      fleet.nowMs = hour * HOUR_MS;
      fleet.receive({ kind: "tick" });
    }
    expect(shown().runs.map(([hour]) => hour)).toEqual([12, 11, 10, 9, 8, 7, 6]);
  });
});
