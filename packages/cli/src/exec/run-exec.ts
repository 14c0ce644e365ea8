/** `headroom exec` and `headroom attach`. */
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext, Invocation } from "../command.ts";
import { followWorkload } from "../follow.ts";
import { resolveTask } from "../resolve-workload.ts";
import { isShell } from "./shell-document.ts";
import { runSession } from "./session.ts";

export interface ExecOptions {
  readonly worker?: string;
  readonly tty?: boolean;
}

export async function runExec(
  context: CommandContext,
  { args: [name = "", ...command], options }: Invocation<ExecOptions>,
): Promise<ExitCode> {
  const worker = rankOf(options.worker);
  const client = await context.connect();
  const { workload, task } = await resolveTask(client, name);
  return runSession(context, client, workload.id, {
    ...(task === null ? {} : { task }),
    worker,
    command,
    wantsTerminal: options.tty !== false,
  });
}

export async function runAttach(
  context: CommandContext,
  { args: [name = ""], options }: Invocation<ExecOptions>,
): Promise<ExitCode> {
  const client = await context.connect();
  const { workload, task } = await resolveTask(client, name);
  if (task !== null) throw new CliError(`attach follows whole workloads: headroom logs -f ${name}`, exitCode.usage);
  const { spec } = await client.getWorkload(workload.id);
  if (!isShell(spec)) return followWorkload(context, client, workload.id, null);
  const command: readonly string[] = [];
  return runSession(context, client, workload.id, { command: [...command], wantsTerminal: options.tty !== false });
}

function rankOf(text: string | undefined): number {
  if (text === undefined) return 0;
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new CliError(`--worker must be the rank of a worker, a whole number from 0 on, got ${text}`, exitCode.usage);
}
