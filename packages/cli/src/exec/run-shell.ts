/** `headroom shell`: submits an allocation, waits for it, and opens a shell in it that ends with it. */
import { setTimeout as delay } from "node:timers/promises";
import type { HeadroomClient } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext, Invocation } from "../command.ts";
import { isProblemError } from "../describe-error.ts";
import { stateOf } from "../follow.ts";
import type { RunCommandOptions } from "../run/run-options.ts";
import { submissionOf } from "../run/submission.ts";
import { newShellName, shellCommand } from "./shell-document.ts";
import { runSession } from "./session.ts";

/** Interval in ms at which the state is polled while the shell waits. */
const LOOK_EVERY_MS = 250;
/** Walltime of a shell without `--walltime`: nobody notices a forgotten one. */
const WALLTIME = "8h";

export interface ShellOptions extends RunCommandOptions {
  readonly tty?: boolean;
}

export async function runShell(
  context: CommandContext,
  { args: command, options: { tty, ...given } }: Invocation<ShellOptions>,
): Promise<ExitCode> {
  const options = { name: newShellName(), walltime: WALLTIME, retries: "0", ...given };
  const submission = await submissionOf(context, { args: shellCommand, options, isAfterDashes: true });
  const { spec } = submission.read();
  const client = await context.connect();
  const { workloadId } = await client.submitWorkload(spec);
  context.note(`submitted ${spec.name} (${workloadId})`);
  try {
    await started(context, client, workloadId);
    return await runSession(context, client, workloadId, {
      command: [...command],
      wantsTerminal: tty !== false,
      endWorkload: true,
    });
  } catch (error) {
    if (context.terminal.interrupted.aborted) return exitCode.interrupted;
    throw error;
  } finally {
    await stop(context, { workloadId, name: spec.name });
  }
}

/** Resolves when the workload runs. Until then the reason why it waits is shown. */
async function started({ terminal, note }: CommandContext, client: HeadroomClient, id: string): Promise<void> {
  const { interrupted: signal } = terminal;
  for (let said = ""; ;) {
    const workload = await client.getWorkload(id, { signal });
    if (workload.endedAtMs !== null)
      throw new CliError(`${workload.name} ${workload.phase} before its shell was open: headroom show ${id}`);
    if (workload.attempts.some(({ phase }) => phase === "running")) return;
    const { line, neverStarts } = await stateOf(client, workload);
    if (line !== said) note(line);
    said = line;
    if (neverStarts)
      throw new CliError("the shell was not submitted for good: it can never start", exitCode.unsatisfied);
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
}

async function stop(
  context: CommandContext,
  { workloadId, name }: { readonly workloadId: string; readonly name: string },
): Promise<void> {
  try {
    const client = await context.connectForCleanUp();
    await client.stopWorkload(workloadId);
    context.note(`stopped ${name}`);
  } catch (error) {
    if (isProblemError(error) && error.code === "workloadEnded") return;
    context.note(`${name} may still run: headroom stop ${name}`);
  }
}
