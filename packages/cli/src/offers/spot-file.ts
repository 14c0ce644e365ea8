/** Reads CSV files of spot prices. */
import { createReadStream } from "node:fs";
import path from "node:path";
import type { SpotRow } from "@headroom/plan";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

const columns = ["time", "zone", "spot_usd_per_hour", "on_demand_usd_per_hour", "is_available"] as const;
type SpotColumn = (typeof columns)[number];
/** A year of rows every five minutes in 40 zones. */
const ROWS_MAX = 4_500_000;
const ZONES_MAX = 64;

export async function readSpotFile(context: CommandContext, file: string): Promise<readonly SpotRow[]> {
  const { parse } = await import("csv-parse");
  const rows: SpotRow[] = [];
  const zones = new Set<string>();
  const refuse = (line: number, problem: string): never => {
    throw new CliError(`${file}, line ${line}: ${problem}`, exitCode.usage);
  };
  const parser = createReadStream(path.resolve(context.terminal.workingDirectory, file))
    .on("error", (error) => parser.destroy(new CliError(`${file} cannot be read: ${error.message}`, exitCode.usage)))
    .pipe(
      parse({
        bom: true,
        columns: (names: string[]) => checkedNames(names, file),
        info: true,
        max_record_size: 10_000,
        skip_empty_lines: true,
        trim: true,
      }),
    );
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: Record<SpotColumn, string>;
      info: { lines: number };
    }>) {
      if (rows.length === ROWS_MAX) refuse(info.lines, `more than ${ROWS_MAX} rows; split the file`);
      const row = spotRow(record, (problem) => refuse(info.lines, problem));
      zones.add(row.zone);
      if (zones.size > ZONES_MAX) refuse(info.lines, `more than ${ZONES_MAX} zones; choose some of them`);
      rows.push(row);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, exitCode.usage);
  }
  if (rows.length === 0) throw new CliError(`${file} has no rows`, exitCode.usage);
  return rows;
}

function checkedNames(names: readonly string[], file: string): string[] {
  const missing = columns.filter((name) => !names.includes(name));
  if (missing.length === 0) return [...names];
  throw new CliError(`${file}: the header lacks ${missing.join(", ")}. Expected: ${columns.join(",")}`, exitCode.usage);
}

function spotRow(record: Record<SpotColumn, string>, refuse: (problem: string) => never): SpotRow {
  const timeMs = Date.parse(zoned(record.time));
  if (Number.isNaN(timeMs))
    refuse(`time: expected ISO 8601 such as 2026-03-01T00:00:00Z, got ${JSON.stringify(record.time)}`);
  const isAvailable = truth[record.is_available.toLowerCase()];
  if (isAvailable === undefined)
    refuse(`is_available: expected true or false, got ${JSON.stringify(record.is_available)}`);
  const onDemandUsdPerHour = price(record, "on_demand_usd_per_hour");
  if (!(onDemandUsdPerHour > 0))
    refuse(`on_demand_usd_per_hour: expected a price, got ${JSON.stringify(record.on_demand_usd_per_hour)}`);
  const spotUsdPerHour = price(record, "spot_usd_per_hour");
  if (isAvailable === true && Number.isNaN(spotUsdPerHour)) {
    refuse(`spot_usd_per_hour: expected a price, got ${JSON.stringify(record.spot_usd_per_hour)}`);
  }
  return { timeMs, zone: record.zone, spotUsdPerHour, onDemandUsdPerHour, isAvailable: isAvailable === true };
}

/** A time without a zone is taken as UTC. */
function zoned(time: string): string {
  const text = time.replace(" ", "T");
  return /T.*(?:Z|[+-]\d\d:?\d\d)$/i.test(text) || !text.includes("T") ? text : `${text}Z`;
}

const truth: Readonly<Record<string, boolean>> = {
  true: true,
  "1": true,
  yes: true,
  false: false,
  "0": false,
  no: false,
};

function price(record: Record<SpotColumn, string>, column: SpotColumn): number {
  return record[column] === "" ? Number.NaN : Number(record[column]);
}
