/** `headroom plan ceilings FILE` and `headroom plan triggers FILE`. */
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { pairLines } from "../output/table.ts";
import { readPlanFile } from "./plan-file.ts";
import { numberTable } from "./plan-text.ts";

export interface PlanOutputOptions {
  readonly json?: true;
}

export async function runCeilings(
  context: CommandContext,
  file: string,
  options: PlanOutputOptions,
): Promise<ExitCode> {
  const { forecastCeilings, readCeilingDocument } = await import("@headroom/plan");
  const { first, axes } = forecastCeilings(await readPlanFile(context, file, readCeilingDocument));
  if (options.json === true) {
    context.print(JSON.stringify({ first, axes }, null, 2));
    return exitCode.ok;
  }
  const percent = (share: number): string => `${Math.round(share * 100)}%`;
  const line =
    first === null
      ? "No axis reaches its capacity within the horizon."
      : `${first.axis} binds first with a probability of ${percent(first.probability)}; the first ceiling comes in ${first.month}.`;
  const rows = axes.map((each) => [
    each.axis,
    each.bindsP50 ?? "",
    each.bindsP95 ?? "",
    percent(each.probability),
    percent(each.firstProbability),
    each.orderBy ?? "",
  ]);
  const titles = ["axis", "binds (median)", "binds (P95)", "probability", "is first", "order by"];
  context.print(line, ...numberTable(context, titles, rows));
  return exitCode.ok;
}

export async function runTriggers(
  context: CommandContext,
  file: string,
  options: PlanOutputOptions,
): Promise<ExitCode> {
  const { evaluateTriggers, readTriggerDocument } = await import("@headroom/plan");
  const triggers = evaluateTriggers(await readPlanFile(context, file, readTriggerDocument));
  if (options.json === true) context.print(JSON.stringify({ triggers }, null, 2));
  else {
    const pairs = triggers.map(({ name, isActive, action, explanation }) => {
      const state = isActive ? `ACTIVE: ${action}.` : "inactive.";
      return [name, `${state} ${explanation}`] as const;
    });
    context.print(...pairLines(pairs, context.paint));
  }
  return triggers.some(({ isActive }) => isActive) ? exitCode.failed : exitCode.ok;
}
