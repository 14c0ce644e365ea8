/**
 * headroom.yaml: the settings of `headroom up` in a file. An unknown field is refused with its line and a suggestion.
 * Options of the command override the file. Secrets are references, so that the file can be kept with other
 * configuration.
 */
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { nearestName } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { problemList } from "../documents/load-documents.ts";
import { sourcesOf } from "../documents/sources.ts";
import { parseYaml } from "../documents/yaml-source.ts";
import type { YamlDocument } from "../documents/yaml-source.ts";
import type { Terminal } from "../terminal.ts";
import { optionProperty, upSettings } from "./up-settings.ts";
import type { UpSetting, UpValues } from "./up-settings.ts";

type Steps = readonly string[];

interface Problem {
  readonly steps: Steps;
  readonly message: string;
  readonly isAboutKey?: boolean;
}

/** Reads the file. Throws a `CliError` that lists every problem with file, line and column. */
export async function readConfigFile(terminal: Terminal, file: string): Promise<UpValues> {
  const [source] = await sourcesOf(file, terminal);
  if (source === undefined) throw new CliError(`${file}: is not a file`, exitCode.usage);
  const { documents, problems } = parseYaml(source.text);
  const at = ({ line, column, message }: { line: number; column: number; message: string }): string =>
    `${source.file}:${line}:${column}: ${message}`;
  if (problems.length > 0) throw new CliError(problemList(problems.map(at)), exitCode.usage);
  const [document] = documents;
  if (documents.length > 1) throw new CliError(`${source.file}: the file must contain one document`, exitCode.usage);
  if (document === undefined) return {};
  const { values, found } = valuesOf(document, terminal, source.directory);
  if (found.length === 0) return values;
  const lines = found.map(({ steps, message, isAboutKey }) =>
    at({ ...document.placeOf(steps, isAboutKey === true), message: `${steps.join(".")}: ${message}` }),
  );
  throw new CliError(problemList(lines), exitCode.usage);
}

function valuesOf(
  { value }: YamlDocument,
  { env }: Terminal,
  directory: string,
): { readonly values: UpValues; readonly found: readonly Problem[] } {
  if (!isObject(value))
    return { values: {}, found: [{ steps: [], message: "the file must have fields, such as `port:`" }] };
  const values: Record<string, unknown> = {};
  const found: Problem[] = [];
  const read = (object: Readonly<Record<string, unknown>>, above: Steps): void => {
    for (const [key, each] of Object.entries(object)) {
      const steps = [...above, key];
      const field = steps.join(".");
      const setting = upSettings.find((candidate) => candidate.field === field);
      if (setting === undefined && upSettings.some((candidate) => candidate.field.startsWith(`${field}.`))) {
        if (isObject(each)) read(each, steps);
        else found.push({ steps, message: "must be an object" });
      } else if (setting === undefined) found.push({ steps, message: unknownField(key, above), isAboutKey: true });
      else {
        const message = valueProblem(setting, each);
        if (message === null) values[field] = resolved(setting, each, { env, directory, steps, found });
        else found.push({ steps, message });
      }
    }
  };
  read(value, []);
  return { values, found };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function unknownField(key: string, above: Steps): string {
  const prefix = above.map((step) => `${step}.`).join("");
  const known = new Set(
    upSettings.flatMap(({ field }) =>
      field.startsWith(prefix) ? [field.slice(prefix.length).split(".")[0] ?? ""] : [],
    ),
  );
  const nearest = nearestName(key, [...known]);
  return nearest === undefined
    ? `unknown field; the fields here are ${[...known].join(", ")}`
    : `unknown field; did you mean ${nearest}?`;
}

/** Returns the problem of a value, as the rest of a sentence about it; `null`: the value is valid. */
function valueProblem({ notation, min = 0, max = 0 }: UpSetting, value: unknown): string | null {
  switch (notation) {
    case "switch":
      return typeof value === "boolean" ? null : "must be true or false";
    case "count":
      return Number.isInteger(value) && Number(value) >= min && Number(value) <= max
        ? null
        : `must be a whole number between ${min} and ${max}, got ${String(value)}`;
    case "text":
    case "path":
      return isText(value) ? null : "must be text";
    case "texts":
      return Array.isArray(value) && value.every(isText) ? null : "must be a list of texts";
    case "secret":
      return isObject(value) && Object.keys(value).length === 1 && isText(value["env"] ?? value["file"])
        ? null
        : "must be a reference, { env: NAME } or { file: PATH }: the secret itself does not belong into this file";
  }
}

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";

interface Resolution {
  readonly env: Terminal["env"];
  readonly directory: string;
  readonly steps: Steps;
  readonly found: Problem[];
}

/** Paths are relative to the file's folder. A secret is replaced by the text that it refers to. */
function resolved({ notation }: UpSetting, value: unknown, { env, directory, steps, found }: Resolution): unknown {
  if (notation === "path") return path.resolve(directory, String(value));
  if (notation !== "secret") return value;
  const { env: variable, file } = value as { readonly env?: string; readonly file?: string };
  try {
    const text = variable === undefined ? secretFile(path.resolve(directory, file ?? "")) : env[variable];
    if (text !== undefined && text.trim() !== "") return text.trim();
    found.push({
      steps,
      message: `there is no text in ${variable === undefined ? file : `the environment variable ${variable}`}`,
    });
  } catch (error) {
    found.push({ steps, message: error instanceof Error ? error.message : String(error) });
  }
  return undefined;
}

function secretFile(file: string): string {
  const mode = statSync(file).mode & 0o777;
  if (process.platform !== "win32" && (mode & 0o007) !== 0)
    throw new Error(`every user of this machine may read ${file}. Run: chmod o= ${file}`);
  return readFileSync(file, "utf8");
}

/** The options that the user typed, as values. Commander's texts become numbers. */
export function valuesOfOptions(options: Readonly<Record<string, unknown>>): UpValues {
  const values: Record<string, unknown> = {};
  for (const setting of upSettings) {
    const { flags, field, notation, isNegated } = setting;
    if (flags === undefined) continue;
    const typed = options[optionProperty(flags)];
    // Commander sets the property of a negated option to true if the user does not type it.
    if (typed === undefined || (isNegated === true && typed === true)) continue;
    const isNumber = notation === "count" && typeof typed === "string" && /^\d{1,6}$/.test(typed);
    const value = isNumber ? Number(typed) : typed;
    const message = valueProblem(setting, value);
    if (message !== null) throw new CliError(`${flags.split(" ", 1)[0]} ${message}`, exitCode.usage);
    values[field] = value;
  }
  return values;
}
