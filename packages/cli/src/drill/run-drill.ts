/** `headroom drill`: the loss of a failure domain, simulated or made on test nodes. */
import type { Drill, DrillForecast, DrillRequestInput, DrillWork } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { failureDomainNamed } from "../input/failure-domain.ts";
import { instant, plural, shortDuration } from "../output/amounts.ts";
import { confirm } from "../output/confirm.ts";
import { csvLines } from "../output/csv.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface LoseOptions {
  readonly for?: string;
  readonly real?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

interface DrillOutputOptions {
  readonly json?: boolean;
}

export interface ListDrillsOptions extends DrillOutputOptions {
  readonly csv?: boolean;
}

const HOUR_MS = 3_600_000;
const WORK_ROWS_MAX = 20;
const NODES_SHOWN_MAX = 4;

const hours = (acceleratorMs: number): string => (acceleratorMs / HOUR_MS).toFixed(1);
const usd = (microUsd: number): string => `${(microUsd / 1e6).toFixed(2)} USD`;

export async function loseInDrill(
  context: CommandContext,
  names: readonly string[],
  options: LoseOptions,
): Promise<ExitCode> {
  const { json = false, real = false, yes = false } = options;
  if (yes && !real) throw new CliError("--yes goes with --real; a simulation changes nothing", exitCode.usage);
  const request = await requestOf(names, options.for ?? "10m");
  const client = await context.connect();
  if (!real) {
    const forecast = await client.forecastDrill(request);
    if (json) context.print(JSON.stringify(forecast, null, 2));
    else printForecast(context, forecast);
    return exitCode.ok;
  }
  if (!yes) {
    const forecast = await client.forecastDrill(request);
    context.note(printable(forecast.sentence));
    const question = `Take ${plural(forecast.nodes.length, "node")} from work for ${shortDuration(forecast.forMs)}?`;
    if (!(await confirm(context.terminal, question))) {
      context.note("Nothing was changed.");
      return exitCode.ok;
    }
  }
  const drill = await client.startDrill(request);
  if (json) context.print(JSON.stringify(drill, null, 2));
  else {
    context.print(`Drill ${drill.id} runs until ${instant(drill.endsAtMs)}: ${printable(drill.expected.sentence)}`);
    context.note(`headroom drill show ${drill.id} compares; headroom drill cancel ${drill.id} ends it now`);
  }
  return exitCode.ok;
}

async function requestOf(names: readonly string[], lasts: string): Promise<DrillRequestInput> {
  const { readDuration } = await import("@headroom/protocol");
  const forMs = readDuration(lasts, { min: 1_000, max: 24 * HOUR_MS });
  if (!forMs.ok) throw new CliError(`--for: ${forMs.message}`, exitCode.usage);
  return { lose: names.map((name) => failureDomainNamed(name, "drill lose")), forMs: forMs.value };
}

function printForecast({ print, paint, terminal }: CommandContext, forecast: DrillForecast): void {
  const { nodes, accelerators, forMs, awayAcceleratorMs, awayMicroUsd, incidents, laterCount, work } = forecast;
  print(
    printable(forecast.sentence),
    "",
    ...pairLines(
      [
        ["lost", `${printable(nodesText(nodes))}, ${plural(accelerators, "accelerator")}, for ${shortDuration(forMs)}`],
        ...incidents
          .slice(0, NODES_SHOWN_MAX)
          .map(
            ({ title, workloads }) =>
              ["incident", `${printable(title)}; ${plural(workloads, "workload")} hit`] as const,
          ),
        [
          "interrupted",
          `${plural(forecast.interruptedCount, "workload")}, ${forecast.waitingCount} not again in ${shortDuration(forecast.horizonMs)}`,
        ],
        ["repeated", `${hours(forecast.lostAcceleratorMs)} accelerator-hours, ${usd(forecast.lostMicroUsd)}`],
        ["away", `${hours(awayAcceleratorMs)} accelerator-hours, ${usd(awayMicroUsd)}`],
        ["delayed", plural(laterCount, "waiting workload")],
      ],
      paint,
    ),
    ...workLines(work, { terminal, paint }),
  );
}

const nodesText = (nodes: readonly string[]): string =>
  nodes.length <= NODES_SHOWN_MAX
    ? nodes.join(", ")
    : `${nodes.slice(0, NODES_SHOWN_MAX).join(", ")} and ${nodes.length - NODES_SHOWN_MAX} more nodes`;

function workLines(
  work: readonly DrillWork[],
  { terminal, paint }: Pick<CommandContext, "terminal" | "paint">,
): string[] {
  if (work.length === 0) return [];
  const rows = work
    .slice(0, WORK_ROWS_MAX)
    .map((each) => [
      each.workloadId,
      printable(each.name),
      printable(each.team),
      each.againAtMs === null ? "not yet" : `after ${shortDuration(each.againAtMs - each.atMs)}`,
      printable(nodesText(each.againOn)),
      hours(each.lostAcceleratorMs),
      usd(each.lostMicroUsd),
    ]);
  const titles = [
    { title: "WORKLOAD" },
    { title: "NAME", minWidth: 8 },
    { title: "TEAM" },
    { title: "AGAIN" },
    { title: "ON", minWidth: 8 },
    { title: "REPEATED H", align: "right" as const },
    { title: "COST", align: "right" as const },
  ];
  const more = work.length > WORK_ROWS_MAX ? [`and ${work.length - WORK_ROWS_MAX} more; --json has them`] : [];
  return ["", ...tableLines(titles, rows, terminal.stdout, paint), ...more];
}

export async function listDrills(
  context: CommandContext,
  { csv = false, json = false }: ListDrillsOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const { items } = await client.listDrills();
  if (json) context.print(JSON.stringify({ items }, null, 2));
  else if (csv) context.print(...csvOf(items));
  else if (items.length === 0)
    context.note("There was no drill on test nodes. headroom drill lose NAME simulates one.");
  else {
    const rows = items.map((each) => [
      each.id,
      phaseText(each),
      instant(each.startedAtMs),
      printable(each.actor),
      String(each.nodes.length),
      `${each.observed.interruptedCount} of ${each.expected.interruptedCount}`,
      printable(each.lose.join(", ")),
    ]);
    const titles = [
      { title: "DRILL" },
      { title: "PHASE" },
      { title: "SINCE" },
      { title: "BY" },
      { title: "NODES", align: "right" as const },
      { title: "INTERRUPTED", align: "right" as const },
      { title: "LOST", minWidth: 8 },
    ];
    context.print(...tableLines(titles, rows, context.terminal.stdout, context.paint));
  }
  return exitCode.ok;
}

function csvOf(items: readonly Drill[]): readonly string[] {
  const rows = items.map((each) => [
    each.id,
    phaseText(each),
    instant(each.startedAtMs),
    each.actor,
    each.nodes.length,
    each.observed.interruptedCount,
    each.expected.interruptedCount,
    each.lose.join(" "),
  ]);
  return csvLines(["drill", "phase", "since", "by", "nodes", "interrupted", "interrupted_expected", "lost"], rows);
}

const phaseText = ({ phase, observed }: Drill): string =>
  phase === "running" || observed.isSettled ? phase : `${phase}, recovering`;

export async function showDrill(
  context: CommandContext,
  id: string,
  { json = false }: DrillOutputOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const drill = await client.getDrill(id);
  if (json) {
    context.print(JSON.stringify(drill, null, 2));
    return exitCode.ok;
  }
  const { expected, observed, endedAtMs, endedBy } = drill;
  const until = endedAtMs === null ? `until ${instant(drill.endsAtMs)}` : `ended ${instant(endedAtMs)}`;
  context.print(
    ...pairLines(
      [
        ["drill", `${drill.id}, ${phaseText(drill)}`],
        ["lost", `${printable(drill.lose.join(", "))}: ${printable(nodesText(drill.nodes))}`],
        [
          "by",
          `${printable(drill.actor)}, ${instant(drill.startedAtMs)}, ${until}${endedBy === null ? "" : ` by ${printable(endedBy)}`}`,
        ],
      ],
      context.paint,
    ),
    "",
    ...comparison(context, expected, observed),
    ...workLines(observed.work, context),
  );
  return exitCode.ok;
}

function comparison(
  { terminal, paint }: CommandContext,
  expected: DrillForecast,
  observed: Drill["observed"],
): readonly string[] {
  const figures: readonly (readonly [string, (of: Drill["observed"] | DrillForecast) => string])[] = [
    ["workloads interrupted", (of) => String(of.interruptedCount)],
    ["not placed again", (of) => String(of.waitingCount)],
    ["slowest restart", (of) => shortDuration(of.slowestMs)],
    ["accelerator-hours repeated", (of) => hours(of.lostAcceleratorMs)],
    ["cost of repeated work", (of) => usd(of.lostMicroUsd)],
  ];
  const rows = figures.map(([title, figure]) => [title, figure(expected), figure(observed)]);
  const titles = [
    { title: "" },
    { title: "EXPECTED", align: "right" as const },
    { title: "OBSERVED", align: "right" as const },
  ];
  return tableLines(titles, rows, terminal.stdout, paint);
}

export async function cancelDrill(context: CommandContext, id: string): Promise<ExitCode> {
  const client = await context.connect();
  const drill = await client.cancelDrill(id);
  context.print(`Drill ${drill.id} is over: work is placed again on ${plural(drill.nodes.length, "node")}.`);
  return exitCode.ok;
}
