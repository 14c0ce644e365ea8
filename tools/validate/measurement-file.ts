import { existsSync, readFileSync } from "node:fs";
import { parseCsv } from "./inference-csv.ts";

/** The rows of a file; ends the program with a sentence where there are none. */
export function measurementRows(file: string): readonly Readonly<Record<string, string>>[] {
  if (!existsSync(file)) {
    process.stderr.write(`${file}: there is no such file\n`);
    process.exit(2);
  }
  const rows = parseCsv(readFileSync(file, "utf8"));
  if (rows.length > 0) return rows;
  process.stderr.write(`${file} has no rows: expected a header line and measurements\n`);
  process.exit(2);
}
