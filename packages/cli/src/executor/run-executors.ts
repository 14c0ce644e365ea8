/** `headroom executor add`, `list` and `remove`. */
import type { Executor } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { instant, plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";
import { settingsOf } from "./settings.ts";

export interface ExecutorCommandOptions {
  readonly json?: boolean;
}

export interface AddExecutorOptions extends ExecutorCommandOptions {
  readonly mode?: string;
  readonly setting?: readonly string[];
}

export async function addExecutor(
  context: CommandContext,
  [type = "", name = ""]: readonly string[],
  { mode, setting = [], json }: AddExecutorOptions,
): Promise<ExitCode> {
  const settings = settingsOf(setting) as never;
  if (mode !== undefined && mode !== "run" && mode !== "follow")
    throw new CliError(`--mode must be run or follow, got ${mode}`, exitCode.usage);
  const client = await context.connect();
  const set = await client.declareExecutor(name, { type, settings, ...(mode === undefined ? {} : { mode }) });
  if (json === true) context.print(JSON.stringify(set, null, 2));
  else context.print(`executor ${set.name} is ${set.action === "created" ? "added" : set.action}`);
  return exitCode.ok;
}

const columns = [
  { title: "EXECUTOR", minWidth: 8 },
  { title: "TYPE" },
  { title: "MODE" },
  { title: "STATE" },
  { title: "SINCE" },
  { title: "NODES", align: "right" },
  { title: "ACCELERATORS", align: "right" },
  { title: "ATTEMPTS", align: "right" },
  { title: "REASON" },
] as const;

const rowOf = (each: Executor): readonly string[] => [
  each.name,
  each.type,
  each.mode,
  each.phase,
  each.sinceMs === undefined ? "" : instant(each.sinceMs),
  String(each.nodes),
  String(each.accelerators),
  String(each.attempts),
  printable(each.reason ?? ""),
];

export async function listExecutors(context: CommandContext, { json }: ExecutorCommandOptions): Promise<ExitCode> {
  const client = await context.connect();
  const { items } = await client.executors();
  if (json === true) context.print(JSON.stringify({ items }, null, 2));
  else context.print(...tableLines([...columns], items.map(rowOf), context.terminal.stdout, context.paint));
  return exitCode.ok;
}

export interface AbandonOptions extends ExecutorCommandOptions {
  readonly reason?: string;
}

export async function abandonExecutor(
  context: CommandContext,
  [name = ""]: readonly string[],
  { reason, json }: AbandonOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const abandoned = await client.abandonExecutor(name, reason === undefined ? {} : { reason });
  if (json === true) context.print(JSON.stringify(abandoned, null, 2));
  else
    context.print(
      `${plural(abandoned.attempts, "attempt")} of the executor ${name} ${abandoned.attempts === 1 ? "counts" : "count"} as lost`,
    );
  return exitCode.ok;
}

export async function removeExecutor(
  context: CommandContext,
  [name = ""]: readonly string[],
  { json }: ExecutorCommandOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const removed = await client.removeExecutor(name);
  if (json === true) context.print(JSON.stringify(removed, null, 2));
  else if (removed.attempts === 0) context.print(`executor ${name} is removed`);
  else
    context.print(
      `executor ${name} is removed; ${plural(removed.attempts, "attempt")} on its nodes continue, and their results are taken in when it is added again`,
    );
  return exitCode.ok;
}
