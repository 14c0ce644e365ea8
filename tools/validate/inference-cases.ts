import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { findModel } from "../../packages/perf/src/index.ts";
import type { ModelArchitecture } from "../../packages/perf/src/index.ts";
import { parseCsv } from "./inference-csv.ts";
import { architectureOf } from "./inference-models.ts";
import { measurementRows } from "./measurement-file.ts";
import { readRow } from "./inference-rows.ts";
import type { Abstention, Case } from "./inference-rows.ts";

const root = path.resolve(import.meta.dirname, "../..");

/** The table of architectures: beside the measurements, else among the shared data. */
function modelsFile(measurements: string): string | undefined {
  const shared = process.env["HEADROOM_SHARED"] ?? path.join(root, "../shared");
  const places = [path.dirname(measurements), path.join(shared, "data/inference")];
  return places.map((place) => path.join(place, "models.csv")).find((file) => existsSync(file));
}

/** The rows of a file as cases and abstentions; rows that measured nothing the model predicts are neither. */
export function readCases(file: string, isAll: boolean): { cases: Case[]; abstentions: Abstention[] } {
  const table = modelsFile(file);
  const described = table === undefined ? [] : parseCsv(readFileSync(table, "utf8"));
  const listed = new Map(described.map((row) => [row["model"] ?? "", architectureOf(row)]));
  const models = { get: (name: string): ModelArchitecture | undefined => listed.get(name) ?? findModel(name) };
  // A file without the column wants all of its rows scored.
  const isScored = (row: Readonly<Record<string, string>>): boolean => (row["score"] ?? "1") === "1";
  const rows = measurementRows(file).filter((row) => isAll || isScored(row));
  const outcomes = rows.map((row) => readRow(row, models)).filter((outcome) => outcome !== undefined);
  return {
    cases: outcomes.filter((outcome) => "predict" in outcome),
    abstentions: outcomes.filter((outcome) => "reason" in outcome),
  };
}
