import { expect, it } from "vitest";
import { loadConfig } from "../config/load.ts";
import { Pool } from "./pool.ts";
import type { Replica } from "./replica.ts";
import { addedCounters, RolloutSplit, type FollowedRollout } from "./rollout-split.ts";

const ids = ["a:1", "a:2", "b:1"];
const never = (): number => {
  throw new Error("a session decides");
};
const rollout = (weightMilli: number | null, canary: readonly string[] = ["b:1"]): FollowedRollout => ({
  number: 2,
  startedAtMs: 1,
  weightMilli,
  shadowMilli: null,
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

it("adds the pools of an endpoint, so that no counter goes back when another pool has more traffic", () => {
  const pools = [split(250), split(250)];
  const observe = (pool: RolloutSplit, count: number): void => {
    for (let index = 0; index < count; index++) {
      pool.ended("b:1", true);
      pool.observe({ replicaId: "b:1", firstTokenMs: 100, perTokenMs: 10, uncachedTokens: 1_000, busyCount: 1 });
    }
  };
  observe(pools[0]!, 25);
  observe(pools[1]!, 30);
  const earlier = new RolloutSplit({ ...rollout(250), startedAtMs: 0 });
  const added = addedCounters([earlier, ...pools].map((each) => each.counters()));
  expect(added).toMatchObject({ startedAtMs: 1, canary: { requests: 55, errors: 55 }, baseline: { requests: 0 } });
  expect(added?.canary.ttft.map(([stratum, count]) => [stratum, count])).toEqual([[19, 15]]);
  expect(addedCounters([])).toBeUndefined();
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

const poolOf = (): Pool => {
  const replicas = ids.map((id) => `"http://${id.replace(":", "1:800")}"`).join(", ");
  const loaded = loadConfig(
    `access: open\npools: [{ name: p, replicas: [${replicas}] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  if (!("config" in loaded)) throw new Error(loaded.problems.map(({ message }) => message).join());
  return new Pool(loaded.config.pools[0]!, 1);
};

it("tries a new replica every second while its breaker is open, so that its revision is judged", () => {
  const pool = poolOf();
  const [stable, canary] = [...pool.replicas.values()].slice(1);
  if (stable === undefined || canary === undefined) throw new Error("the pool has three replicas");
  pool.follow(rollout(500, [canary.id]));
  const trialsIn = ({ breaker }: Replica): number => {
    for (let failure = 0; failure < 5; failure++) breaker.failed(0);
    let trials = 0;
    for (let atMs = 0; atMs <= 60_000; atMs += 100) {
      if (!breaker.admits(atMs)) continue;
      breaker.started();
      breaker.failed(atMs);
      trials++;
    }
    return trials;
  };
  expect(trialsIn(canary)).toBe(60);
  expect(trialsIn(stable)).toBeLessThan(5);
});

it("counts a request as failed whose client gave up without a byte, of both revisions alike", () => {
  const pool = poolOf();
  const [stable, canary] = [...pool.replicas.values()].slice(1);
  if (stable === undefined || canary === undefined) throw new Error("the pool has three replicas");
  pool.abandoned(canary, 60_000, 60_000);
  pool.follow(rollout(500, [canary.id]));
  for (let at = 0; at < 10; at++)
    pool.latencies.observe({ endedAtMs: 60_000, firstTokenMs: 2_000, perTokenMs: 10, promptTokens: 100 });
  pool.abandoned(canary, 900, 60_000);
  pool.abandoned(canary, 1_900, 60_000);
  pool.abandoned(canary, 2_100, 60_000);
  pool.abandoned(stable, 2_100, 60_000);
  expect(pool.split?.counters()).toMatchObject({
    canary: { requests: 1, errors: 1 },
    baseline: { requests: 1, errors: 1 },
  });
});
