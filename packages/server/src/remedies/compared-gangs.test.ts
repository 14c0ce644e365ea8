import { describe, expect, it } from "vitest";
import type { ReadonlyState } from "@headroom/engine";
import type { WatchedAttempt } from "@headroom/health";
import { attemptId, nodeId, workloadId } from "@headroom/model";
import type { Attempt } from "@headroom/model";
import { NewestReports } from "@headroom/views";
import type { NewestReport } from "@headroom/views";
import { comparedGangs } from "./fleet-findings.ts";
import { RankComparisons } from "../driver/rank-comparisons.ts";

const id = attemptId("w1.1");

/** A gang whose ranks are on these nodes; `null`: the rank is missing. */
function gangOn(nodes: readonly (string | null)[]): Attempt {
  const workers = nodes.flatMap((node) => (node === null ? [] : [{ node: nodeId(node), accelerators: "0" }]));
  const missing = nodes.flatMap((node, rank) => (node === null ? [rank] : []));
  return { id, workloadId: workloadId("w1"), workers, missing } as unknown as Attempt;
}

/** Times of all ranks of some steps, in which one rank is slower than the others. */
const timesOf = (steps: readonly number[], ranks: number, slowRank: number): [number, number, number][] =>
  steps.flatMap((step) =>
    Array.from({ length: ranks }, (_, rank): [number, number, number] => [
      step,
      rank,
      (rank === slowRank && step >= 10 ? 1.4 : 1) + ((step + rank) % 3) / 1_000,
    ]),
  );
const stepsFrom = (from: number): readonly number[] => Array.from({ length: 30 }, (_, index) => from + index);

/** Comparisons, and the slow ranks that the findings see for the present nodes. */
function compared() {
  let comparisons = new RankComparisons(0);
  const newest = new NewestReports();
  let report: NewestReport | undefined;
  const state = (attempt: Attempt): ReadonlyState =>
    ({ attempts: new Map([[id, attempt]]) }) as unknown as ReadonlyState;
  const take = (attempt: Attempt, times: readonly [number, number, number][], atMs: number): boolean => {
    const sample = comparisons.take(attempt, times, atMs);
    if (sample !== null) report = newest.record(id, sample, state(attempt));
    return sample !== null;
  };
  const watched = [{ attemptId: id, workloadId: "w1", name: "llm", team: "t" }] as unknown as readonly WatchedAttempt[];
  const slow = (attempt: Attempt) =>
    comparedGangs(state(attempt), watched, () => report).flatMap(({ ranks }) =>
      ranks.map(({ rank, nodeId: node, sinceMs }) => ({ rank, node, sinceMs })),
    );
  const restart = (atMs: number) => void (comparisons = new RankComparisons(atMs));
  return { comparisons, take, slow, restart };
}

describe("slow ranks of a gang", () => {
  it("are named with the node on which they were compared, and only while they are there", () => {
    const { take, slow } = compared();
    const whole = gangOn(["n0", "n1", "n2", "n3", "n4", "n5"]);
    expect(take(whole, timesOf(stepsFrom(0), 6, 3), 1_000)).toBe(true);
    expect(slow(whole)).toEqual([{ rank: 3, node: "n3", sinceMs: 1_000 }]);

    // The node of the slow rank is lost, and a hot spare takes the rank: neither its neighbour nor the spare is slow.
    const degraded = gangOn(["n0", "n1", "n2", null, "n4", "n5"]);
    expect(slow(degraded)).toEqual([]);
    const replaced = gangOn(["n0", "n1", "n2", "n9", "n4", "n5"]);
    expect(slow(replaced)).toEqual([]);

    // Steps of the new nodes are compared from the start.
    expect(take(replaced, timesOf(stepsFrom(30), 6, 5), 2_000)).toBe(true);
    expect(slow(replaced)).toEqual([{ rank: 5, node: "n5", sinceMs: 2_000 }]);
  });

  it("keep the time at which they were named while a new process compares the first steps", () => {
    const { take, slow, restart } = compared();
    const gang = { ...gangOn(["n0", "n1", "n2", "n3"]), startedAtMs: 500 };
    take(gang, timesOf(stepsFrom(0), 4, 3), 1_000);
    restart(2_000);
    expect(take(gang, timesOf([30], 4, 3), 3_000)).toBe(false);
    expect(take(gang, timesOf(stepsFrom(31), 4, 3), 4_000)).toBe(true);
    expect(slow(gang)).toEqual([{ rank: 3, node: "n3", sinceMs: 1_000 }]);
    // One that is no longer slow.
    restart(5_000);
    for (const step of stepsFrom(70)) take(gang, timesOf([step], 4, -1), 6_000);
    expect(slow(gang)).toEqual([]);
  });

  it("keep their node if another rank is missing", () => {
    const { take, slow } = compared();
    const degraded = gangOn(["n0", null, "n2", "n3", "n4", "n5"]);
    take(degraded, timesOf(stepsFrom(0), 6, 5), 1_000);
    expect(slow(degraded)).toEqual([{ rank: 5, node: "n5", sinceMs: 1_000 }]);
  });

  it("are recorded again only if further steps were compared", () => {
    const { take } = compared();
    const gang = gangOn(["n0", "n1", "n2", "n3"]);
    expect(take(gang, timesOf(stepsFrom(0), 4, 3), 1_000)).toBe(true);
    expect(take(gang, [[29, 1, 1]], 600_000)).toBe(false);
    expect(take(gang, timesOf([30], 4, 3), 600_000)).toBe(true);
  });

  it("are forgotten with their attempt", () => {
    const { comparisons, take } = compared();
    take(gangOn(["n0", "n1"]), [[1, 0, 1]], 0);
    comparisons.sweep(() => true);
    expect(comparisons.size).toBe(1);
    comparisons.sweep(() => false);
    expect(comparisons.size).toBe(0);
  });
});
