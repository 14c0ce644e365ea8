/** Usage rows as CSV: `headroom usage --rows` writes the form that `headroom cost --rows` reads. */
import { createReadStream } from "node:fs";
import path from "node:path";
import type { UsageRow, UsageState } from "@headroom/usage";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { csvLines } from "../output/csv.ts";

/** The columns of a row, in order. docs/how-to/know-what-it-costs.md documents them. */
const rowColumns = [
  "from",
  "to",
  "milli",
  "accelerator_ms",
  "state",
  "cause",
  "team",
  "user",
  "workload_id",
  "workload",
  "workload_kind",
  "attempt_id",
  "site",
  "pool",
  "node",
  "accelerator_type",
  "corrected_at",
  "accelerators",
] as const;
type RowColumn = (typeof rowColumns)[number];
const needed: readonly RowColumn[] = ["from", "to", "milli", "state", "cause", "team", "pool"];

/** Lines of CSV for these rows, without the header. */
export function rowLines(rows: readonly UsageRow[]): readonly string[] {
  return csvLines(rowColumns, rows.map(cellsOf)).slice(1);
}

export const rowHeader: string = rowColumns.join(",");

const cellsOf = (row: UsageRow): readonly (string | number)[] => [
  new Date(row.fromMs).toISOString(),
  new Date(row.toMs).toISOString(),
  row.milli,
  milliText(row.milli * (row.toMs - row.fromMs)),
  row.state,
  row.cause,
  row.team,
  row.user,
  row.workloadId,
  row.workload,
  row.workloadKind,
  row.attemptId,
  row.site,
  row.pool,
  row.node,
  row.acceleratorType,
  row.correctedAtMs === null ? "" : new Date(row.correctedAtMs).toISOString(),
  row.accelerators ?? "",
];

/** Thousandths as an exact decimal. */
export function milliText(thousandths: number | bigint): string {
  const value = BigInt(thousandths);
  const digits = (value < 0n ? -value : value).toString().padStart(4, "0");
  const fraction = digits.slice(-3).replace(/0+$/, "");
  return `${value < 0n ? "-" : ""}${digits.slice(0, -3)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Reads a file of rows, one at a time. */
export async function* readRowsFile({ terminal }: CommandContext, file: string): AsyncGenerator<UsageRow> {
  const { parse } = await import("csv-parse");
  const { USAGE_STATES } = await import("@headroom/usage");
  const states: ReadonlySet<string> = new Set(USAGE_STATES);
  const parser = createReadStream(path.resolve(terminal.workingDirectory, file))
    .on("error", (error) => parser.destroy(new CliError(`${file} cannot be read: ${error.message}`, exitCode.usage)))
    .pipe(
      parse({
        bom: true,
        columns: (names: string[]) => checkedNames(names, file),
        max_record_size: 100_000,
        skip_empty_lines: true,
      }),
    );
  let line = 1;
  try {
    for await (const record of parser as AsyncIterable<Partial<Record<RowColumn, string>>>) {
      line++;
      const row = rowOf(record, (problem) => new CliError(`${file}, row ${line}: ${problem}`, exitCode.usage));
      if (!states.has(row.state))
        throw new CliError(`${file}, row ${line}: state: expected ${USAGE_STATES.join(", ")}`, exitCode.usage);
      yield row;
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, exitCode.usage);
  }
}

function checkedNames(names: readonly string[], file: string): string[] {
  const missing = needed.filter((name) => !names.includes(name));
  if (missing.length === 0) return [...names];
  throw new CliError(`${file}: the header lacks ${missing.join(", ")}. Expected: ${rowHeader}`, exitCode.usage);
}

type RowRefusal = (problem: string) => CliError;

function rowOf(record: Partial<Record<RowColumn, string>>, refusal: RowRefusal): UsageRow {
  const instantOf = (column: RowColumn): number => {
    const atMs = Date.parse(record[column] ?? "");
    if (Number.isNaN(atMs)) throw refusal(`${column}: expected an instant such as 2026-11-01T00:00:00.000Z`);
    return atMs;
  };
  const text = (column: RowColumn): string => unquoted(record[column] ?? "");
  const milli = Number(record.milli);
  const [fromMs, toMs] = [instantOf("from"), instantOf("to")];
  if (!Number.isSafeInteger(milli) || record.milli === "")
    throw refusal("milli: expected thousandths of accelerators, a whole number");
  if (toMs <= fromMs) throw refusal("to: must be later than from");
  return {
    fromMs,
    toMs,
    milli,
    state: text("state") as UsageState,
    cause: text("cause"),
    team: text("team"),
    user: text("user"),
    workloadId: text("workload_id"),
    workload: text("workload"),
    workloadKind: text("workload_kind"),
    attemptId: text("attempt_id"),
    site: text("site"),
    pool: text("pool"),
    node: text("node"),
    acceleratorType: text("accelerator_type"),
    ...((record.accelerators ?? "") === "" ? {} : { accelerators: text("accelerators") }),
    correctedAtMs: (record.corrected_at ?? "") === "" ? null : instantOf("corrected_at"),
  };
}

/** Takes back the quote that keeps spreadsheets from reading a text as a formula. */
const unquoted = (text: string): string => (/^'[=+@\t\r-]/.test(text) ? text.slice(1) : text);
