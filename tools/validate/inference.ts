/**
 * `npm run validate:inference -- FILE.csv [--json] [--leave-out] [--refit] [--rows FILE] [--all]`: compares the
 * inference model with published measurements. `--leave-out` fits the constants again without the rows of each
 * accelerator and of each source, and scores the rows that were left out; these rows are not used as evidence either.
 * `--refit` prints constants and evidence that are fitted to the file. `--rows` writes every row as CSV, with its
 * prediction, the parts of the predicted time and the reason if there is no prediction. Only rows with `score` 1 count,
 * unless `--all` is given. If the file has no such column, all rows count. The exit code is 2 if no row can be scored.
 */
import { fittedInference } from "../../packages/perf/src/index.ts";
import { readCases } from "./inference-cases.ts";
import { evidenceOf, fit, leaveOut, spreadsOf } from "./inference-fit.ts";
import { argumentsOf, checkWritable, InputError, withInputErrors } from "./input-error.ts";
import { writeRows } from "./inference-rows-file.ts";
import type { Case } from "./inference-rows.ts";
import {
  abstentionTable,
  allQuantities,
  groupNames,
  observe,
  reportOf,
  tableOf,
  unscoredTable,
} from "./inference-score.ts";
import type { Observation, Report } from "./inference-score.ts";

const usage = "usage: npm run validate:inference -- FILE.csv [--json] [--leave-out] [--refit] [--rows FILE] [--all]";

interface Titled {
  readonly title: string;
  readonly report: Report;
}

/** Separate reports of steps and of first tokens. A quantity that the file does not contain has no report. */
function reportsOf(title: string, observations: readonly Observation[], key: (one: Observation) => string): Titled[] {
  const parts = [
    { title, wanted: observations.filter(({ quantity }) => quantity !== "ttft") },
    { title: `${title}: time to first token`, wanted: observations.filter(({ quantity }) => quantity === "ttft") },
  ];
  return parts
    .filter(({ wanted }) => wanted.length > 0)
    .map((part) => ({ title: part.title, report: reportOf(part.wanted, key) }));
}

function leftOutReports(
  cases: readonly Case[],
  groups: ReadonlyMap<string, string>,
): { readonly reports: readonly Titled[]; readonly sources: readonly Observation[] } {
  const accelerators = leaveOut(cases, groups, (one) => one.accelerator);
  const sources = leaveOut(cases, groups, (one) => groups.get(one.source) ?? one.source);
  const reports = [
    ...reportsOf("accelerator left out", accelerators, (one) => one.accelerator),
    ...reportsOf("source left out", sources, (one) => one.group),
  ];
  return { reports, sources };
}

function writeRefitted(cases: readonly Case[], constants: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(constants)) process.stdout.write(`${name} ${value.toPrecision(3)}\n`);
  for (const { architecture, engine, hasExperts, matrixClass, sourceCount } of evidenceOf(cases)) {
    const line = [architecture, engine, hasExperts ? "experts" : "dense", matrixClass, sourceCount];
    process.stdout.write(`${JSON.stringify(line)},\n`);
  }
}

const options = {
  json: { type: "boolean", default: false },
  "leave-out": { type: "boolean", default: false },
  refit: { type: "boolean", default: false },
  all: { type: "boolean", default: false },
  rows: { type: "string" },
} as const;

function main(): void {
  const { values, positionals } = argumentsOf({ allowPositionals: true, options }, usage);
  const [file, ...further] = positionals;
  if (file === undefined || further.length > 0) throw new InputError(usage);
  const read = readCases(file, values.all);
  const { cases, abstentions, unscored } = read;
  if (values.rows !== undefined) checkWritable(values.rows);
  if (values.rows !== undefined) writeRows(values.rows, read, fittedInference);
  const groups = groupNames(cases);
  const observations = observe(cases, groups, fittedInference, { wanted: allQuantities });
  const reports = reportsOf("as shipped, by source", observations, (one) => one.group);
  let constants: Readonly<Record<string, number>> = fittedInference;
  if (values["leave-out"] || values.refit) {
    const leftOut = leftOutReports(cases, groups);
    reports.push(...leftOut.reports);
    if (values.refit) constants = { ...fit(cases, groups), ...spreadsOf(leftOut.sources) };
  }
  if (values.json) {
    const notScored = unscored.map(({ id, source, reason }) => ({ id, source, reason }));
    const result = { reports, abstentions, unscored: notScored, observations, ...(values.refit ? { constants } : {}) };
    process.stdout.write(`${JSON.stringify(result, undefined, 1)}\n`);
  } else {
    for (const { title, report } of reports) process.stdout.write(`${tableOf(title, report)}\n\n`);
    process.stdout.write(`${abstentionTable(abstentions, cases.length + abstentions.length)}\n`);
    if (unscored.length > 0) process.stdout.write(`${unscoredTable(unscored)}\n`);
    if (values.refit) writeRefitted(cases, constants);
  }
  if (observations.length === 0) throw new InputError("nothing to compare: no row is scored and answered");
}

withInputErrors(main);
