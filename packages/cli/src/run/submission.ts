/** The workload that `headroom run` submits: a command or a batch script, with the submitter's variables and the options. */
import { environmentName, environmentValue, isReservedVariable } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext, Invocation } from "../command.ts";
import {
  commandFields,
  environmentOptions,
  runDocument,
  withOptions,
  type RunDocument,
} from "../documents/run-document.ts";
import { batchScriptIn, runnableWords, type BatchScriptFile } from "./batch-script.ts";
import { capturedEnvironment, type CapturedEnvironment } from "./captured-environment.ts";
import { runOptions, type RunCommandOptions } from "./run-options.ts";

export interface Submission {
  /** `null`: a command is submitted. */
  readonly script: BatchScriptFile | null;
  readonly environment: CapturedEnvironment;
  /** The document in the form of workload files. */
  readonly document: Readonly<Record<string, unknown>>;
  /** The workload; a problem if the document is invalid. */
  read(): RunDocument;
}

/**
 * Time in ms: a first attempt that fails within it is not retried, because most likely the command is wrong. An import
 * of a large framework takes a few seconds.
 */
const QUICK_FAILURE = "10s";

export async function submissionOf(
  context: CommandContext,
  { args, options: given, isAfterDashes: isCommand }: Invocation<RunCommandOptions>,
): Promise<Submission> {
  const { terminal } = context;
  const channel = given.notify?.includes(":") === true ? undefined : given.notify;
  const script = await batchScriptIn({ args, isCommand }, terminal, {
    ...(given.array === undefined ? {} : { array: given.array }),
    ...(channel === undefined ? {} : { notify: channel }),
    names: runOptions.flatMap(({ flags }) => flags.match(/--[a-z-]+/g) ?? []),
  });
  const fields = script?.reading.document ?? (await fieldsOfCommand(args, isCommand, { given, context }));
  const { environment, values } = environmentOf(given, script, terminal.env);
  // The script states the occasions of a channel that is named without any.
  const hasOccasions = channel !== undefined && script?.reading.document["notify"] !== undefined;
  const options = { options: runOptions, given: hasOccasions ? { ...given, notify: undefined } : given };
  const quick = script === null && given.retries === undefined ? { retries: { quickFailure: QUICK_FAILURE } } : {};
  const document = withOptions(
    { ...fields, ...quick, env: { ...environment.variables, ...values } },
    options,
    terminal.workingDirectory,
  );
  return { script, environment, document, read: () => withHold(runDocument(document, runOptions), script) };
}

async function fieldsOfCommand(
  args: readonly string[],
  isCommand: boolean,
  { given, context }: { readonly given: RunCommandOptions; readonly context: CommandContext },
): Promise<Record<string, unknown>> {
  const fields = commandFields(await runnableWords({ args, isCommand }, context.terminal), given);
  if (given.array === undefined) return fields;
  const { arrayLines, readArray } = await import("@headroom/spec/slurm");
  const reading = readArray(given.array);
  if (!reading.ok) throw new CliError(`--array ${reading.message}`, exitCode.usage);
  const { indexes, atOnce } = reading.value;
  return {
    ...fields,
    kind: "batch",
    run: [...arrayLines(reading.value), fields["run"]].join("\n"),
    tasks: indexes.length,
    ...(atOnce === null ? {} : { tasksAtOnce: atOnce }),
  };
}

function environmentOf(
  given: RunCommandOptions,
  script: BatchScriptFile | null,
  env: Readonly<Record<string, string | undefined>>,
): { readonly environment: CapturedEnvironment; readonly values: Readonly<Record<string, string>> } {
  const stated = environmentOptions(given.env ?? []);
  const exported = script?.reading.exported;
  const mode = stated.mode ?? (exported === undefined ? "tools" : exported.mode === "all" ? "all" : "none");
  const names = [...stated.names, ...(exported?.names ?? [])];
  for (const name of stated.names)
    if (env[name] === undefined) throw new CliError(`--env ${name}: the variable is not set`, exitCode.usage);
  const environment = capturedEnvironment(env, { mode, names }, canSet);
  // With ALL, the submitter's value takes precedence over an assignment of --export, as in Slurm.
  const assigned = Object.entries(exported?.values ?? {}).filter(([name]) => !(name in environment.variables));
  return { environment, values: { ...Object.fromEntries(assigned), ...stated.values } };
}

const canSet = (name: string, value: string): boolean =>
  environmentName.safeParse(name).success && environmentValue.safeParse(value).success && !isReservedVariable(name);

/** A job that the script holds is submitted held. Workload files have no such field. */
function withHold(document: RunDocument, script: BatchScriptFile | null): RunDocument {
  return script?.reading.isHeld === true ? { ...document, spec: { ...document.spec, hold: true } } : document;
}
