/**
 * Reads the files of `apply -f`. Either all are valid, or every problem is reported with its place and nothing is
 * applied.
 */
import { homedir } from "node:os";
import path from "node:path";
import {
  checkDocuments,
  checkFabricLevels,
  pathText,
  readDocument,
  type HeadroomDocument,
  type ModelRequest,
  type WorkloadSpec,
} from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import type { Terminal } from "../terminal.ts";
import { sourcesOf, type Source } from "./sources.ts";
import { parseYaml, type YamlDocument } from "./yaml-source.ts";

const PROBLEMS_SHOWN_MAX = 50;

export interface LoadedDocument {
  readonly document: HeadroomDocument;
  /** Name of the file in messages: `train.yaml`, or `stdin`. */
  readonly file: string;
  /** The place of a path in the document, as `train.yaml:7:3`. */
  placeText(path: readonly (string | number)[], isAboutKey?: boolean): string;
}

/** `targets`: files, directories (their YAML files, without subdirectories) and `-` for stdin. */
export async function loadDocuments(
  targets: readonly string[],
  terminal: Terminal,
): Promise<readonly LoadedDocument[]> {
  const sources: Source[] = [];
  for (const target of targets) sources.push(...(await sourcesOf(target, terminal)));
  const problems: string[] = [];
  const loaded = sources.flatMap((source) => documentsOf(source, problems));
  if (problems.length === 0) {
    for (const { document, path: steps, isAboutKey, message } of checkDocuments(loaded.map((each) => each.document))) {
      problems.push(`${loaded[document]?.placeText(steps, isAboutKey) ?? ""}: ${fieldText(steps)}${message}`);
    }
  }
  if (problems.length > 0) throw new CliError(problemList(problems), exitCode.usage);
  if (loaded.length === 0) {
    throw new CliError(
      `there is no document in ${targets.join(", ")}; a document begins with a line like "kind: train" (docs/reference/workload-files.md)`,
      exitCode.usage,
    );
  }
  return loaded;
}

/** Rejects names of fabric levels that no site has. The fleet is read only if a document names a level. */
export async function checkLevels(
  loaded: readonly LoadedDocument[],
  fleet: () => Promise<{ readonly sites: readonly { readonly fabricLevels: readonly string[] }[] }>,
): Promise<void> {
  const documents = loaded.map((each) => each.document);
  if (checkFabricLevels(documents, []).length === 0) return;
  const { sites } = await fleet();
  const problems = checkFabricLevels(
    documents,
    sites.map(({ fabricLevels }) => fabricLevels),
  ).map(
    ({ document, path: steps, message }) =>
      `${loaded[document]?.placeText(steps) ?? ""}: ${fieldText(steps)}${message}`,
  );
  if (problems.length > 0) throw new CliError(problemList(problems), exitCode.usage);
}

export function problemList(problems: readonly string[]): string {
  const unique = [...new Set(problems)];
  const shown = unique.slice(0, PROBLEMS_SHOWN_MAX);
  const rest = unique.length - shown.length;
  const title =
    unique.length === 1 ? "1 problem, nothing was changed" : `${unique.length} problems, nothing was changed`;
  return [title, ...shown, ...(rest > 0 ? [`… and ${rest} more`] : [])].join("\n");
}

function documentsOf(source: Source, problems: string[]): LoadedDocument[] {
  const { documents, problems: yamlProblems } = parseYaml(source.text);
  for (const { line, column, message } of yamlProblems) problems.push(`${source.file}:${line}:${column}: ${message}`);
  return documents.flatMap((yaml): LoadedDocument[] => {
    const placeText = placeTextOf(source, yaml);
    const reading = readDocument(yaml.value);
    if (reading.ok) return [{ document: located(reading.document, source.directory), file: source.file, placeText }];
    const placed = reading.problems.map((problem) => ({
      ...problem,
      place: yaml.placeOf(problem.path, problem.isAboutKey),
    }));
    // Sorted by position in the file.
    placed.sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column);
    for (const { path: steps, isAboutKey, message } of placed) {
      problems.push(`${placeText(steps, isAboutKey)}: ${fieldText(steps)}${message}`);
    }
    return [];
  });
}

function placeTextOf(source: Source, yaml: YamlDocument): LoadedDocument["placeText"] {
  return (steps, isAboutKey = false) => {
    const { line, column } = yaml.placeOf(steps, isAboutKey);
    return `${source.file}:${line}:${column}`;
  };
}

export function fieldText(steps: readonly (string | number)[]): string {
  return steps.length === 0 ? "" : `${pathText(steps)}: `;
}

/** Relative paths are resolved against the file. Work without a working directory runs in the folder of its file (`workingDir`). */
function located(document: HeadroomDocument, directory: string): HeadroomDocument {
  if (document.kind === "schedule") {
    const { schedule } = document;
    return { kind: "schedule", schedule: { ...schedule, spec: locatedSpec(schedule.spec, directory) } };
  }
  if (document.kind === "pipeline") {
    const { pipeline } = document;
    const steps = pipeline.steps.map((step) =>
      step.spec === null ? step : { ...step, spec: locatedSpec(step.spec, directory) },
    );
    return { kind: "pipeline", pipeline: { ...pipeline, steps } };
  }
  if (document.kind !== "workload") return document;
  const { spec, model } = document;
  const locatedModel = model === undefined ? {} : { model: locatedFiles(model, directory) };
  return { kind: "workload", spec: locatedSpec(spec, directory), ...locatedModel };
}

function locatedSpec(spec: WorkloadSpec, directory: string): WorkloadSpec {
  const dir = workingDir(spec.dir, directory);
  const checkpointDir = spec.checkpointDir === null ? null : absolute(spec.checkpointDir, directory);
  return { ...spec, dir, checkpointDir };
}

/** `null`, written as `own`: the directory that the executor gives to each attempt. */
const workingDir = (written: string | null, directory: string): string | null =>
  written === "own" ? null : written === null ? directory : absolute(written, directory);

function locatedFiles(model: ModelRequest, directory: string): ModelRequest {
  const file = (written: string | null): string | null => (written === null ? null : absolute(written, directory));
  return { ...model, config: file(model.config), catalogue: file(model.catalogue), profile: file(model.profile) };
}

function absolute(written: string, directory: string): string {
  const isInHome = written === "~" || written.startsWith("~/");
  return path.resolve(directory, isInHome ? path.join(homedir(), written.slice(1)) : written);
}
