/** `headroom executor history`: shows past work of a cluster that was imported, or imports it. */
import path from "node:path";
import type { HistoryImport, HistoryRequestInput, ImportedHistoryView } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { fileText } from "../input/file-chunks.ts";
import { instant, plural } from "../output/amounts.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";
import type { PastWork } from "./past-work.ts";
import { readOutput } from "./slurm-output.ts";

export interface ExecutorHistoryOptions {
  readonly import?: string;
  readonly dryRun?: true;
  readonly timezone?: string;
  readonly json?: true;
}

/** The list of Jobs is read as a whole. */
const JOBS_BYTES_MAX = 256 << 20;
/** Below the largest body of a request. */
const REQUEST_BYTES_MAX = 1_000_000;

export async function runExecutorHistory(
  context: CommandContext,
  name: string,
  options: ExecutorHistoryOptions,
): Promise<ExitCode> {
  const { import: file, dryRun = false, json = false } = options;
  const client = await context.connect();
  if (file === undefined) {
    if (dryRun || options.timezone !== undefined)
      throw new CliError("--dry-run and --timezone go with --import FILE", exitCode.usage);
    const history = await client.importedHistory(name);
    context.print(...(json ? [JSON.stringify(history, null, 2)] : historyLines(context, history)));
    return exitCode.ok;
  }
  const executor = (await client.executors()).items.find((each) => each.name === name);
  if (executor === undefined)
    throw new CliError(`no executor ${printable(name)} is declared: headroom executor list`, exitCode.failed);
  const past = await pastIn(context, file, { type: executor.type, timezone: options.timezone });
  if (past === null) return exitCode.interrupted;
  const body = requestOf(past, file);
  const imported = await client.importHistory(name, body, { dryRun });
  if (json) context.print(JSON.stringify({ ...imported, left_out: past.work.leftOut }, null, 2));
  else context.print(...importLines(context, imported, past));
  return exitCode.ok;
}

interface Past {
  readonly work: PastWork;
  readonly unreadCount: number;
}

/** `null`: the user interrupted it. */
async function pastIn(
  context: CommandContext,
  file: string,
  { type, timezone }: { readonly type: string; readonly timezone: string | undefined },
): Promise<Past | null> {
  if (type === "kubernetes") {
    const { kubernetesPast } = await import("./kubernetes-past.ts");
    return await kubernetesPast(await fileText(context, file, JOBS_BYTES_MAX), printable(file));
  }
  if (type !== "slurm")
    throw new CliError(`executors of the type ${type} have no history that can be imported`, exitCode.usage);
  const { utc, zoneNamed } = await import("@headroom/executors/slurm-reading");
  const { SlurmPast } = await import("./past-work.ts");
  const zone = timezone === undefined ? utc : zoneNamed(timezone);
  if (zone === null)
    throw new CliError(
      `--timezone: ${JSON.stringify(timezone)} is no time zone; expected a name such as Europe/Berlin`,
      exitCode.usage,
    );
  const rows = new SlurmPast();
  if (!(await readOutput(context, { file, rows, zone }))) return null;
  return { work: rows.work, unreadCount: rows.unreadCount };
}

function requestOf({ work, unreadCount }: Past, file: string): HistoryRequestInput {
  const body = work.request(path.basename(file).slice(0, 256), unreadCount);
  if (body === null) {
    const reasons = Object.entries(work.leftOut).map(([reason, count]) => `${count} ${reason}`);
    const counts = [...reasons, `${unreadCount} lines not read`].join(", ");
    throw new CliError(
      work.jobCount > 0
        ? `${printable(file)}: too many users and months for one import; take a shorter period (sacct -S)`
        : `${printable(file)} has no job whose use counts (${counts}). For Slurm: sacct -a -X -P -S now-90days -o JobID,User,Account,JobName,Submit,Start,End,Timelimit,AllocTRES,State > jobs.txt`,
      exitCode.usage,
    );
  }
  // The oldest runs are dropped until the request is small enough; the use of all jobs stays.
  let { runs } = body;
  while (runs.length > 0 && Buffer.byteLength(JSON.stringify({ ...body, runs })) > REQUEST_BYTES_MAX)
    runs = runs.slice(Math.ceil(runs.length / 4));
  return { ...body, runs };
}

const columns = [
  { title: "TEAM", minWidth: 8 },
  { title: "ACCELERATOR HOURS", align: "right" },
  { title: "RUNS", align: "right" },
  { title: "" },
] as const;

function historyLines({ terminal, paint }: CommandContext, history: ImportedHistoryView): readonly string[] {
  const { jobCount, leftOutCount, unreadCount, source, fromMs, toMs, importedAtMs, actor } = history;
  const rows = history.teams.map(({ team, acceleratorHours, runCount, isDeclared }) => [
    printable(team),
    acceleratorHours.toFixed(1),
    String(runCount),
    isDeclared ? "" : "no team of this name is declared",
  ]);
  const when = importedAtMs === null ? [] : [`imported ${instant(importedAtMs)} by ${printable(actor)}`];
  return [
    ...tableLines([...columns], rows, terminal.stdout, paint),
    "",
    `${[printable(source), `${instant(fromMs)} to ${instant(toMs)}`, ...when].join(", ")}:`,
    `${plural(jobCount, "job")} count, ${leftOutCount} left out, ${plural(unreadCount, "line")} not read`,
  ];
}

function importLines(context: CommandContext, imported: HistoryImport, { work }: Past): readonly string[] {
  const { action, dryRun, history, unmapped } = imported;
  const outcomes = {
    imported: dryRun ? "would be imported" : "is imported",
    replaced: dryRun ? "would replace the imported one" : "replaces the one imported before",
    unchanged: "is imported already",
  };
  const reasons = Object.entries(work.leftOut).toSorted(([, one], [, other]) => other - one);
  return [
    ...historyLines(context, history),
    ...(reasons.length === 0 ? [] : [`left out: ${reasons.map(([reason, count]) => `${count} ${reason}`).join(", ")}`]),
    ...unmapped.map(
      ({ account, acceleratorHours }) =>
        `account ${printable(account)} has no team by the rules of the executor: ${acceleratorHours} accelerator-hours left out`,
    ),
    `the past work of ${history.executor} ${outcomes[action]}`,
  ];
}
