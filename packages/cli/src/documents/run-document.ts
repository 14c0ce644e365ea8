/**
 * The document that is equivalent to the options of `headroom run`, so that both share one reader and one set of
 * messages.
 */
import { randomBytes } from "node:crypto";
import path from "node:path";
import { pathText, readDocument, type ModelRequest, type WorkloadSpec } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import type { OptionDefinition } from "../command.ts";

/** Values of options by name. Options that stand for a field of the workload file set that field directly. */
export interface RunOptions extends Readonly<Record<string, unknown>> {
  readonly name?: string;
  readonly accelerators?: string;
  readonly after?: readonly string[];
  readonly env?: readonly string[];
  readonly model?: string;
  readonly sequence?: string;
  readonly batch?: string;
  readonly preemptible?: boolean;
}

/** Options that need a conversion before they become fields of the document. */
const otherFlags: Readonly<Record<string, string>> = {
  run: "the command",
  model: "--model",
  "model.sequence": "--sequence",
  "model.globalBatch": "--batch",
};

export interface RunDocument {
  readonly spec: WorkloadSpec;
  readonly model?: ModelRequest | undefined;
}

export interface GivenOptions {
  readonly options: readonly OptionDefinition[];
  readonly given: RunOptions;
}

/** Fields of a document that runs the command. */
export function commandFields(command: readonly string[], given: RunOptions): Record<string, unknown> {
  if (command.length === 0) throw new CliError("no command is given: headroom run -- COMMAND …", exitCode.usage);
  refuseValueOfFlag(command, given);
  return { kind: "train", name: generatedName(command), run: commandLine(command) };
}

/** The document with the fields that options state. `fields`: of the command or of a batch script. */
export function withOptions(
  fields: Readonly<Record<string, unknown>>,
  { options, given }: GivenOptions,
  directory: string,
): Record<string, unknown> {
  const document: Record<string, unknown> = {
    ...fields,
    dir: path.resolve(directory, typeof fields["dir"] === "string" ? fields["dir"] : "."),
    gang: { ...(fields["gang"] as object | undefined) },
    after: given.after?.map(dependency) ?? fields["after"],
    model: modelOf(given, directory),
  };
  if (given.accelerators !== undefined) setField(document, ["gang", "accelerators"], numeric(given.accelerators));
  for (const option of options) {
    const value = given[valueName(option)];
    if (option.field === undefined || value === undefined) continue;
    const isNumber = /<(?:count|priority)>/.test(option.flags);
    setField(document, option.field.split("."), isNumber ? numeric(value) : value);
  }
  return withoutUndefined(document);
}

export function runDocument(
  document: Readonly<Record<string, unknown>>,
  options: readonly OptionDefinition[],
): RunDocument {
  const reading = readDocument(document);
  if (reading.ok && reading.document.kind === "workload") return reading.document;
  const problems = reading.ok ? [] : reading.problems;
  const lines = problems.map(({ path: steps, message }) => {
    const field = pathText(steps);
    const option = options.find((each) => each.field === field);
    const flag = option === undefined ? (otherFlags[field] ?? flagOf(steps)) : `--${longName(option)}`;
    return `${flag ?? field}: ${message}`;
  });
  throw new CliError(lines.join("\n"), exitCode.usage);
}

/** Values of the field `preemptible` in workload files. */
const preemptibleValues: ReadonlySet<string> = new Set(["true", "false", "aboveGuarantee"]);

/** `run --preemptible false sleep 60` would run a program named `false`, because the option takes no value. */
function refuseValueOfFlag([first = "", ...rest]: readonly string[], { preemptible }: RunOptions): void {
  if (preemptible === undefined || rest.length === 0 || !preemptibleValues.has(first)) return;
  throw new CliError(
    `--preemptible takes no value: write --preemptible or --no-preemptible (without either, work can be preempted above the guarantee). To run the program ${first}, write /bin/${first}.`,
    exitCode.usage,
  );
}

/** The repeatable option that sets a field; `null`: no option does. */
function flagOf(steps: readonly (string | number)[]): string | null {
  if (steps[0] === "env") return `--env ${String(steps[1])}`;
  return steps[0] === "after" ? "--after" : null;
}

/** An argument that ends in `.json` is a config.json; any other is a preset. The other model options need this one. */
function modelOf({ model, sequence, batch }: RunOptions, directory: string): Record<string, unknown> | undefined {
  if (model === undefined && sequence === undefined && batch === undefined) return undefined;
  const named = model?.endsWith(".json") === true ? { config: path.resolve(directory, model) } : { preset: model };
  return { ...named, sequence: numeric(sequence), globalBatch: numeric(batch) };
}

/** A dependency, as `NAME` or `NAME:on`; names contain no colon. */
export function dependency(text: string): Record<string, unknown> {
  const [workload = "", on] = text.split(":", 2);
  return on === undefined ? { workload } : { workload, on };
}

/** `gpus` of `--gpus <count>`. */
const longName = ({ flags }: OptionDefinition): string => /--([a-z-]+)/.exec(flags)?.[1] ?? "";

/** `waitForType` of `--wait-for-type`. */
const valueName = (option: OptionDefinition): string =>
  longName(option).replaceAll(/-([a-z])/g, (_hyphen, letter: string) => letter.toUpperCase());

function setField(document: Record<string, unknown>, [step = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) document[step] = value;
  else setField((document[step] ??= {}) as Record<string, unknown>, rest, value);
}

/** Only text that looks like a number becomes a number. The reader reports other values. */
function numeric(value: unknown): unknown {
  return typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
}

function withoutUndefined(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(
    kept.map(([name, each]) => {
      const isMapping = typeof each === "object" && each !== null && !Array.isArray(each);
      return [name, isMapping ? withoutUndefined(each as Record<string, unknown>) : each];
    }),
  );
}

/** One word is a shell command line. Several words are a program with its arguments, which are quoted for the shell. */
function commandLine(command: readonly string[]): string {
  const [first = "", ...rest] = command;
  return rest.length === 0 ? first : command.map(quoted).join(" ");
}

function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The values of the options `--env`: a mode, names whose values are captured, and values. */
export interface EnvironmentOptions {
  readonly mode: "none" | "all" | null;
  readonly names: readonly string[];
  readonly values: Readonly<Record<string, string>>;
}

export function environmentOptions(texts: readonly string[]): EnvironmentOptions {
  const values: Record<string, string> = {};
  const names: string[] = [];
  let mode: "none" | "all" | null = null;
  for (const text of texts) {
    const equals = text.indexOf("=");
    if (text === "none" || text === "all") mode = text;
    else if (equals > 0) values[text.slice(0, equals)] = text.slice(equals + 1);
    else if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text)) names.push(text);
    else throw new CliError(`--env: write none, all, NAME or NAME=VALUE, got ${JSON.stringify(text)}`, exitCode.usage);
  }
  return { mode, names, values };
}

/**
 * A name such as `train-1f3a` for `python3 train.py`. The suffix makes it unique, because two unfinished workloads
 * cannot have one name.
 */
function generatedName(command: readonly string[]): string {
  const words = command.length === 1 ? (command[0] ?? "").split(/\s+/) : command;
  const script = words.find((word) => /\.(?:py|sh|m?js|ts)$/.test(word)) ?? words[0] ?? "";
  const stem = path
    .basename(script)
    .replace(/\.[a-z]+$/i, "")
    .replaceAll(/[^A-Za-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return `${stem.slice(0, 40) || "run"}-${randomBytes(2).toString("hex")}`;
}
