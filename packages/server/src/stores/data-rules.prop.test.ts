/** Bytes of data rules in random worlds: none lies at, or is read by work on, a place that does not admit its rule. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { playRuleWorld } from "./testing/rule-world.ts";

const COUNTED = [
  "started",
  "refusedStarts",
  "uploads",
  "drains",
  "ruled",
  "clusterStarts",
  "namedStarts",
  "mlflowUploads",
  "mlflowRefusals",
] as const;

it("keeps bytes with data rules at their places by every route", async () => {
  const { seeds, least } = sliceOf({ size: 190 });
  const leaked: string[] = [];
  const sum = Object.fromEntries(COUNTED.map((key) => [key, 0])) as Record<(typeof COUNTED)[number], number>;
  for (const seed of seeds) {
    const dir = mkdtempSync(path.join(tmpdir(), "headroom-rules-"));
    try {
      const { leaks, ...counts } = await playRuleWorld(seed, dir);
      leaked.push(...leaks.map((leak) => `seed ${seed}: ${leak}`));
      for (const key of COUNTED) sum[key] += counts[key];
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
  expect(leaked).toEqual([]);
  for (const key of COUNTED) expect(sum[key], key).toBeGreaterThan(least(50));
});
