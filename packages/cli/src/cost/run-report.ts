/** `headroom cost report`: showback and chargeback. */
import type { Charge, CostChanges, CostField, CostTotal, MeteredLine, TeamWait, UsagePeriod } from "@headroom/usage";
import path from "node:path";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { csvLines } from "../output/csv.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { oneOf, periodText } from "../usage/run-usage.ts";
import { costSource, type CostSource, type CostSourceOptions } from "./cost-source.ts";
import { meteredItems, meteredPairs } from "./metered-text.ts";
import { readFocusFile } from "./focus-files.ts";

export interface ReportOptions extends CostSourceOptions {
  readonly team?: string;
  readonly by?: string;
  readonly group?: string;
  readonly withFocus?: readonly string[];
  readonly anomalies?: true;
  readonly changes?: true;
  readonly csv?: true;
  readonly json?: true;
}

const periods: readonly UsagePeriod[] = ["day", "week", "month", "all"];
const MICRO = 1_000_000;

export async function runReport(context: CommandContext, options: ReportOptions): Promise<ExitCode> {
  const usage = await import("@headroom/usage");
  const by = options.anomalies === true ? "day" : oneOf(options.by ?? "month", periods, "--by");
  const group = (options.group ?? "team").split(",").map((name) => oneOf(name.trim(), usage.costFields, "--group"));
  const source = await costSource(context, options);
  const report = new usage.CostReport(by, group, source.meter);
  const unpriced = new Map<string, bigint>();
  const { team } = options;
  const isChosen = ({ row }: Charge): boolean =>
    team === undefined || (row.team !== "" && usage.isWithin(row.team, team, source.parents));
  for (const charge of usage.billedCharges(source, unpriced)) if (isChosen(charge)) report.add(charge);
  const metered = source.metered.filter(
    (each) => team === undefined || usage.isWithin(each.team, team, source.parents),
  );
  for (const line of metered) report.addMetered(line);
  if (options.anomalies === true) {
    printAnomalies(context, usage.costAnomalies(report.totals()), options);
    return exitCode.ok;
  }
  if (options.changes === true) {
    printChanges(context, usage.costChanges(report.totals()), { by, group, options });
    return exitCode.ok;
  }
  const invoices = await otherFocus(context, options.withFocus ?? []);
  const waits = source.waits?.filter((each) => team === undefined || usage.isWithin(each.team, team, source.parents));
  const waiting = waits === undefined ? null : waitingOf(waits, report.whole);
  printReport(context, {
    totals: report.totals(),
    whole: report.whole,
    invoices,
    waiting,
    metered,
    by,
    group,
    source,
    options,
  });
  for (const pool of unpriced.keys())
    context.note(`warning: pool ${pool} has hours without a price; they are not in the report`);
  return exitCode.ok;
}

function printChanges(
  context: CommandContext,
  found: CostChanges | undefined,
  { by, group, options }: Pick<Printed, "by" | "group" | "options">,
): void {
  if (found === undefined) throw new CliError("--changes needs two periods: try --by week or day", exitCode.usage);
  const [before, now] = [periodText(found.beforeMs, by), periodText(found.periodMs, by)];
  const percent = (share: number): string => `${share >= 0 ? "+" : ""}${(100 * share).toFixed(1)}%`;
  const items = found.changes.map((each) => ({
    ...Object.fromEntries(group.map((field, index) => [field, each.group[index] ?? ""])),
    before_usd: usd(each.beforeMicroUsd),
    usd: usd(each.microUsd),
    change_usd: usd(each.microUsd - each.beforeMicroUsd),
    change_of_hourly_cost: each.pricePart ?? null,
  }));
  if (options.json === true) context.print(JSON.stringify({ before, period: now, changes: items }, null, 2));
  else if (options.csv === true)
    context.print(
      ...csvLines([...group, "before_usd", "usd", "change_usd", "change_of_hourly_cost"], items.map(Object.values)),
    );
  else {
    const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
    const columns = [...group.map((title) => ({ title })), ...[before, now, "CHANGE", "PRICE OF AN HOUR"].map(right)];
    const rows = found.changes.map((each) => [
      ...each.group,
      usd(each.beforeMicroUsd).toFixed(2),
      usd(each.microUsd).toFixed(2),
      each.beforeMicroUsd === 0 ? "new" : percent(each.microUsd / each.beforeMicroUsd - 1),
      each.pricePart === undefined ? "" : percent(each.pricePart),
    ]);
    context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
  }
}

interface Invoice {
  readonly provider: string;
  readonly service: string;
  readonly account: string;
  billed: number;
  effective: number;
}

/** Sums of FOCUS files of others, by provider, service and sub-account. */
async function otherFocus({ terminal }: CommandContext, files: readonly string[]): Promise<readonly Invoice[]> {
  const sums = new Map<string, Invoice>();
  for (const file of files)
    for await (const row of readFocusFile(path.resolve(terminal.workingDirectory, file))) {
      const currency = row["BillingCurrency"] ?? "USD";
      if (currency !== "USD")
        throw new CliError(`${file}: charges are in ${currency}; a report is in USD`, exitCode.usage);
      const [provider, service, account] = [
        row["ProviderName"] ?? "",
        row["ServiceName"] ?? "",
        row["SubAccountName"] ?? "",
      ];
      const key = JSON.stringify([provider, service, account]);
      const sum = sums.get(key) ?? { provider, service, account, billed: 0, effective: 0 };
      sums.set(key, sum);
      sum.billed += Math.round(Number(row["BilledCost"] ?? 0) * MICRO);
      sum.effective += Math.round(Number(row["EffectiveCost"] ?? 0) * MICRO);
    }
  return [...sums.values()].toSorted((left, right) => right.effective - left.effective);
}

interface Waiting {
  readonly accelerator_hours: number;
  /** At the mean price of an accelerator-hour of the report. */
  readonly usd: number | null;
  readonly by_team: readonly { readonly team: string; readonly accelerator_hours: number }[];
}

/** Demand that waited, at the mean price of an accelerator-hour. */
function waitingOf(waits: readonly TeamWait[], { microUsd, meteredMicroUsd, hours }: CostTotal): Waiting {
  const sum = waits.reduce((all, { acceleratorHours }) => all + acceleratorHours, 0);
  return {
    accelerator_hours: sum,
    usd: hours > 0 ? (sum * usd(microUsd - meteredMicroUsd)) / hours : null,
    by_team: waits.map(({ team, acceleratorHours }) => ({ team, accelerator_hours: acceleratorHours })),
  };
}

interface Printed {
  readonly totals: readonly CostTotal[];
  readonly whole: CostTotal;
  readonly invoices: readonly Invoice[];
  readonly waiting: Waiting | null;
  readonly metered: readonly MeteredLine[];
  readonly by: UsagePeriod;
  readonly group: readonly CostField[];
  readonly source: CostSource;
  readonly options: ReportOptions;
}

const usd = (microUsd: number): number => microUsd / MICRO;

const itemOf = (
  total: CostTotal,
  by: UsagePeriod,
  group: readonly CostField[],
): Readonly<Record<string, string | number | null>> => ({
  period: by === "all" ? "all" : periodText(total.periodStartMs, by),
  ...Object.fromEntries(group.map((field, index) => [field, total.group[index] ?? ""])),
  usd: usd(total.microUsd),
  used_usd: usd(total.usedMicroUsd),
  idle_usd: usd(total.idleMicroUsd),
  failed_usd: usd(total.failedMicroUsd),
  evicted_usd: usd(total.evictedMicroUsd),
  lost_usd: usd(total.lostMicroUsd),
  unused_usd: usd(total.unusedMicroUsd),
  accelerator_hours: total.hours,
  useful_hours: total.usedHours,
  usd_per_useful_hour: total.usedHours > 0 ? usd(total.microUsd) / total.usedHours : null,
  kwh: total.kwh,
  kwh_measured: total.measuredKwh,
  energy_usd: usd(total.energyMicroUsd),
  carbon_kg: total.carbonGrams / 1_000,
});

function printReport(context: CommandContext, printed: Printed): void {
  const { totals, whole, invoices, waiting, metered, by, group, source, options } = printed;
  const items = totals.map((total) => itemOf(total, by, group));
  const { billing } = source.book;
  if (options.json === true) {
    const total = itemOf(whole, "all", []);
    const others = invoices.map(({ billed, effective, ...rest }) => ({
      ...rest,
      billed_usd: usd(billed),
      effective_usd: usd(effective),
    }));
    const head = { currency: billing.currency, timeZone: billing.timeZone, account: billing.account, by };
    context.print(
      JSON.stringify({ ...head, total, items, invoices: others, waiting, metered: meteredItems(metered) }, null, 2),
    );
    return;
  }
  if (options.csv === true) {
    const [first = itemOf(whole, by, group)] = items;
    context.print(
      ...csvLines(
        Object.keys(first),
        items.map((item) => Object.values(item).map((value) => value ?? "")),
      ),
    );
    return;
  }
  const money = (title: string): { readonly title: string; readonly align: "right" } => ({ title, align: "right" });
  const columns = [
    { title: "PERIOD" },
    ...group.map((field) => ({ title: field.toUpperCase(), minWidth: 6 })),
    ...["USD", "USED", "IDLE", "FAILED", "EVICTED", "LOST", "$/USEFUL H"].map(money),
  ];
  const rows = totals.map((total) => [
    by === "all" ? "all" : periodText(total.periodStartMs, by),
    ...total.group.map((name) => (name === "" ? "–" : name)),
    ...[
      total.microUsd,
      total.usedMicroUsd,
      total.idleMicroUsd,
      total.failedMicroUsd,
      total.evictedMicroUsd,
      total.lostMicroUsd,
    ].map((amount) => usd(amount).toFixed(2)),
    total.usedHours > 0 ? (usd(total.microUsd) / total.usedHours).toFixed(2) : "–",
  ]);
  context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint), "");
  context.print(
    ...pairLines(summary(whole, invoices, waiting, metered), context.paint),
    `Amounts in ${billing.currency}, times in ${billing.timeZone}.`,
  );
}

function summary(
  whole: CostTotal,
  invoices: readonly Invoice[],
  waiting: Waiting | null,
  metered: readonly MeteredLine[],
): readonly (readonly [string, string])[] {
  const money = (microUsd: number): string => `$${usd(microUsd).toFixed(2)}`;
  const wasted = whole.failedMicroUsd + whole.evictedMicroUsd + whole.lostMicroUsd;
  return [
    ["total", money(whole.microUsd)],
    ["failures, evictions, losses", money(wasted)],
    ["idle", money(whole.idleMicroUsd)],
    ...(waiting === null ? [] : [["waiting", waitingText(waiting)] as const]),
    [
      "per useful accelerator-hour",
      whole.usedHours > 0 ? `$${(usd(whole.microUsd) / whole.usedHours).toFixed(4)}` : "–",
    ],
    ["energy", energyText(whole)],
    ...meteredPairs(metered),
    ...invoices.map(
      ({ provider, service, account, effective }) =>
        [
          [provider, service, account].filter((part) => part !== "").join(", "),
          `${money(effective)} (invoice)`,
        ] as const,
    ),
  ];
}

function energyText({ kwh, measuredKwh, energyMicroUsd, carbonGrams }: CostTotal): string {
  const digits = kwh < 10 ? 3 : 0;
  const how = measuredKwh === 0 ? "by the price documents" : `${measuredKwh.toFixed(digits)} kWh of it measured`;
  const price = energyMicroUsd === 0 ? "" : `, $${usd(energyMicroUsd).toFixed(2)}`;
  return `${kwh.toFixed(digits)} kWh (${how})${price}, ${(carbonGrams / 1_000).toFixed(digits)} kg CO2`;
}

function waitingText({ accelerator_hours: hours, usd: value }: Waiting): string {
  const price = value === null ? "" : `, $${value.toFixed(2)} at the mean price (not in the total)`;
  return `${hours.toFixed(1)} accelerator-hours of demand${price}`;
}

function printAnomalies(
  context: CommandContext,
  found: readonly {
    readonly group: readonly string[];
    readonly dayMs: number;
    readonly microUsd: number;
    readonly medianMicroUsd: number;
  }[],
  { json }: ReportOptions,
): void {
  const items = found.map(({ group, dayMs, microUsd, medianMicroUsd }) => ({
    day: periodText(dayMs, "day"),
    group,
    usd: usd(microUsd),
    usual_usd: usd(medianMicroUsd),
  }));
  if (json === true) context.print(JSON.stringify({ items }, null, 2));
  else if (items.length === 0) context.print("No day stands out.");
  else
    for (const item of items)
      context.print(
        `${item.day} ${item.group.map((name) => (name === "" ? "–" : name)).join(", ")}: $${item.usd.toFixed(2)}, usually $${item.usual_usd.toFixed(2)}`,
      );
}
