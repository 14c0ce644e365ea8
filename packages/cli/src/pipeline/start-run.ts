/** `headroom pipeline run | backfill`. */
import type { PipelineRunPlan, PipelineRunRequest, PipelineRunsStarted, PlannedStep } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { instant, plural, shortDuration } from "../output/amounts.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { paramsOf } from "./pipeline-options.ts";
import type { BackfillOptions, StartRunOptions } from "./pipeline-options.ts";

export const startRun = (context: CommandContext, name: string, options: StartRunOptions): Promise<ExitCode> =>
  start(context, name, { params: paramsOf(options.param), force: options.force === true }, options);

export function backfill(context: CommandContext, name: string, options: BackfillOptions): Promise<ExitCode> {
  const { from, to = from, every: unit = "day", timeZone = "UTC", param, force } = options;
  if (from === undefined || to === undefined)
    throw new CliError("state the first day: --from 2026-03-01", exitCode.usage);
  const every = (["day", "hour"] as const).find((each) => each === unit);
  if (every === undefined) throw new CliError(`--every must be day or hour, got ${unit}`, exitCode.usage);
  const request = { params: paramsOf(param), force: force === true, backfill: { from, to, every, timeZone } };
  return start(context, name, request, options);
}

async function start(
  context: CommandContext,
  name: string,
  request: PipelineRunRequest,
  { dryRun = false, json }: StartRunOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const answer = await client.startPipelineRun(name, request, { dryRun });
  if (json === true) context.print(JSON.stringify(answer, null, 2));
  else if (answer.plan === undefined) context.print(startedText(name, answer));
  else printPlan(context, name, answer, answer.plan);
  return exitCode.ok;
}

function startedText(name: string, { runIds, dates }: PipelineRunsStarted): string {
  const [first = "", last = first] = [runIds[0], runIds.at(-1)];
  if (dates === undefined) return `started ${first} of ${name}: headroom pipeline show ${first}`;
  return `started ${plural(runIds.length, "run")} of ${name}, ${first} to ${last}: headroom pipeline runs ${name}`;
}

const planColumns = [
  { title: "STEP", minWidth: 6 },
  { title: "AFTER", minWidth: 6 },
  { title: "OUTCOME" },
  { title: "ITEMS", align: "right" },
  { title: "STARTS", align: "right" },
  { title: "TAKES", align: "right" },
  { title: "BY" },
  { title: "ACCELERATORS", align: "right" },
] as const;

const afterText = (ms: number | null): string => (ms === null ? "?" : `+${shortDuration(ms)}`);
const bases = { runs: "earlier runs", walltime: "walltime", none: "" } as const;

const planRow = (step: PlannedStep): readonly string[] => [
  step.name,
  step.after.join(" "),
  step.outcome === "open" ? "by results" : step.outcome,
  step.items === null ? "?" : String(step.items),
  afterText(step.startMs),
  step.durationMs === null ? "" : shortDuration(step.durationMs),
  bases[step.basis],
  step.accelerators === 0 ? "" : String(step.accelerators),
];

function printPlan(
  { print, paint, terminal }: CommandContext,
  name: string,
  { dates }: PipelineRunsStarted,
  plan: PipelineRunPlan,
): void {
  const { startsAtMs, endMs, acceleratorHours, costMicroUsd } = plan;
  const pairs: (readonly [string, string])[] = [
    ...(dates === undefined ? [] : [["runs", `${dates.length}, ${dates[0]} to ${dates.at(-1)}`] as const]),
    ["first start", startsAtMs === null ? "not known" : instant(startsAtMs)],
    [
      "takes",
      endMs === null
        ? "not known: a step has no earlier run and no walltime, or waits for approval"
        : shortDuration(endMs),
    ],
    ["accelerator-hours", acceleratorHours === null ? "not known" : acceleratorHours.toFixed(2)],
    ["cost", costMicroUsd === null ? "not known" : `$${(costMicroUsd / 1e6).toFixed(2)}`],
  ];
  print(paint("bold", `One run of ${name}, on an idle fleet. Nothing was recorded.`), ...pairLines(pairs, paint), "");
  print(...tableLines([...planColumns], plan.steps.map(planRow), terminal.stdout, paint));
}
