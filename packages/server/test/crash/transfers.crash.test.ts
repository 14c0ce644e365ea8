import { expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { killDuringTransfers } from "./byte-kills.ts";
import { baseSeed, writeReport } from "./crash-report.ts";

/** `HEADROOM_TRANSFER_KILLS=300` is the whole bar. */
const KILLS = Number(process.env["HEADROOM_TRANSFER_KILLS"] ?? 4);
const KILLS_PER_HOME = 50;
/** Each commit has kill points of its own. */
const { index } = sliceOf({ size: 100, suiteParts: 100 });

it(`${KILLS} SIGKILLs during uploads, downloads and drains lose nothing, and register nothing that is not there`, async () => {
  for (let home = 0; home * KILLS_PER_HOME < KILLS; home++) {
    const seed = baseSeed * 100_000 + index * 100 + home;
    const killCount = Math.min(KILLS_PER_HOME, KILLS - home * KILLS_PER_HOME);
    const report = await killDuringTransfers({ seed, killCount });
    writeReport(`crash-transfers-${home}`, { seed, ...report });
    expect(report.violations).toEqual([]);
    expect(report.registered).toBeGreaterThan(killCount);
  }
});
