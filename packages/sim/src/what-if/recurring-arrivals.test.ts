import { teamName, workloadId } from "@headroom/model";
import type { Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { recurringArrivals } from "./recurring-arrivals.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = 1_000 * HOUR_MS;

/** A state with submissions so many hours ago. */
function stateWith(hoursAgo: readonly number[], changes: object = {}, more: object = {}): ReadonlyState {
  const workloads = hoursAgo.map((hours, index) => {
    const spec = { name: `w${index}`, team: teamName("lab"), kind: "batch", taskCount: 1, ...changes };
    const submittedAtMs = NOW_MS - hours * HOUR_MS;
    const id = workloadId(`w${index}`);
    return [id, { id, ordinal: index, spec, actor: "ann", submittedAtMs, phase: "succeeded", endedAtMs: NOW_MS }];
  });
  const state = { workloads: new Map(workloads as [string, Workload][]), schedules: new Map(), endedCount: 0, ...more };
  return state as unknown as ReadonlyState;
}

const hoursAhead = (state: ReadonlyState, horizonHours: number): readonly number[] =>
  recurringArrivals(state, { nowMs: NOW_MS, horizonMs: horizonHours * HOUR_MS }).arrivals.map(
    ({ atMs }) => Math.round((100 * (atMs - NOW_MS)) / HOUR_MS) / 100,
  );

describe("submissions that recur", () => {
  it("come at the same time of day, from as many days as the horizon has", () => {
    expect(hoursAhead(stateWith([200, 30, 20, 1]), 12)).toEqual([4]);
    expect(hoursAhead(stateWith([200, 30, 20, 1]), 30)).toEqual([18, 28]);
    expect(hoursAhead(stateWith([30, 20, 1]), 48)).toEqual([4, 23, 28, 47]);
  });

  it("come after the length of a shorter record, which counts as one hour at least", () => {
    expect(hoursAhead(stateWith([5, 2]), 12)).toEqual([0, 3, 5, 8, 10]);
    expect(hoursAhead(stateWith([0.5]), 3)).toEqual([0.5, 1.5, 2.5]);
    expect(hoursAhead(stateWith([]), 12)).toEqual([]);
  });

  it("leave out what schedules submit, what was withdrawn, dependencies and holds, and move times", () => {
    const schedule = { schedule: { spec: { name: "w0", team: "lab" } }, actor: "ann" };
    const times = {
      notBeforeMs: NOW_MS,
      deadlineMs: NOW_MS + 5,
      startWindow: { cheapestMs: 3, latestStartMs: NOW_MS },
    };
    const changes = { after: [{ workload: "w9", on: "ok" }], hold: true, ...times };
    const state = stateWith([4, 2], changes, { schedules: new Map([["nightly", schedule]]) });
    const { arrivals } = recurringArrivals(state, { nowMs: NOW_MS, horizonMs: 2 * HOUR_MS });
    const shiftMs = 2 * HOUR_MS + 1;
    expect(arrivals.map(({ spec }) => spec)).toEqual([
      {
        name: "w1",
        team: "lab",
        kind: "batch",
        taskCount: 1,
        notBeforeMs: NOW_MS + shiftMs,
        deadlineMs: NOW_MS + 5 + shiftMs,
        startWindow: { cheapestMs: 3, latestStartMs: NOW_MS + shiftMs },
      },
    ]);
  });

  it("are bounded by their number and by their tasks, and the answer says until when they recur", () => {
    const often = Array.from({ length: 2_000 }, (_, index) => 1 - index / 2_000);
    const span = { nowMs: NOW_MS, horizonMs: 12 * HOUR_MS };
    const bounded = recurringArrivals(stateWith(often), span);
    expect(bounded.arrivals).toHaveLength(5_000);
    expect((bounded.untilMs - NOW_MS) / HOUR_MS).toBeCloseTo(2.5);
    const wide = recurringArrivals(stateWith([1], { taskCount: 9_000 }), span);
    expect(wide.arrivals).toHaveLength(2);
    expect((wide.untilMs - NOW_MS) / HOUR_MS).toBeCloseTo(2);
  });

  it("come only from the time of which every submission is kept", () => {
    const state = stateWith([30, 3, 1], {}, { endedCount: 10_001 });
    const oldest = [...state.workloads.values()][1] as { endedAtMs: number };
    oldest.endedAtMs = NOW_MS - 2 * HOUR_MS;
    expect(hoursAhead(state, 4)).toEqual([1, 3]);
  });
});
