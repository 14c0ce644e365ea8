import { readFileSync } from "node:fs";
import { readCsv, type CsvRow } from "./inference-csv.ts";
import { fileError, InputError } from "./input-error.ts";

/** Columns that a measurement file must have. */
export interface NeededColumns {
  readonly all: readonly string[];
  /** Columns of measured values. The file must have at least one of them. */
  readonly any: readonly string[];
}

/** Reads the rows of a file. Throws an `InputError` if the file cannot be read or contains no measurements. */
export function measurementRows(file: string, { all, any }: NeededColumns): readonly CsvRow[] {
  const { header, rows } = readCsv(textOf(file));
  const missing = all.filter((name) => !header.includes(name));
  if (missing.length > 0) {
    throw new InputError(`${file}: the header line lacks ${missing.join(", ")}; expected comma-separated measurements`);
  }
  if (!any.some((name) => header.includes(name))) {
    throw new InputError(`${file}: the header line has no column of measurements; expected one of ${any.join(", ")}`);
  }
  if (rows.length > 0) return rows;
  throw new InputError(`${file} has no rows: expected a header line and measurements`);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw fileError(error, file, "name a CSV file of measurements");
  }
}
