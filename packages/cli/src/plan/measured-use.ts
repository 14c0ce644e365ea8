/** Accelerators in use by week, from the journal of a state directory or from a CSV file. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { WeeklyUse } from "@headroom/plan";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { journalRows } from "../usage/read-journal.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;

export interface MeasuredUse {
  readonly parts: readonly WeeklyUse[];
  /** Day number of the first week. */
  readonly firstDay: number;
}

/** Whole weeks of the journal: accelerators that somebody held. */
export async function journalUse(context: CommandContext, by: "pool" | "team"): Promise<MeasuredUse> {
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
export async function seriesUse({ terminal }: CommandContext, file: string): Promise<MeasuredUse> {
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
