/** `headroom history`: ended work as `sacct` lists it, and the events of one workload. */
import type { WorkloadHistory, WorkloadPhase, WorkloadQuery } from "@headroom/protocol";
import { hoursText } from "@headroom/views/text";
import { CliError, exitCode, type ExitCode } from "./cli-error.ts";
import type { CommandContext } from "./command.ts";
import type { HistoryCommandOptions } from "./commands/history.ts";
import { checkTeam, endedPhases, limitOf, phasesOf, selectionOf, sinceOf } from "./listing-options.ts";
import { instant, plural, shortDuration } from "./output/amounts.ts";
import { acceleratorHours, elapsedMs, fieldsOf, printFields } from "./output/list-fields.ts";
import { withProgress } from "./output/progress.ts";
import { pairLines } from "./output/table.ts";
import { allPages, resolveTask } from "./resolve-workload.ts";
import { printable } from "./terminal.ts";

const DEFAULT_FIELDS = ["id", "name", "user", "phase", "exit", "nodes", "ended", "elapsed", "hours"];

export async function listEnded(context: CommandContext, options: HistoryCommandOptions): Promise<ExitCode> {
  const limit = limitOf(options.limit);
  const names = options.format === undefined ? DEFAULT_FIELDS : fieldsOf(options.format);
  const since = options.since ?? "today";
  const endedFromMs = await sinceOf(since);
  const phase = endedOnly(phasesOf("--state", options.state));
  const client = await context.connect();
  if (options.team !== undefined) await checkTeam(client, options.team);
  const query: WorkloadQuery = { ...(await selectionOf(context, options)), phase, endedFromMs };
  const { items, more } = await allPages(
    (cursor, size) => client.listWorkloads({ ...query, cursor, limit: size }),
    limit,
  );
  const sum = items.reduce((total, item) => total + acceleratorHours(item), 0);
  if (options.json === true) {
    context.print(JSON.stringify({ items, more, acceleratorHours: sum }, null, 2));
    return exitCode.ok;
  }
  if (items.length === 0 && options.csv !== true)
    context.note(`No work has ended since ${printable(since)} that matches.`);
  else printFields(context, items, { names, csv: options.csv === true });
  if (options.csv === true) return exitCode.ok;
  if (items.length > 0) {
    const spanMs = items.reduce((total, item) => total + elapsedMs(item, Date.now()), 0);
    context.note(
      `${plural(items.length, "workload")}, ${shortDuration(spanMs)} of run time, ${hoursText(sum)} accelerator-hours.`,
    );
  }
  if (more) context.note(`There are more than ${plural(items.length, "workload")}: use --limit or --since.`);
  return exitCode.ok;
}

function endedOnly(phases: readonly WorkloadPhase[] | undefined): readonly WorkloadPhase[] {
  if (phases === undefined) return endedPhases;
  const open = phases.find((phase) => !endedPhases.some((each) => each === phase));
  if (open !== undefined)
    throw new CliError(`${open} work has not ended: headroom list --phase ${open}`, exitCode.usage);
  return phases;
}

/** The events of a workload; for one task of an array, those about the whole workload and about this task. */
export async function historyOf(context: CommandContext, text: string, json: boolean): Promise<void> {
  const client = await context.connect();
  const { workload, task } = await resolveTask(client, text);
  const { id, name } = workload;
  const whole = await withProgress(context.terminal.stderr, "Reading the events", client.workloadHistory(id));
  const past = task === null ? whole : historyOfTask(whole, task);
  if (json) {
    context.print(JSON.stringify(past, null, 2));
    return;
  }
  context.print(
    ...pairLines(
      past.items.map(({ atMs, sentence }) => [instant(atMs), sentence]),
      context.paint,
    ),
  );
  if (past.isCut)
    context.note(`The oldest events of ${printable(name)} are no longer available; this is the newest part.`);
}

function historyOfTask({ items, attempts, isCut }: WorkloadHistory, task: number): WorkloadHistory {
  const own = attempts.filter((attempt) => attempt.task === task);
  const ids = new Set(own.map(({ id }) => id));
  const about = items.filter(({ attemptIds }) => attemptIds.length === 0 || attemptIds.some((id) => ids.has(id)));
  return { items: about, attempts: own, isCut };
}
