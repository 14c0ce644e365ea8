/** Compares hours by cause with an independent count of held time, with drawn shares of steps for most attempts. */
import { draw } from "@headroom/model";
import { CauseTotals, HOUR_CAUSES, type UsedShares } from "../report/cause-hours.ts";
import type { UsageRow } from "../rows/row.ts";

interface Held {
  readonly seed: number;
  readonly endMs: number;
  /** Thousandths of accelerator-milliseconds. */
  readonly byTeam: ReadonlyMap<string, number>;
}

/** The first team whose causes do not add up to its held time; `null`: there is none. */
export function causeDifference(rows: readonly UsageRow[], { seed, endMs, byTeam }: Held): string | null {
  const totals = new CauseTotals({ fromMs: 0, toMs: endMs + 1 }, "team");
  for (const row of rows) totals.add(row);
  const { items } = totals.hours((attemptId) => drawnShares(seed, attemptId));
  const byGroup = new Map(items.map(({ group, causes }) => [group, causes]));
  for (const team of new Set([...byTeam.keys(), ...byGroup.keys()])) {
    const causes = byGroup.get(team);
    const sum = HOUR_CAUSES.reduce((all, cause) => all + (causes?.[cause] ?? 0n), 0n);
    const isNegative = causes !== undefined && HOUR_CAUSES.some((cause) => causes[cause] < 0n);
    const held = BigInt(byTeam.get(team) ?? 0);
    if (sum !== held || isNegative)
      return `${team}: causes ${sum}, held ${held}${isNegative ? ", one is negative" : ""}`;
  }
  return null;
}

/** Shares of 0 to a half each, so that some sums are above 1 and some below. One attempt in five has none. */
function drawnShares(seed: number, attemptId: string): UsedShares | null {
  if (draw(seed, 0, attemptId) % 5 === 0) return null;
  const share = (part: string): number => draw(seed, 0, `${part} ${attemptId}`) / 2 ** 33;
  return { compute: share("compute"), communication: share("communication"), io: share("io"), idle: share("idle") };
}
