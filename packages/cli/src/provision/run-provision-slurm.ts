/** `headroom provision slurm`: one call of a provisioner. The request is JSON on the standard input, the answer JSON on stdout. */
import { text } from "node:stream/consumers";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

export interface ProvisionSlurmOptions {
  readonly executor?: string;
  readonly partition?: string;
  readonly nodes?: string;
  readonly directory?: string;
  readonly commands?: string;
  readonly configuration?: string;
}

export async function runProvisionSlurm(
  context: CommandContext,
  verb: string,
  options: ProvisionSlurmOptions,
): Promise<ExitCode> {
  const { answerOrder, slurmProvisionerSettings } = await import("@headroom/executors/slurm-provisioner");
  const settings = slurmProvisionerSettings.safeParse(options);
  if (!settings.success) {
    const [issue] = settings.error.issues;
    throw new CliError(`--${String(issue?.path[0])}: ${issue?.message ?? ""}`, exitCode.usage);
  }
  const body = requestIn(await text(context.terminal.stdin), verb);
  try {
    context.print(JSON.stringify(await answerOrder(settings.data, body)));
    return exitCode.ok;
  } catch (error) {
    throw new CliError(error instanceof Error ? error.message : String(error), exitCode.failed);
  }
}

function requestIn(input: string, verb: string): unknown {
  try {
    return { ...(JSON.parse(input) as object), verb };
  } catch {
    throw new CliError('the standard input is no JSON; expected {"verb": …, "order": {"id": …}}', exitCode.usage);
  }
}
