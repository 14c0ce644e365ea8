import { expect, it } from "vitest";
import { RolloutSplit, type FollowedRollout } from "./rollout-split.ts";

const ids = ["a:1", "a:2", "b:1"];
const never = (): number => {
  throw new Error("a session decides");
};
const rollout = (weightMilli: number | null, canary: readonly string[] = ["b:1"]): FollowedRollout => ({
  number: 2,
  startedAtMs: 1,
  weightMilli,
  canary: new Set(canary),
});
function split(weightMilli: number | null): RolloutSplit {
  const made = new RolloutSplit(rollout(weightMilli));
  made.follow(rollout(weightMilli), ids);
  return made;
}

it("gives the new revision its share, and moves sessions to it only", () => {
  const shareAt = (weightMilli: number): readonly number[] =>
    Array.from({ length: 1_000 }, (_, session) => session * 7_919).filter((hash) =>
      split(weightMilli).excluded(ids, hash, never).includes("a:1"),
    );
  const [few, many] = [shareAt(50), shareAt(250)];
  expect(few).toHaveLength(50);
  expect(many).toHaveLength(250);
  expect(many).toEqual(expect.arrayContaining([...few]));
  expect(split(0).excluded(ids, 5, never)).toEqual(["b:1"]);
  expect(split(1000).excluded(ids, 5, never)).toEqual(["a:1", "a:2"]);
  expect(split(null).excluded(ids, 5, never)).toEqual([]);
  expect(split(500).excluded(ids, undefined, () => 4_000_000_499)).toEqual(["a:1", "a:2"]);
});

it("counts both revisions, and leaves latencies of a replica's first streams out", () => {
  const own = split(250);
  for (let index = 0; index < 25; index++) {
    own.ended("a:1", index === 3);
    own.ended("b:1", false);
    own.observe({ replicaId: "b:1", firstTokenMs: 100, perTokenMs: Number.NaN, uncachedTokens: 1_000, busyCount: 1 });
    own.observe({ replicaId: "a:1", firstTokenMs: 50, perTokenMs: 10, uncachedTokens: 0, busyCount: 4 });
  }
  const { canary, baseline } = own.counters();
  expect(baseline).toMatchObject({ requests: 25, errors: 1 });
  expect(canary).toMatchObject({ requests: 25, errors: 0, tpot: [] });
  expect(canary.ttft).toEqual([[19, 5, expect.closeTo(5 * Math.log(100)), expect.closeTo(5 * Math.log(100) ** 2)]]);
  expect(baseline.ttft.map(([stratum, count]) => [stratum, count])).toEqual([[0, 5]]);
  expect(baseline.tpot.map(([stratum, count]) => [stratum, count])).toEqual([[2, 5]]);
});

it("counts the last requests of a new replica that left the list, until its address is another's", () => {
  const own = split(250);
  own.follow(rollout(0, []), ["a:1", "a:2"]);
  own.ended("b:1", true);
  expect(own.counters()).toMatchObject({ canary: { errors: 1 }, baseline: { requests: 0 } });
  own.follow(rollout(0, []), ["a:1", "b:1"]);
  own.ended("b:1", true);
  expect(own.counters()).toMatchObject({ canary: { errors: 1 }, baseline: { errors: 1 } });
});

it("is of one rollout, also when the next one has the same number", () => {
  expect(split(250).isOf(rollout(500))).toBe(true);
  expect(split(250).isOf({ ...rollout(250), startedAtMs: 2 })).toBe(false);
});
