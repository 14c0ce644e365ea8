/**
 * `npm run validate:training -- FILE.csv … [--leave-out] [--refit] [--rows FILE] [--json]`: compares the training model
 * with measurements. The times of rows with `score` 1 are scored (of all rows, if the file has no such column).
 * `--leave-out` fits the constants again without each source group, then without each architecture, and scores the rows
 * that were left out. `--refit` prints the constants that are fitted to all rows, and the kinds of runs among the rows.
 * Measured peak memory is compared with the stage that `reportedStage` names.
 */
import {
  estimateMemory,
  estimateStep,
  evidenceFor,
  evidenceOf,
  fitVerdict,
  memoryConstants,
  type EvidencePoint,
  type FittedConstant,
  measuredRuns,
  predictionInterval,
  runKindOf,
  type ParallelPlan,
  trainingConstants,
  trainingConstantValues,
  type TrainingConstants,
} from "@headroom/perf";
import path from "node:path";
import { argumentsOf, checkWritable, InputError, withInputErrors } from "./input-error.ts";
import { measurementRows } from "./measurement-file.ts";
import { fitConstants, fitMemory } from "./training-fit.ts";
import {
  abstentionText,
  memoryScoreOf,
  memoryText,
  reasonCounts,
  sectionOf,
  sectionText,
  type MemoryScore,
  type Scored,
  type Section,
} from "./training-report.ts";
import { writeRows } from "./training-rows-file.ts";
import { readTrainingRow, reportedStage, trainingColumns, type Reading, type TrainingRow } from "./training-rows.ts";

const usage = "usage: npm run validate:training -- FILE.csv … [--leave-out] [--refit] [--rows FILE] [--json]";

interface Arguments {
  readonly files: readonly string[];
  readonly flags: ReadonlySet<string>;
  readonly rowsFile: string | undefined;
}

const options = {
  "leave-out": { type: "boolean" },
  refit: { type: "boolean" },
  json: { type: "boolean" },
  rows: { type: "string" },
} as const;

function readArguments(): Arguments {
  const { values, positionals } = argumentsOf({ allowPositionals: true, options }, usage);
  if (positionals.length === 0) throw new InputError(usage);
  const { rows, ...switches } = values;
  return { files: positionals, flags: new Set(Object.keys(switches)), rowsFile: rows };
}

function readRows(file: string): readonly Reading[] {
  return measurementRows(file, trainingColumns).map(({ line, fields }) =>
    readTrainingRow(fields, `${path.basename(file)}:${line}`),
  );
}

function scoredWith(
  rows: readonly TrainingRow[],
  constants: TrainingConstants,
  evidence: readonly EvidencePoint[],
): readonly Scored[] {
  return rows.map((row) => {
    const estimate = estimateStep(row.job, row.plan, row.system, constants);
    const reading = evidenceFor(runKindOf(row.job, row.plan, row.system), evidence);
    return { row, estimate, interval: predictionInterval(estimate, reading) };
  });
}

/**
 * The kinds of runs among these rows, in the form of `measured-runs.ts`. That file lists the kinds of runs to which the
 * shipped constants were fitted.
 */
function evidenceAmong(rows: readonly TrainingRow[]): readonly EvidencePoint[] {
  return evidenceOf(
    rows.map(({ job, plan, system, group }) => ({ kind: runKindOf(job, plan, system), source: group })),
  );
}

/** Predicts every row. The constants are fitted to the rows of all other parts, and only these rows are evidence. */
function leftOut(rows: readonly TrainingRow[], partOf: (row: TrainingRow) => string): readonly Scored[] {
  return [...new Set(rows.map(partOf))].flatMap((part) => {
    const others = rows.filter((row) => partOf(row) !== part);
    return scoredWith(
      rows.filter((row) => partOf(row) === part),
      fitConstants(others),
      evidenceAmong(others),
    );
  });
}

const architectureOf = ({ job, plan, system }: TrainingRow): string => runKindOf(job, plan, system).architecture;

/**
 * Accuracy on rows that were not used for the fit. In the first sections one source is left out at a time. In the last section one whole architecture is left out, which measures the prediction for a
 * new architecture of which only the datasheet is known.
 */
function leftOutSections(timed: readonly TrainingRow[]): readonly Section[] {
  const scored = leftOut(timed, ({ group }) => group);
  const parts: readonly (readonly [string, readonly Scored[]])[] = [
    ["Left out: constants fitted without the group, all rows", scored],
    ["Left out, GPU rows", scored.filter(({ row }) => !row.isTpu)],
    ["Left out, TPU rows", scored.filter(({ row }) => row.isTpu)],
  ];
  const architectures = leftOut(timed, architectureOf).map((one) => ({
    ...one,
    row: { ...one.row, group: architectureOf(one.row) },
  }));
  return [...parts, ["Left out: whole architectures", architectures] as const]
    .filter(([, rows]) => rows.length > 0)
    .map(([title, rows]) => sectionOf(title, rows));
}

function judgedPlan({ memoryJudgement, plan }: TrainingRow): ParallelPlan {
  return memoryJudgement === "as stated" ? plan : { ...plan, recomputation: "full" };
}

function memoryScore(rows: readonly TrainingRow[]): MemoryScore {
  const measured = rows.filter((row) => row.memoryGib !== undefined && row.status !== "oom");
  const errors = measured.map((row) => {
    const reported = reportedStage(row.job, estimateMemory(row.job, row.plan));
    return reported.bytes / 2 ** 30 / (row.memoryGib ?? Number.NaN) - 1;
  });
  const isCalled = (row: TrainingRow): boolean =>
    fitVerdict(estimateMemory(row.job, judgedPlan(row)), row.system.cluster.node.accelerator) === "does not fit";
  const ran = rows.filter((row) => row.status === "ok");
  return memoryScoreOf(
    errors,
    rows.filter((row) => row.status === "oom").map(isCalled),
    ran.filter((row) => row.memoryJudgement !== "unknown policy").map(isCalled),
    ran.filter((row) => row.memoryJudgement === "unknown policy").length,
  );
}

/** The line of `measured-runs.ts` for one kind of run. */
function evidenceLine({
  architecture,
  stack,
  hasExperts,
  matrixClass,
  acceleratorCount,
  sourceCount,
}: EvidencePoint): string {
  const kind = JSON.stringify([architecture, stack, hasExperts ? "experts" : "dense", matrixClass]);
  return `${kind.slice(0, -1)},${acceleratorCount},${sourceCount}]\n`;
}

function main(): void {
  const { files, flags, rowsFile } = readArguments();
  const readings = files.flatMap(readRows);
  if (rowsFile !== undefined) checkWritable(rowsFile);
  if (rowsFile !== undefined) writeRows(rowsFile, readings, trainingConstantValues());
  const rows = readings.flatMap((reading) => (reading.kind === "row" ? [reading.row] : []));
  const unreadable = readings.flatMap((reading) => (reading.kind === "unreadable" ? [reading] : []));
  const timed = rows.filter((row) => row.isScored && row.stepSeconds !== undefined && row.status !== "oom");
  const shipped = scoredWith(timed, trainingConstantValues(), measuredRuns);
  const sections = timed.length === 0 ? [] : [sectionOf("Step time, constants as shipped", shipped)];
  if (flags.has("leave-out")) sections.push(...leftOutSections(timed));
  const memory = memoryScore(rows);
  const measured = rows.filter((row) => row.memoryGib !== undefined && row.job.software.stack === "eager");
  const constants = flags.has("refit") ? { ...fitConstants(timed), ...fitMemory(measured) } : undefined;
  const abstained = reasonCounts(unreadable);
  if (flags.has("json")) {
    process.stdout.write(
      `${JSON.stringify({ sections, memory, abstained, ...(constants ? { constants } : {}) }, null, 2)}\n`,
    );
  } else {
    process.stdout.write(sections.map(sectionText).join("\n"));
    process.stdout.write(`${sections.length === 0 ? "" : "\n"}${memoryText(memory)}`);
    process.stdout.write(abstentionText(unreadable, readings.length));
    if (constants !== undefined) writeRefitted(timed, constants);
  }
  if (timed.length === 0 && memoryText(memory) === "") {
    throw new InputError("nothing to compare: no row that is read has a step time, a peak of memory or a status");
  }
}

function writeRefitted(timed: readonly TrainingRow[], constants: Readonly<Record<string, number>>): void {
  process.stdout.write(evidenceAmong(timed).map(evidenceLine).join(""));
  const known: Readonly<Record<string, FittedConstant>> = { ...trainingConstants, ...memoryConstants };
  for (const [name, value] of Object.entries(constants)) {
    process.stdout.write(`${name.padEnd(24)}${value.toPrecision(4).padStart(10)}  ${known[name]?.unit ?? ""}\n`);
  }
}

withInputErrors(main);
