/** Reads the files of `apply -f`: all of them are fine, or every problem is told with its place and nothing happens. */
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { addAbortSignal } from "node:stream";
import {
  checkDocuments,
  checkFabricLevels,
  pathText,
  readDocument,
  type HeadroomDocument,
  type ModelWish,
  type WorkloadSpec,
} from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import type { Terminal } from "../terminal.ts";
import { parseYaml, type YamlDocument } from "./yaml-source.ts";

/** Thousands of workloads fit; whoever has more than that has generated them and can use the API. */
const FILE_BYTES_MAX = 1_048_576;
const FILES_MAX = 1_000;
const PROBLEMS_SHOWN_MAX = 50;

export interface LoadedDocument {
  readonly document: HeadroomDocument;
  /** As in messages: `train.yaml`, or `stdin`. */
  readonly file: string;
  /** `train.yaml:7:3` for a path into the document. */
  placeText(path: readonly (string | number)[], isAboutKey?: boolean): string;
}

interface Source {
  readonly file: string;
  /** What relative paths in the file start from. */
  readonly directory: string;
  readonly text: string;
}

/** `targets`: files, directories (their YAML files, not those of directories below) and `-` for stdin. */
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
      `there is no document in ${targets.join(", ")}; write one like "kind: train" (docs/workload-files.md)`,
      exitCode.usage,
    );
  }
  return loaded;
}

/** Refuses levels of the fabric that neither the fleet nor the documents have. */
export function checkLevels(loaded: readonly LoadedDocument[], known: readonly string[]): void {
  const documents = loaded.map((each) => each.document);
  const problems = checkFabricLevels(documents, known).map(
    ({ document, path: steps, message }) =>
      `${loaded[document]?.placeText(steps) ?? ""}: ${fieldText(steps)}${message}`,
  );
  if (problems.length > 0) throw new CliError(problemList(problems), exitCode.usage);
}

function problemList(problems: readonly string[]): string {
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
    // In the order of the file, whatever was looked at first.
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

function fieldText(steps: readonly (string | number)[]): string {
  return steps.length === 0 ? "" : `${pathText(steps)}: `;
}

/** Relative paths become absolute, seen from the file; work without a directory runs where its file lies. */
function located(document: HeadroomDocument, directory: string): HeadroomDocument {
  if (document.kind === "schedule") {
    const { schedule } = document;
    return { kind: "schedule", schedule: { ...schedule, spec: locatedSpec(schedule.spec, directory) } };
  }
  if (document.kind !== "workload") return document;
  const { spec, model } = document;
  const locatedModel = model === undefined ? {} : { model: locatedFiles(model, directory) };
  return { kind: "workload", spec: locatedSpec(spec, directory), ...locatedModel };
}

function locatedSpec(spec: WorkloadSpec, directory: string): WorkloadSpec {
  const dir = spec.dir === null ? directory : absolute(spec.dir, directory);
  const checkpointDir = spec.checkpointDir === null ? null : absolute(spec.checkpointDir, directory);
  return { ...spec, dir, checkpointDir };
}

function locatedFiles(model: ModelWish, directory: string): ModelWish {
  const file = (written: string | null): string | null => (written === null ? null : absolute(written, directory));
  return { ...model, config: file(model.config), catalogue: file(model.catalogue), profile: file(model.profile) };
}

function absolute(written: string, directory: string): string {
  const isInHome = written === "~" || written.startsWith("~/");
  return path.resolve(directory, isInHome ? path.join(homedir(), written.slice(1)) : written);
}

async function sourcesOf(target: string, terminal: Terminal): Promise<Source[]> {
  if (target === "-") return [await stdinSource(terminal)];
  const place = path.resolve(terminal.workingDirectory, target);
  const found = await stat(place).catch((error: unknown) => {
    throw cannotRead(target, error);
  });
  if (!found.isDirectory()) return [await fileSource(target, place)];
  const names = (await readdir(place)).filter((name) => /\.(?:ya?ml|json)$/.test(name)).toSorted();
  if (names.length === 0)
    throw new CliError(`${target} is a directory without .yaml, .yml or .json files`, exitCode.usage);
  if (names.length > FILES_MAX) throw new CliError(`${target} has more than ${FILES_MAX} files`, exitCode.usage);
  return Promise.all(names.map((name) => fileSource(path.join(target, name), path.join(place, name))));
}

async function fileSource(file: string, place: string): Promise<Source> {
  try {
    // One byte more than is allowed tells whether there is more, whatever sort of file this is.
    const bytes = await bounded(createReadStream(place, { end: FILE_BYTES_MAX }), file);
    return { file, directory: path.dirname(place), text: textOf(file, bytes) };
  } catch (error) {
    throw error instanceof CliError ? error : cannotRead(file, error);
  }
}

async function stdinSource({ stdin, workingDirectory, interrupted }: Terminal): Promise<Source> {
  addAbortSignal(interrupted, stdin);
  return { file: "stdin", directory: workingDirectory, text: textOf("stdin", await bounded(stdin, "stdin")) };
}

async function bounded(stream: AsyncIterable<unknown>, file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > FILE_BYTES_MAX) {
      throw new CliError(`${file} is too large: at most ${FILE_BYTES_MAX} bytes are read`, exitCode.usage);
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function textOf(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CliError(`${file} is not UTF-8 text`, exitCode.usage);
  }
}

function cannotRead(file: string, error: unknown): CliError {
  const code = (error as NodeJS.ErrnoException).code;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "there is no such file",
    EACCES: "you may not read it",
    EISDIR: "it is a directory",
  };
  return new CliError(`cannot read ${file}: ${reasons[code ?? ""] ?? String(error)}`, exitCode.usage);
}
