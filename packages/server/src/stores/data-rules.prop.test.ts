/** Bytes of data rules in random worlds: none lies at, or is read by work on, a place that does not admit its rule. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { playRuleWorld } from "./testing/rule-world.ts";

/** About half of the counts of the whole sample: of 190 worlds, 21 starts name a directory and 64 are on a cluster. */
const least = {
  started: 350,
  refusedStarts: 500,
  uploads: 80,
  drains: 90,
  ruled: 1_200,
  clusterStarts: 30,
  namedStarts: 10,
  mlflowUploads: 75,
  mlflowRefusals: 100,
  mlflowLinks: 50,
  mlflowWithheld: 20,
};
const counted = Object.keys(least) as (keyof typeof least)[];

it("keeps bytes with data rules at their places by every route", async () => {
  const slice = sliceOf({ size: 190 });
  const leaked: string[] = [];
  const sum = Object.fromEntries(counted.map((key) => [key, 0])) as Record<keyof typeof least, number>;
  for (const seed of slice.seeds) {
    const dir = mkdtempSync(path.join(tmpdir(), "headroom-rules-"));
    try {
      const { leaks, ...counts } = await playRuleWorld(seed, dir);
      leaked.push(...leaks.map((leak) => `seed ${seed}: ${leak}`));
      for (const key of counted) sum[key] += counts[key];
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
  expect(leaked).toEqual([]);
  for (const key of counted) expect(sum[key], key).toBeGreaterThan(slice.least(least[key]));
});
