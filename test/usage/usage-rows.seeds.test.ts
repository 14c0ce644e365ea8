/** Usage rows of random worlds, against an independent count of held time. `HEADROOM_SEED=7` runs one seed. */
import { describe, expect, it } from "vitest";
import { readEvents } from "../../packages/engine/src/index.ts";
import { runSeed } from "../../packages/sim/test/seeds/run-seed.ts";
import { clipRow, isWithin, milliMsOf, UsageFold } from "../../packages/usage/src/index.ts";
import type { UsageRow } from "../../packages/usage/src/index.ts";
import { causeDifference } from "../../packages/usage/src/testing/cause-check.ts";
import { recountHeld } from "../../packages/usage/src/testing/held-recount.ts";

const first = Number(process.env["HEADROOM_SEED"] ?? 1);
const count = process.env["HEADROOM_SEED"] === undefined ? Number(process.env["HEADROOM_USAGE_SEEDS"] ?? 15) : 1;
const CUTS = 100;

const sum = (rows: readonly UsageRow[]): number => rows.reduce((total, row) => total + milliMsOf(row), 0);

describe("usage rows of random worlds", () => {
  it.each(Array.from({ length: count }, (_, index) => first + index))("seed %d", (seed) => {
    const { groups } = runSeed({ seed, restarts: "none" });
    const { byTeam, capacity, endMs, engine } = recountHeld(groups);
    const fold = new UsageFold();
    const rows = groups.flatMap(({ text }) => fold.fold(readEvents(text)));
    rows.push(...fold.openRows(endMs));
    expect(new Map([...byTeam.keys()].map((team) => [team, sum(rows.filter((row) => row.team === team))]))).toEqual(
      byTeam,
    );
    expect(sum(rows)).toBe(capacity);
    expect(causeDifference(rows, { seed, endMs, byTeam })).toBeNull();
    for (const [team, { days = [] }] of engine.state.accounts) {
      const within = rows.filter((row) => row.team !== "" && isWithin(row.team, team, fold.parents));
      // The counts by day are closed, and do not depend on when the budget was declared or renewed.
      for (const { fromMs, milliMs } of days.slice(1, -1)) {
        const counted = sum(within.flatMap((row) => clipRow(row, fromMs, fromMs + 86_400_000) ?? []));
        expect([team, fromMs, counted]).toEqual([team, fromMs, milliMs]);
      }
    }
    const every = Math.max(1, Math.floor(groups.length / CUTS));
    let cut = new UsageFold();
    const again = groups.flatMap(({ text }, index) => {
      if (index % every === 0) cut = new UsageFold(cut.snapshot());
      return cut.fold(readEvents(text));
    });
    expect([...again, ...cut.openRows(endMs)]).toEqual(rows);
  });
});
