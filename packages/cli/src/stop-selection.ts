/** The workloads that `headroom stop --all` stops. */
import { CliError, exitCode } from "./cli-error.ts";
import type { CommandContext } from "./command.ts";
import { checkTeam, phasesOf, selectionOf, type SelectionOptions } from "./listing-options.ts";
import { confirm } from "./output/confirm.ts";
import { plural } from "./output/amounts.ts";
import { allPages } from "./resolve-workload.ts";

interface StopSelection extends SelectionOptions {
  readonly phase?: readonly string[];
  readonly yes?: boolean;
}

/** Workloads that one command may stop. */
const STOPPED_MAX = 10_000;

/** The ids. Stopping the work of others needs a confirmation. */
export async function chosenForStop(
  context: CommandContext,
  args: readonly string[],
  options: StopSelection,
): Promise<readonly string[]> {
  if (args.length > 0) throw new CliError("--all takes no names of workloads", exitCode.usage);
  const phase = phasesOf("--phase", options.phase) ?? ["pending", "running"];
  if (phase.some((each) => each !== "pending" && each !== "running"))
    throw new CliError("--phase must be pending or running: other work has ended or is stopping", exitCode.usage);
  const client = await context.connect();
  if (options.team !== undefined) await checkTeam(client, options.team);
  const query = { ...(await selectionOf(context, options)), phase };
  const { items } = await allPages((cursor, limit) => client.listWorkloads({ ...query, cursor, limit }), STOPPED_MAX);
  if (items.length === 0) context.note("No unfinished workload matches.");
  const user = await context.user();
  const others = items.filter(({ actor }) => actor !== user).length;
  if (others > 0 && options.yes !== true) {
    const question = `Stop ${plural(items.length, "workload")}, ${others} of them of other users?`;
    const { stdin, stderr } = context.terminal;
    const canAsk = stdin.isTTY === true && stderr.isTerminal;
    if (!canAsk || !(await confirm(context.terminal, question)))
      throw new CliError(
        `nothing was stopped: ${plural(others, "workload")} of other users; add --yes or --mine`,
        exitCode.usage,
      );
  }
  return items.map(({ id }) => id);
}
