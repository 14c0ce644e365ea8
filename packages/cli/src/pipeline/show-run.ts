/** `headroom pipeline show`: a run with its steps, or a pipeline as the document that declares it. */
import type { HeadroomClient, PipelineRun, PipelineStepRun } from "@headroom/protocol";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { limitOf } from "../listing-options.ts";
import { instant, plural, shortDuration } from "../output/amounts.ts";
import { pairLines, tableLines, type Cell } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";
import { countsText, isRunId, phaseCellOf } from "./pipeline-options.ts";
import type { PipelineShowOptions } from "./pipeline-options.ts";

export async function showPipeline(
  context: CommandContext,
  name: string,
  options: PipelineShowOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  return isRunId(name) ? showRun(context, client, name, options) : showDefinition(context, client, name, options);
}

async function showDefinition(
  context: CommandContext,
  client: HeadroomClient,
  name: string,
  { json }: PipelineShowOptions,
): Promise<ExitCode> {
  const item = await client.getPipeline(name);
  if (json === true) {
    context.print(JSON.stringify(item, null, 2));
    return exitCode.ok;
  }
  const { pipelineDocument } = await import("@headroom/protocol");
  const { stringify } = await import("yaml");
  const { pipeline, actor, nextAtMs, openRuns, lastRun, left } = item;
  const pairs: (readonly [string, string])[] = [
    ["declared by", actor],
    ["open runs", String(openRuns)],
    ...(lastRun === null ? [] : [["last run", `${lastRun.id} ${lastRun.phase}`] as const]),
    ...(nextAtMs === null ? [] : [["next", instant(nextAtMs)] as const]),
    ...(left === undefined ? [] : [["left out", left] as const]),
  ];
  context.print(context.paint("bold", pipeline.name), ...pairLines(pairs, context.paint), "");
  context.print(stringify(pipelineDocument(pipeline)).trimEnd());
  return exitCode.ok;
}

async function showRun(
  context: CommandContext,
  client: HeadroomClient,
  id: string,
  { step, limit: limitText, json }: PipelineShowOptions,
): Promise<ExitCode> {
  const limit = limitOf(limitText);
  const run = await client.getPipelineRun(id);
  const { items, more } = await allPages(
    (cursor, size) => client.listPipelineSteps(id, { step, cursor, limit: size }),
    limit,
  );
  if (json === true) {
    context.print(JSON.stringify({ ...run, steps: items, more }, null, 2));
    return exitCode.ok;
  }
  const { triggerText } = await import("@headroom/views/text");
  const { text, tone } = phaseCellOf(run.phase);
  const title = `${context.paint("bold", run.id)} of ${printable(run.pipeline)} is ${context.paint(tone ?? "bold", text)}`;
  context.print(title, ...pairLines(runPairs(run, triggerText(run.trigger)), context.paint), "");
  context.print(...tableLines([...stepColumns], items.map(stepRow), context.terminal.stdout, context.paint));
  if (more) context.note(`There are more than ${plural(items.length, "step")}: use --limit or --step.`);
  return exitCode.ok;
}

function runPairs(run: PipelineRun, cause: string): readonly (readonly [string, string])[] {
  const { actor, team, params, force, createdAtMs, startedAtMs, endedAtMs, retryCount, counts, stepCount } = run;
  const values = Object.entries(params).map(([name, value]) => `${name}=${value}`);
  return [
    ["started", `${cause}, by ${actor}, team ${team}`],
    ...(values.length === 0 ? [] : [["parameters", values.join(" ")] as const]),
    ["created", instant(createdAtMs)],
    ...(startedAtMs === null ? [] : [["running since", instant(startedAtMs)] as const]),
    ...(endedAtMs === null ? [] : [["ended", instant(endedAtMs)] as const]),
    ...(retryCount === 0 ? [] : [["retries", String(retryCount)] as const]),
    ...(force ? [["cache", "not used (--force)"] as const] : []),
    ["steps", `${stepCount}: ${countsText(counts)}`],
  ];
}

const stepColumns = [
  { title: "STEP" },
  { title: "ITEM", minWidth: 4 },
  { title: "PHASE" },
  { title: "WORKLOAD" },
  { title: "ATTEMPTS", align: "right" },
  { title: "TIME", align: "right" },
  { title: "WHY", minWidth: 20 },
] as const;

const stepRow = (own: PipelineStepRun): readonly (Cell | string)[] => [
  { text: own.key, tone: "bold" },
  own.item ?? "",
  phaseCellOf(own.phase),
  own.workloadId ?? "",
  own.attempts === undefined ? "" : String(own.attempts),
  own.startedAtMs === null || own.endedAtMs === null ? "" : shortDuration(own.endedAtMs - own.startedAtMs),
  own.sentence,
];
