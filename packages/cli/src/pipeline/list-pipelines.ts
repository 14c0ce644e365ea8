/** `headroom pipeline list | runs`. */
import type { PipelineItem, PipelineRunItem, PipelineRunPhase } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { limitOf } from "../listing-options.ts";
import { instant, plural } from "../output/amounts.ts";
import { tableLines, type Cell } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";
import { countsText, phaseCellOf } from "./pipeline-options.ts";
import type { PipelineListOptions, PipelineRunListOptions } from "./pipeline-options.ts";

const pipelineColumns = [
  { title: "PIPELINE", minWidth: 8 },
  { title: "TEAM", minWidth: 6 },
  { title: "STEPS", align: "right" },
  { title: "OPEN RUNS", align: "right" },
  { title: "NEXT" },
  { title: "LAST RUN" },
  { title: "BY", minWidth: 4 },
] as const;

export async function listPipelines(context: CommandContext, options: PipelineListOptions): Promise<ExitCode> {
  const limit = limitOf(options.limit);
  const client = await context.connect();
  const { items, more } = await allPages(
    (cursor, size) => client.listPipelines({ team: options.team, cursor, limit: size }),
    limit,
  );
  if (options.json === true) context.print(JSON.stringify({ items, more }, null, 2));
  else if (items.length === 0)
    context.note("There is no pipeline. Declare one with kind: pipeline in a file, and headroom apply -f FILE.");
  else
    context.print(...tableLines([...pipelineColumns], items.map(pipelineRow), context.terminal.stdout, context.paint));
  if (more) context.note(`There are more than ${plural(items.length, "pipeline")}: use --limit.`);
  return exitCode.ok;
}

const pipelineRow = ({
  pipeline,
  actor,
  nextAtMs,
  openRuns,
  lastRun,
  left,
}: PipelineItem): readonly (Cell | string)[] => [
  { text: pipeline.name, tone: "bold" },
  pipeline.team,
  String(pipeline.steps.length),
  String(openRuns),
  nextAtMs === null ? "–" : instant(nextAtMs),
  left === undefined ? (lastRun === null ? "–" : `${lastRun.id} ${lastRun.phase}`) : `left out: ${left}`,
  actor,
];

const runColumns = [
  { title: "RUN" },
  { title: "PIPELINE", minWidth: 8 },
  { title: "PHASE" },
  { title: "CREATED" },
  { title: "BY", minWidth: 4 },
  { title: "CAUSE", minWidth: 6 },
  { title: "STEPS", minWidth: 12 },
] as const;

const runPhases: readonly PipelineRunPhase[] = ["waiting", "running", "succeeded", "failed", "cancelled"];

export async function listRuns(
  context: CommandContext,
  pipeline: string | undefined,
  options: PipelineRunListOptions,
): Promise<ExitCode> {
  const limit = limitOf(options.limit);
  const phase = runPhases.find((each) => each === options.phase);
  if (options.phase !== undefined && phase === undefined)
    throw new CliError(`--phase must be one of ${runPhases.join(", ")}, got ${options.phase}`, exitCode.usage);
  const client = await context.connect();
  const { items, more } = await allPages(
    (cursor, size) => client.listPipelineRuns({ pipeline, phase, cursor, limit: size }),
    limit,
  );
  if (options.json === true) context.print(JSON.stringify({ items, more }, null, 2));
  else if (items.length === 0) context.note("There is no run. Start one with headroom pipeline run NAME.");
  else {
    const { triggerText } = await import("@headroom/views/text");
    const row = (run: PipelineRunItem): readonly (Cell | string)[] => [
      { text: run.id, tone: "bold" },
      run.pipeline,
      phaseCellOf(run.phase),
      instant(run.createdAtMs),
      run.actor,
      triggerText(run.trigger),
      countsText(run.counts),
    ];
    context.print(...tableLines([...runColumns], items.map(row), context.terminal.stdout, context.paint));
  }
  if (more) context.note(`There are more than ${plural(items.length, "run")}: use --limit.`);
  return exitCode.ok;
}
