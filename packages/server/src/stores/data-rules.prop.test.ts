/** Bytes of data rules in random worlds: none lies at, or is read by work on, a place that does not admit its rule. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { playRuleWorld } from "./testing/rule-world.ts";

it("keeps bytes with data rules at their places by every route", async () => {
  const { seeds, least } = sliceOf({ size: 190 });
  const sum = { started: 0, refusedStarts: 0, uploads: 0, drains: 0, ruled: 0, leaks: [] as string[] };
  for (const seed of seeds) {
    const dir = mkdtempSync(path.join(tmpdir(), "headroom-rules-"));
    try {
      const { leaks, ...counts } = await playRuleWorld(seed, dir);
      sum.leaks.push(...leaks.map((leak) => `seed ${seed}: ${leak}`));
      for (const key of ["started", "refusedStarts", "uploads", "drains", "ruled"] as const) sum[key] += counts[key];
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
  expect(sum.leaks).toEqual([]);
  for (const key of ["started", "refusedStarts", "uploads", "drains", "ruled"] as const)
    expect(sum[key], key).toBeGreaterThan(least(50));
});
