/** `headroom plan FILE`: makes the plan, checks it again, prints it. */
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { positive } from "../size/quantities.ts";
import { readPlanFile } from "./plan-file.ts";
import { impossibleLines, planLines } from "./plan-text.ts";

export interface PlanOptions {
  readonly scenarios?: string;
  readonly gap?: string;
  readonly json?: true;
}

export async function runPlan(context: CommandContext, file: string, options: PlanOptions): Promise<ExitCode> {
  const { checkPlan, loadSolver, makePlan, readPlanDocument, usualLimits } = await import("@headroom/plan");
  const read = await readPlanFile(context, file, readPlanDocument);
  const scenarios = options.scenarios === undefined ? read.scenarios : Number(options.scenarios);
  if (!Number.isInteger(scenarios) || scenarios < 1 || scenarios > 40)
    throw new CliError(`--scenarios: expected a whole number from 1 to 40, got ${options.scenarios}`, exitCode.usage);
  const document = { ...read, scenarios };
  const relativeGap = options.gap === undefined ? usualLimits.relativeGap : positive(options.gap, "--gap") / 100;
  const outcome = makePlan(await loadSolver(), document, { ...usualLimits, relativeGap });
  if (outcome.kind === "unsolved")
    throw new CliError(
      `the solver ended without a plan (status ${outcome.status}): try a larger --gap`,
      exitCode.failed,
    );
  if (outcome.kind === "impossible") {
    if (options.json === true)
      context.print(JSON.stringify({ name: document.name, impossible: outcome.reason }, null, 2));
    else context.print(...impossibleLines(outcome.reason));
    return exitCode.failed;
  }
  const breaches = checkPlan(document, outcome.plan);
  if (options.json === true) context.print(JSON.stringify({ ...outcome.plan, breaches }, null, 2));
  else context.print(...planLines(context, outcome.plan));
  for (const breach of breaches) context.note(`the check found: ${breach}`);
  return breaches.length === 0 ? exitCode.ok : exitCode.failed;
}
