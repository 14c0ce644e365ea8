/** A report of costs as the API answers it: totals by period and group, for all teams or for those that a reader may see. */
import type { PowerMeter } from "../energy/power-meter.ts";
import { billedCharges, type Billable } from "../bill/billed-charges.ts";
import { isUnused } from "../bill/charges.ts";
import { listedLine, newestLines, sortedLines, type MeteredLine } from "../metered/metered-line.ts";
import type { UsagePeriod } from "../rows/usage-totals.ts";
import { CostReport, type CostField, type CostTotal } from "./cost-report.ts";

export interface CostQuestion {
  readonly by: UsagePeriod;
  readonly group: readonly CostField[];
  /** Teams whose charges are in the answer; `null`: all of them, and what nobody held. */
  readonly teams: ReadonlySet<string> | null;
}

/** Amounts of money are integers in micro-dollars, times are in accelerator-hours. */
export interface CostAmounts {
  readonly microUsd: number;
  readonly usedMicroUsd: number;
  readonly idleMicroUsd: number;
  readonly failedMicroUsd: number;
  readonly evictedMicroUsd: number;
  readonly lostMicroUsd: number;
  readonly acceleratorHours: number;
  readonly usedHours: number;
  readonly kwh: number;
  /** The part of `kwh` from measured power. */
  readonly measuredKwh: number;
  readonly energyMicroUsd: number;
  readonly carbonKg: number;
}

export interface CostLine extends CostAmounts {
  /** Start of the period (UTC); 0 if there is only one. */
  readonly periodStartMs: number;
  /** Values of the fields by which is grouped; empty: nobody held it. */
  readonly group: readonly string[];
}

export interface CostAnswer {
  readonly fromMs: number;
  readonly toMs: number;
  readonly by: UsagePeriod;
  readonly group: readonly CostField[];
  /** By period, then the most expensive first. */
  readonly items: readonly CostLine[];
  readonly total: CostAmounts;
  /** Pools with hours that no price covers; these hours are not in the answer. */
  readonly unpricedPools: readonly string[];
  /** Storage and tokens of the newest days, by day; all with a price are in `items` and `total`. */
  readonly metered: readonly Omit<MeteredLine, "parts">[];
}

/** Most lines of storage and tokens in an answer: a store with many artifacts has a line for each of them and day. */
const METERED_LISTED_MAX = 5_000;

export function costAnswer(
  billable: Billable,
  { by, group, teams }: CostQuestion,
  lines: readonly MeteredLine[] = [],
  meter: PowerMeter | null = null,
): CostAnswer {
  const report = new CostReport(by, group, meter);
  const unpriced = new Map<string, bigint>();
  for (const charge of billedCharges(billable, unpriced)) {
    // Nobody holds paid capacity that is unused, so only readers of all teams see it.
    const isShown = teams === null || (!isUnused(charge) && teams.has(charge.row.team));
    if (isShown) report.add(charge);
  }
  const metered = lines.filter(({ team }) => teams === null || teams.has(team));
  for (const line of metered) report.addMetered(line);
  return {
    ...billable.range,
    by,
    group,
    items: report.totals().map((total) => ({
      periodStartMs: total.periodStartMs,
      group: total.group,
      ...amountsOf(total),
    })),
    total: amountsOf(report.whole),
    unpricedPools: teams === null ? [...unpriced.keys()].toSorted() : [],
    metered: sortedLines(newestLines(metered, METERED_LISTED_MAX)).map(listedLine),
  };
}

const amountsOf = (total: CostTotal): CostAmounts => ({
  microUsd: total.microUsd,
  usedMicroUsd: total.usedMicroUsd,
  idleMicroUsd: total.idleMicroUsd,
  failedMicroUsd: total.failedMicroUsd,
  evictedMicroUsd: total.evictedMicroUsd,
  lostMicroUsd: total.lostMicroUsd,
  acceleratorHours: total.hours,
  usedHours: total.usedHours,
  kwh: total.kwh,
  measuredKwh: total.measuredKwh,
  energyMicroUsd: Math.round(total.energyMicroUsd),
  carbonKg: total.carbonGrams / 1_000,
});
