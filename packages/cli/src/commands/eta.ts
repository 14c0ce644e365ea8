import type { ExpectedStart, HeadroomClient, StartEstimate } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import { defineCommand, jsonOption, type CommandContext } from "../command.ts";
import { checkTeam, limitOf, limitOption } from "../listing-options.ts";
import { plural, shortDuration } from "../output/amounts.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { gangText } from "../output/workload-text.ts";
import { allPages, resolveWorkload } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";

interface EtaCommandOptions {
  readonly team?: string;
  readonly limit?: string;
  readonly json?: boolean;
}

export const etaCommand = defineCommand<EtaCommandOptions>({
  name: "eta",
  summary: "Estimate the start of a workload, or of all waiting work, as a range",
  details:
    "The scheduler is simulated many times from its present state, with the run times of similar work.\n" +
    "Without an argument: all waiting work, in the order of expected start. For an array with started tasks,\n" +
    "the estimate is for the next task.\n" +
    "Exit code 3: no start can be estimated. It is beyond the horizon, or never comes under present conditions.\n" +
    "Work that needs ordered nodes (headroom order) has the dates of the orders instead, and exits with 0.",
  arguments: [
    {
      syntax: "[workload]",
      description: "name, team/name or id of the workload; default: all waiting work",
      complete: "workload",
    },
  ],
  options: [
    { flags: "--team <team>", description: "only workloads of this team and the teams below it", complete: "team" },
    limitOption,
    jsonOption,
  ],
  async run(context, { args, options }) {
    const [name] = args;
    if (name === undefined) return listStarts(context, options);
    if (options.team !== undefined || options.limit !== undefined)
      throw new CliError("--team and --limit are for all that wait; leave out the workload", exitCode.usage);
    return tellStart(context, name, options.json === true);
  },
});

async function tellStart(context: CommandContext, name: string, json: boolean): Promise<ExitCode> {
  const client = await context.connect();
  const workload = await resolveWorkload(client, name);
  const estimate = await client.estimateStart(workload.id);
  const expected = estimate.expectedCapacity;
  const code = estimate.p50AtMs === null && expected === undefined ? exitCode.unsatisfied : exitCode.ok;
  if (json) {
    context.print(JSON.stringify(estimate, null, 2));
    return code;
  }
  const { paint } = context;
  const { beyondPlayed, estimateBounds } = await import("@headroom/views");
  context.print(`${paint("bold", workload.name)} (${workload.id}): ${printable(estimate.sentence)}`);
  const range = estimateBounds(estimate).map(({ name: bound, atMs }): [string, string] => [
    bound,
    atMs === null ? beyondPlayed(estimate) : new Date(atMs).toISOString(),
  ]);
  const ordered: [string, string][] =
    expected === undefined
      ? []
      : [
          ["ordered nodes, P50", new Date(expected.p50AtMs).toISOString()],
          ["ordered nodes, P95", new Date(expected.p95AtMs).toISOString()],
        ];
  context.print(...pairLines([...range, ...ordered], paint).map((line) => `  ${line}`));
  if (estimate.p50AtMs === null)
    context.print("", `\`headroom why ${printable(workload.name)}\` lists changes that would start the workload now.`);
  return code;
}

async function listStarts(context: CommandContext, { team, limit, json }: EtaCommandOptions): Promise<ExitCode> {
  const max = limitOf(limit);
  const client: HeadroomClient = await context.connect();
  if (team !== undefined) await checkTeam(client, team);
  const { items, more } = await allPages((cursor, size) => client.expectedStarts({ team, cursor, limit: size }), max);
  if (json === true) {
    context.print(JSON.stringify({ items, more }, null, 2));
    return exitCode.ok;
  }
  if (items.length === 0) {
    context.note(team === undefined ? "No workload is waiting." : `No workload of ${team} is waiting.`);
    return exitCode.ok;
  }
  const columns = [
    { title: "ID" },
    { title: "NAME", minWidth: 8 },
    { title: "TEAM", minWidth: 6 },
    { title: "USER", minWidth: 4 },
    { title: "GANG", minWidth: 8 },
    { title: "STARTS IN", align: "right" as const },
    { title: "EARLY", align: "right" as const },
    { title: "LATE", align: "right" as const },
  ];
  context.print(...tableLines(columns, items.map(startRow), context.terminal.stdout, context.paint));
  context.note(
    "EARLY and LATE: one start in ten is before EARLY, one in ten after LATE. `headroom eta WORKLOAD` shows one workload in detail.",
  );
  if (items.some(({ estimate }) => estimate.expectedCapacity !== undefined))
    context.note(
      "*: needs ordered nodes, which are expected then (P50; LATE: P95). `headroom order list` shows the orders.",
    );
  if (items.some(({ estimate }) => estimate.because.scenarioCount === 0 && estimate.expectedCapacity === undefined))
    context.note(
      "never: no start while fleet, limits and policy stay as they are. `headroom why WORKLOAD` explains it.",
    );
  if (more) context.note(`There are more than ${plural(items.length, "workload")}: use --limit or --team.`);
  return exitCode.ok;
}

function startRow({ workload, estimate }: ExpectedStart) {
  const { p10AtMs, p50AtMs, p90AtMs } = estimate;
  return [
    workload.id,
    { text: workload.name, tone: "bold" as const },
    workload.team,
    workload.actor,
    gangText(workload),
    ...(estimate.expectedCapacity === undefined
      ? [p50AtMs, p10AtMs, p90AtMs].map((atMs) => inTime(estimate, atMs))
      : orderedCells(estimate.atMs, estimate.expectedCapacity)),
  ];
}

/** Times until ordered nodes are expected; a date that has passed is shown as late. */
function orderedCells(atMs: number, { p50AtMs, p95AtMs }: NonNullable<StartEstimate["expectedCapacity"]>): string[] {
  const inText = (instantMs: number): string => (instantMs <= atMs ? "late" : shortDuration(instantMs - atMs));
  return [`${inText(p50AtMs)}*`, "", inText(p95AtMs)];
}

/** Time until the start, counted from the instant of the estimate; `–`: the start is beyond the horizon. */
function inTime({ atMs, playedUntilMs, because }: StartEstimate, instantMs: number | null): string {
  if (instantMs !== null) return shortDuration(instantMs - atMs);
  if (because.scenarioCount === 0) return "never";
  return playedUntilMs === undefined ? "–" : `> ${shortDuration(playedUntilMs - atMs)}`;
}
