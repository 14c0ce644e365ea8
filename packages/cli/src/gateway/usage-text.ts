/** Text of `headroom gateway usage`: totals by team, key and model. */
import type { UsageTotal } from "@headroom/gateway";
import { tableLines, type Column } from "../output/table.ts";
import type { CommandContext } from "../command.ts";

const columns: readonly Column[] = [
  { title: "TEAM", minWidth: 6 },
  { title: "KEY", minWidth: 6 },
  { title: "MODEL", minWidth: 6 },
  { title: "REQUESTS", align: "right" },
  { title: "ABORTED", align: "right" },
  { title: "FAILED", align: "right" },
  { title: "PROMPT", align: "right" },
  { title: "CACHED", align: "right" },
  { title: "OUTPUT", align: "right" },
  { title: "USD", align: "right" },
];

export interface UsageSum extends Omit<UsageTotal, "day"> {
  /** Sum in USD, exact to the nano-dollar. */
  readonly usd: string;
}

/** Sums over all days, in the order of team, key and model. */
export function sumsOf(totals: readonly UsageTotal[]): readonly UsageSum[] {
  const sums = new Map<string, Omit<UsageTotal, "day">>();
  for (const { day: _, ...total } of totals) {
    const at = JSON.stringify([total.team, total.key, total.model]);
    const sum = sums.get(at);
    if (sum === undefined) sums.set(at, total);
    else {
      sums.set(at, {
        ...total,
        requests: sum.requests + total.requests,
        aborted: sum.aborted + total.aborted,
        failed: sum.failed + total.failed,
        promptTokens: sum.promptTokens + total.promptTokens,
        completionTokens: sum.completionTokens + total.completionTokens,
        cachedTokens: sum.cachedTokens + total.cachedTokens,
        nanoUsd: sum.nanoUsd + total.nanoUsd,
      });
    }
  }
  return [...sums]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, sum]) => Object.assign({}, sum, { usd: usdOf(sum.nanoUsd) }));
}

export function usageLines(sums: readonly UsageSum[], { terminal, paint }: CommandContext): readonly string[] {
  const rows = sums.map((sum) => [
    sum.team === "" ? "-" : sum.team,
    sum.key === "" ? "-" : sum.key,
    sum.model,
    String(sum.requests),
    String(sum.aborted),
    String(sum.failed),
    String(sum.promptTokens),
    String(sum.cachedTokens),
    String(sum.completionTokens),
    sum.usd,
  ]);
  return tableLines(columns, rows, terminal.stdout, paint);
}

export function usdOf(nanoUsd: number): string {
  const [whole, nano] = [Math.floor(nanoUsd / 1e9), nanoUsd % 1e9];
  return `${whole}.${String(nano)
    .padStart(9, "0")
    .replace(/0{1,7}$/, "")}`;
}
