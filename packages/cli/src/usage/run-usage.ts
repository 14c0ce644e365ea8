/** `headroom usage`: accelerator time by team and period, by what became of it. */
import type { GroupField, UsagePeriod, UsageRow, UsageTotal } from "@headroom/usage";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { csvLines } from "../output/csv.ts";
import { tableLines } from "../output/table.ts";
import { journalRows } from "./read-journal.ts";
import { milliText, rowHeader, rowLines } from "./usage-csv.ts";

export interface UsageCommandOptions {
  readonly team?: string;
  readonly by?: string;
  readonly group?: string;
  readonly since?: string;
  readonly until?: string;
  readonly rows?: true;
  readonly csv?: true;
  readonly json?: true;
}

const HOUR_MS = 3_600_000;
const periods: readonly UsagePeriod[] = ["hour", "day", "week", "month", "all"];
const fields: readonly GroupField[] = [
  "team",
  "user",
  "workload",
  "workloadId",
  "workloadKind",
  "site",
  "pool",
  "node",
  "acceleratorType",
];
/** Rows that are printed at once. */
const LINES_AT_ONCE = 5_000;

export async function runUsage(context: CommandContext, options: UsageCommandOptions): Promise<ExitCode> {
  const sinceMs = instantOption(options.since, "--since") ?? 0;
  const untilMs = instantOption(options.until, "--until");
  const source = await journalRows(context.home, untilMs);
  const usage = await import("@headroom/usage");
  const endMs = untilMs ?? Number.MAX_SAFE_INTEGER;
  // A team may be declared after its first row, never before: the tree is read when the row arrives.
  const isChosen = (row: UsageRow): boolean =>
    options.team === undefined || (row.team !== "" && usage.isWithin(row.team, options.team, source.fold.parents));
  function* chosen(): Generator<UsageRow> {
    for (const row of source.rows) {
      const part = isChosen(row) ? usage.clipRow(row, sinceMs, endMs) : null;
      if (part !== null) yield part;
    }
  }
  if (options.rows === true) return printRows(context, chosen());
  const by = oneOf(options.by ?? "month", periods, "--by");
  const group = (options.group ?? "team").split(",").map((name) => oneOf(name.trim(), fields, "--group"));
  const totals = new usage.UsageTotals(by, group);
  for (const row of chosen()) totals.add(row);
  if (options.team !== undefined && !source.fold.parents.has(options.team) && totals.totals().length === 0)
    throw new CliError(`there is no team ${JSON.stringify(options.team)}`, exitCode.usage);
  printTotals(context, totals.totals(), { by, group, options });
  return exitCode.ok;
}

/** A day (UTC) such as 2026-11-01, or an instant with its zone. */
export function instantOption(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text);
  const atMs = isDay || /(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(atMs)) return atMs;
  throw new CliError(
    `${option}: expected a day (UTC) like 2026-11-01, or 2026-11-01T12:00Z, got ${text}`,
    exitCode.usage,
  );
}

export function oneOf<Name extends string>(text: string, names: readonly Name[], option: string): Name {
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  throw new CliError(`${option}: expected one of ${names.join(", ")}, got ${text}`, exitCode.usage);
}

async function printRows({ terminal }: CommandContext, rows: Iterable<UsageRow>): Promise<ExitCode> {
  terminal.stdout.write(`${rowHeader}\n`);
  let batch: UsageRow[] = [];
  const flush = async (): Promise<void> => {
    if (batch.length > 0) terminal.stdout.write(`${rowLines(batch).join("\n")}\n`);
    batch = [];
    await terminal.stdout.drained();
  };
  for (const row of rows) {
    batch.push(row);
    if (batch.length === LINES_AT_ONCE) await flush();
  }
  await flush();
  return exitCode.ok;
}

interface Shape {
  readonly by: UsagePeriod;
  readonly group: readonly GroupField[];
  readonly options: UsageCommandOptions;
}

function printTotals(context: CommandContext, totals: readonly UsageTotal[], { by, group, options }: Shape): void {
  const period = ({ periodStartMs }: UsageTotal): string => (by === "all" ? "all" : periodText(periodStartMs, by));
  if (options.json === true) {
    const items = totals.map((total) => ({
      period: period(total),
      ...Object.fromEntries(group.map((field, index) => [field, total.group[index]])),
      state: total.state,
      cause: total.cause,
      acceleratorMs: milliText(total.milliMs),
      acceleratorHours: hoursOf(total),
    }));
    context.print(JSON.stringify({ by, timeZone: "UTC", items }, null, 2));
    return;
  }
  if (options.csv === true) {
    const rows = totals.map((total) => [
      period(total),
      ...total.group,
      total.state,
      total.cause,
      milliText(total.milliMs),
    ]);
    context.print(...csvLines(["period", ...group, "state", "cause", "accelerator_ms"], rows));
    return;
  }
  if (totals.length === 0) {
    context.note("There is no usage in this period.");
    return;
  }
  const columns = [
    { title: "PERIOD" },
    ...group.map((field) => ({ title: field.toUpperCase(), minWidth: 6 })),
    { title: "STATE" },
    { title: "CAUSE", minWidth: 8 },
    { title: "HOURS", align: "right" as const },
  ];
  const rows = totals.map((total) => [
    period(total),
    ...total.group.map((name) => (name === "" ? "–" : name)),
    total.state,
    total.cause,
    hoursOf(total).toFixed(3),
  ]);
  context.print(...tableLines(columns, rows, context.terminal.stdout, context.paint));
}

const hoursOf = ({ milliMs }: UsageTotal): number => Number(milliMs) / 1_000 / HOUR_MS;

/** The start of a period in UTC: `2026-11` for a month, a day for a day or a week. */
export function periodText(startMs: number, by: UsagePeriod): string {
  const text = new Date(startMs).toISOString();
  if (by === "month") return text.slice(0, 7);
  return by === "hour" ? `${text.slice(0, 16)}Z` : text.slice(0, 10);
}
