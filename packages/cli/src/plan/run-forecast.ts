/** `headroom plan forecast`: demand by month from what was measured, and the demand of `headroom plan FILE --measured`. */
import type { MeasuredDemand, PlanDocument } from "@headroom/plan";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { csvLines } from "../output/csv.ts";
import { wholeNumber } from "../simulate/amount-options.ts";
import { oneOf } from "../usage/run-usage.ts";
import { journalUse, seriesUse, type MeasuredUse } from "./measured-use.ts";
import { numberTable } from "./plan-text.ts";

export interface ForecastOptions {
  readonly by?: string;
  readonly months?: string;
  readonly series?: string;
  readonly csv?: true;
  readonly json?: true;
}

const MONTHS = 36;
/** A plan has no spread around a median of 0, so demand that is only possible would be left out. */
const LEAST_DEMAND = 0.1;

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

async function demandOf({ parts, firstDay }: MeasuredUse, months: number): Promise<MeasuredDemand> {
  const { HISTORY_WEEKS_MIN, measuredDemand } = await import("@headroom/plan");
  const weeks = parts[0]?.values.length ?? 0;
  if (weeks < HISTORY_WEEKS_MIN)
    throw new CliError(
      `the history has ${weeks} whole weeks; a forecast needs ${HISTORY_WEEKS_MIN}. Plan with a demand document until then: headroom plan demand FILE`,
      exitCode.unsatisfied,
    );
  return measuredDemand(parts, { firstDay, months });
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
