import { presets } from "@headroom/model";
import type { WorkloadId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { topologyFreePool } from "../run/fleet-spec.ts";
import type { TraceJob } from "../trace/trace.ts";
import { mayBePassed, replayedArrivals } from "./arrivals.ts";
import { workHistory, type WorkHistory } from "./history.ts";
import { traceStarts } from "./trace-starts.ts";

const hour = 3_600_000;

function historyAt(
  nowMs: number,
  policy: string,
  rows: readonly (readonly [atMs: number, size: number])[],
): WorkHistory {
  const jobs = rows.map(([submittedAtMs, accelerators], index): TraceJob => ({
    id: `job-${index}`,
    submittedAtMs,
    durationMs: 2 * hour,
    accelerators,
    coresMilli: 0,
    memoryMib: 0,
    acceleratorTypes: [],
  }));
  const simulation = traceStarts({ jobs, fleet: topologyFreePool(4), policy: presets.get(policy)! });
  simulation.advance({ untilMs: nowMs, maxRounds: 10_000 });
  return workHistory(simulation.engine.state);
}

const waiting = ({ workloads }: WorkHistory): Set<WorkloadId> =>
  new Set(workloads.filter(({ phase }) => phase === "pending").map(({ id }) => id));

describe("whether later work may pass what waits", () => {
  // A state in which one workload runs and a large one waits. A small workload was submitted later and, depending on
  // the case, has started before the large one.
  const rows = [
    [0, 2],
    [1000, 4],
    [2000, 1],
  ] as const;

  it("is seen from the past: under skipping it may, where the head blocks it may not", () => {
    const passing = historyAt(hour, "fifo-skip", rows);
    const blocked = historyAt(hour, "fifo", rows);
    expect([waiting(passing).size, waiting(blocked).size]).toEqual([1, 2]);
    expect(mayBePassed(passing, waiting(passing))).toBe(true);
    expect(mayBePassed(blocked, waiting(blocked))).toBe(false);
  });

  it("is seen of tasks that wait while others of their array run", () => {
    const history = historyAt(hour, "fifo-skip", rows);
    const [first, ...others] = history.workloads;
    const array = { ...first!, spec: { ...first!.spec, kind: "batch" as const, taskCount: 9 } };
    const partly = { ...history, workloads: [array, ...others] };
    expect(mayBePassed(partly, new Set([first!.id]))).toBe(true);
    expect(mayBePassed({ ...history, workloads: [array] }, new Set([first!.id]))).toBe(false);
  });

  it("is no concern of work smaller than any that was ever passed", () => {
    const history = historyAt(hour, "fifo-skip", [...rows, [3000, 1], [4000, 1]]);
    const [small] = [...waiting(history)].slice(-1);
    expect(history.workloads.find(({ id }) => id === small)!.spec.gang.accelerators).toBe(1);
    expect(mayBePassed(history, new Set([small!]))).toBe(false);
  });
});

describe("arrivals", () => {
  const rows = Array.from({ length: 12 }, (_, index) => [index * 10 * hour, 1] as const);
  const nowMs = 115 * hour;
  const history = historyAt(nowMs, "fifo", rows);

  it("are the past's from somewhere on, in order, with its pauses, as often as the past had them", () => {
    for (const seed of [1, 2, 3, 4]) {
      const arrivals = [...replayedArrivals(history, { nowMs, seed })].slice(0, 48);
      expect(arrivals[0]!.atMs).toBeGreaterThanOrEqual(nowMs);
      for (const [index, { atMs, record }] of arrivals.entries()) {
        const next = arrivals[index + 1];
        if (next === undefined) continue;
        expect(next.record).toBe((record + 1) % rows.length);
        expect(next.atMs - atMs).toBe(next.record === 0 ? 5 * hour + 1 : 10 * hour);
      }
    }
  });

  it("begin elsewhere with another seed", () => {
    const firsts = Array.from({ length: 40 }, (_, seed) => replayedArrivals(history, { nowMs, seed }).next().value);
    expect(new Set(firsts.map((first) => first?.record)).size).toBeGreaterThan(6);
  });

  it("do not take the rate of the first hour for that of a week", () => {
    const young = historyAt(hour, "fifo", [
      [0, 1],
      [1000, 1],
    ]);
    const [first, , third] = replayedArrivals(young, { nowMs: hour, seed: 1 });
    expect(third!.atMs - first!.atMs).toBeGreaterThan(20 * hour);
  });
});
