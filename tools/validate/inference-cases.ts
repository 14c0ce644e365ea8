import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { findModel } from "../../packages/perf/src/index.ts";
import type { ModelArchitecture } from "../../packages/perf/src/index.ts";
import { parseCsv } from "./inference-csv.ts";
import { architectureOf } from "./inference-models.ts";
import { measurementRows } from "./measurement-file.ts";
import { readRow, servingColumns } from "./inference-rows.ts";
import type { Abstention, Case } from "./inference-rows.ts";

const root = path.resolve(import.meta.dirname, "../..");

/** The file with the table of model architectures. It is in the directory of the measurements or of the shared data. */
function modelsFile(measurements: string): string | undefined {
  const shared = process.env["HEADROOM_SHARED"] ?? path.join(root, "../shared");
  const places = [path.dirname(measurements), path.join(shared, "data/inference")];
  return places.map((place) => path.join(place, "models.csv")).find((file) => existsSync(file));
}

/** A row that is read but not scored. */
export interface Unscored {
  readonly id: string;
  readonly source: string;
  readonly reason: string;
  /** The prediction, if the model can make a prediction for the row. */
  readonly asked?: Case;
}

export interface ReadRows {
  readonly cases: readonly Case[];
  readonly abstentions: readonly Abstention[];
  readonly unscored: readonly Unscored[];
}

/** Reads the rows of a file of measurements. Throws an `InputError` if the file cannot be read. */
export function readCases(file: string, isAll: boolean): ReadRows {
  const rows = measurementRows(file, servingColumns);
  const table = modelsFile(file);
  const described = table === undefined ? [] : parseCsv(readFileSync(table, "utf8"));
  const listed = new Map(described.map((row) => [row["model"] ?? "", architectureOf(row)]));
  const models = { get: (name: string): ModelArchitecture | undefined => listed.get(name) ?? findModel(name) };
  const cases: Case[] = [];
  const abstentions: Abstention[] = [];
  const unscored: Unscored[] = [];
  for (const { fields } of rows) {
    const outcome = readRow(fields, models);
    const { id, source } = outcome;
    // If the file has no column `score`, all rows are scored.
    const score = fields["score"] ?? "1";
    const notScored = `score is ${JSON.stringify(score)} in the file`;
    const isScored = isAll || score === "1";
    if ("unmeasured" in outcome) unscored.push({ id, source, reason: outcome.unmeasured });
    else if ("predict" in outcome) {
      if (isScored) cases.push(outcome);
      else unscored.push({ id, source, reason: notScored, asked: outcome });
    } else if (isScored) abstentions.push(outcome);
    else unscored.push({ id, source, reason: `${notScored}; ${outcome.reason}` });
  }
  return { cases, abstentions, unscored };
}
