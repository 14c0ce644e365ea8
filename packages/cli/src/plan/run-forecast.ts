/** `headroom plan forecast`: demand by month from what was measured, and the demand of `headroom plan FILE --measured`. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { MeasuredDemand, PlanDocument, WeeklyUse } from "@headroom/plan";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { csvLines } from "../output/csv.ts";
import { wholeNumber } from "../simulate/amount-options.ts";
import { journalRows } from "../usage/read-journal.ts";
import { oneOf } from "../usage/run-usage.ts";
import { numberTable } from "./plan-text.ts";

export interface ForecastOptions {
  readonly by?: string;
  readonly months?: string;
  readonly series?: string;
  readonly csv?: true;
  readonly json?: true;
}

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const MONTHS = 36;
/** A plan has no spread around a median of 0, so demand that is only possible would be left out. */
const LEAST_DEMAND = 0.1;

interface Measured {
  readonly parts: readonly WeeklyUse[];
  readonly firstDay: number;
}

export async function runForecast(context: CommandContext, options: ForecastOptions): Promise<ExitCode> {
  const by = oneOf(options.by ?? "pool", ["pool", "team"] as const, "--by");
  const months = wholeNumber(options.months ?? String(MONTHS), "--months", { min: 1, max: 120 });
  const measured =
    options.series === undefined ? await journalUse(context, by) : await seriesUse(context, options.series);
  const demand = await demandOf(measured, months);
  const rows = [...demand.parts, { name: "together", ...demand.together }];
  if (options.json === true) context.print(JSON.stringify({ by, ...demand }, null, 2));
  else if (options.csv === true)
    context.print(
      ...csvLines(
        [by, "month", "p10", "p50", "p95"],
        rows.flatMap(({ name, p10, p50, p95 }) =>
          demand.months.map((month, at) => [name, month, ...[p10, p50, p95].map((each) => String(each[at]))]),
        ),
      ),
    );
  else context.print(...tableOf(context, demand, by));
  return exitCode.ok;
}

/** The plan with measured demand in the place of its own, for each pool that has a history. */
export async function withMeasured(context: CommandContext, plan: PlanDocument): Promise<PlanDocument> {
  const { meanSpeed, monthsToEnd } = await import("@headroom/plan");
  const measured = await journalUse(context, "pool");
  // Use is counted in accelerators, demand in the plan's unit.
  const parts = measured.parts.map(({ name, values }) => ({
    name,
    values: values.map((value) => value * meanSpeed(plan, name)),
  }));
  const months = monthsToEnd(plan, measured.firstDay, parts[0]?.values.length ?? 0);
  const demand = await demandOf({ ...measured, parts }, months);
  const found = demand.parts.filter(({ name }) => plan.demand[name] !== undefined);
  if (found.length === 0)
    throw new CliError(
      `no pool of the plan has a history: it has ${Object.keys(plan.demand).join(", ")}, the journal ${demand.parts.map(({ name }) => name).join(", ")}`,
      exitCode.usage,
    );
  const replaced = found.map((each) => [
    each.name,
    { ...plan.demand[each.name]!, ...quantilesByMonth(demand.months, each) },
  ]);
  return { ...plan, demand: { ...plan.demand, ...Object.fromEntries(replaced) } };
}

/** Quantiles as a plan document states them. */
export function quantilesByMonth(
  months: readonly string[],
  { p10, p50, p95 }: Pick<MeasuredDemand["together"], "p10" | "p50" | "p95">,
): Pick<PlanDocument["demand"][string], "p10" | "p50" | "p95"> {
  const byMonth = (values: readonly number[]): Record<string, number> =>
    Object.fromEntries(values.map((value, month) => [months[month] ?? "", Math.max(LEAST_DEMAND, value)]));
  return { p10: byMonth(p10), p50: byMonth(p50), p95: byMonth(p95) };
}

async function demandOf({ parts, firstDay }: Measured, months: number): Promise<MeasuredDemand> {
  const { HISTORY_WEEKS_MIN, measuredDemand } = await import("@headroom/plan");
  const weeks = parts[0]?.values.length ?? 0;
  if (weeks < HISTORY_WEEKS_MIN)
    throw new CliError(
      `the history has ${weeks} whole weeks; a forecast needs ${HISTORY_WEEKS_MIN}. Plan with a demand document until then: headroom plan demand FILE`,
      exitCode.unsatisfied,
    );
  return measuredDemand(parts, { firstDay, months });
}

/** Whole weeks of the journal: accelerators that somebody held. */
async function journalUse(context: CommandContext, by: "pool" | "team"): Promise<Measured> {
  const { rows, untilMs } = await journalRows(context.home, undefined);
  const { UsageTotals, periodStartMs } = await import("@headroom/usage");
  const totals = new UsageTotals("week", [by]);
  let firstMs = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    firstMs = Math.min(firstMs, row.fromMs);
    if (row.team !== "") totals.add(row);
  }
  if (firstMs >= untilMs) return { parts: [], firstDay: 0 };
  const startMs = firstMs === periodStartMs(firstMs, "week") ? firstMs : periodStartMs(firstMs, "week") + WEEK_MS;
  const weeks = Math.max(0, Math.floor((untilMs - startMs) / WEEK_MS));
  const byName = new Map<string, Float64Array>();
  for (const { periodStartMs: weekMs, group, milliMs } of totals.totals()) {
    const week = (weekMs - startMs) / WEEK_MS;
    const [name = ""] = group;
    const values = byName.get(name) ?? new Float64Array(weeks);
    byName.set(name, values);
    if (week >= 0 && week < weeks) values[week]! += Number(milliMs) / (1_000 * WEEK_MS);
  }
  return { parts: [...byName].map(([name, values]) => ({ name, values })), firstDay: Math.floor(startMs / DAY_MS) };
}

async function csvRecords(file: string, text: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const { parse } = await import("csv-parse/sync");
  try {
    return parse(text, { bom: true, columns: true, skip_empty_lines: true, trim: true });
  } catch (error) {
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, exitCode.usage);
  }
}

/** ISO 8601, with `T` or a space; without a zone it is UTC. NaN: the text is no time. */
function instantOf(text: string): number {
  const time = text.replace(" ", "T");
  return Date.parse(time.includes("T") && !/(?:Z|[+-]\d\d:?\d\d)$/i.test(time) ? `${time}Z` : time);
}

/** The weeks of a CSV file with the columns time and value; an incomplete last week is left out. */
async function seriesUse({ terminal }: CommandContext, file: string): Promise<Measured> {
  const text = await readFile(path.resolve(terminal.workingDirectory, file), "utf8").catch((error: unknown) => {
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, exitCode.usage);
  });
  const points = (await csvRecords(file, text)).map(({ time = "", value = "" }, index) => {
    const atMs = instantOf(time);
    const number = value === "" ? Number.NaN : Number(value);
    if (!Number.isFinite(atMs) || !(number >= 0))
      throw new CliError(
        `${file}:${index + 2}: expected a time in ISO 8601 and a number of accelerators in the columns time and value`,
        exitCode.usage,
      );
    return { atMs, value: number };
  });
  if (points.some(({ atMs }, index) => index > 0 && atMs <= points[index - 1]!.atMs))
    throw new CliError(`${file}: times must rise`, exitCode.usage);
  const [first, last] = [points[0]?.atMs ?? 0, points.at(-1)?.atMs ?? 0];
  const step = points.length < 2 ? 0 : (last - first) / (points.length - 1);
  const startMs = Math.floor(first / DAY_MS) * DAY_MS;
  const weeks = Math.floor((last + step - startMs) / WEEK_MS);
  const [sums, counts] = [new Float64Array(weeks), new Float64Array(weeks)];
  for (const { atMs, value } of points) {
    const week = Math.floor((atMs - startMs) / WEEK_MS);
    if (week >= weeks) continue;
    sums[week]! += value;
    counts[week]! += 1;
  }
  // A week without values repeats the one before it.
  const values = new Float64Array(weeks);
  for (const [week, count] of counts.entries())
    values[week] = count > 0 ? sums[week]! / count : (values[week - 1] ?? 0);
  return { parts: [{ name: path.basename(file).replace(/\.csv$/, ""), values }], firstDay: startMs / DAY_MS };
}

function tableOf(context: CommandContext, demand: MeasuredDemand, by: string): readonly string[] {
  const { months, parts, together, score } = demand;
  const at = [...new Set([0, Math.floor((months.length - 1) / 2), months.length - 1])];
  const cells = (values: readonly number[]): string[] => at.map((month) => (values[month] ?? 0).toFixed(1));
  const rows = [
    ...parts.map(({ name, p50 }) => [name === "" ? "–" : name, "p50", ...cells(p50)]),
    ...(["p10", "p50", "p95"] as const).map((quantile) => ["together", quantile, ...cells(together[quantile])]),
  ];
  const table = numberTable(context, [by, "", ...at.map((month) => months[month] ?? "")], rows);
  if (score === null) return table;
  const { weeks, relativeMase, smapePct, coverage80Pct } = score;
  return [
    ...table,
    `The last ${weeks} weeks, forecast from those before: off by ${smapePct.toFixed(1)}% (sMAPE), ${relativeMase.toFixed(2)} of the error of the last season's values, ${coverage80Pct.toFixed(0)}% within the 80% interval.`,
  ];
}
