import { expect, it } from "vitest";
import { baseSeed, writeReport } from "./crash-report.ts";
import { killDuringDrains } from "./drain-kills.ts";

/** Half a minute. `HEADROOM_DRAIN_KILLS=300` is the whole bar, in about 10 minutes. */
const KILLS = Number(process.env["HEADROOM_DRAIN_KILLS"] ?? 8);

it(`${KILLS} SIGKILLs during drains of checkpoints register nothing whose bytes are not in the store`, async () => {
  const report = await killDuringDrains({ seed: baseSeed, killCount: KILLS });
  writeReport("crash-drains", { ...report });
  expect(report.violations).toEqual([]);
  expect(report.registered).toBeGreaterThan(0);
  // Work was killed, and went on from a checkpoint.
  if (KILLS >= 8) expect(report.resumes).toBeGreaterThan(0);
});
