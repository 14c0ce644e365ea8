/** `headroom plan FILE`: makes the plan, checks it again, prints it. */
import type { PlanDocument, PlanOutcome } from "@headroom/plan";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { positive } from "../size/quantities.ts";
import { wholeNumber } from "../simulate/amount-options.ts";
import { readPlanFile } from "./plan-file.ts";
import { quantilesByMonth, withMeasured } from "./run-forecast.ts";
import { proofLines, type PlanProof } from "./prove-plan.ts";
import { solverOfProcess } from "./solver.ts";
import { impossibleLines, planLines } from "./plan-text.ts";

export interface PlanOptions {
  readonly scenarios?: string;
  readonly gap?: string;
  readonly demand?: string;
  readonly measured?: true;
  readonly prove?: true;
  readonly futures?: string;
  readonly json?: true;
}

export async function runPlan(context: CommandContext, file: string, options: PlanOptions): Promise<ExitCode> {
  const { checkPlan, makePlan, readPlanDocument, usualLimits } = await import("@headroom/plan");
  const read = await readPlanFile(context, file, readPlanDocument);
  const scenarios = options.scenarios === undefined ? read.scenarios : Number(options.scenarios);
  if (!Number.isInteger(scenarios) || scenarios < 1 || scenarios > 40)
    throw new CliError(`--scenarios: expected a whole number from 1 to 40, got ${options.scenarios}`, exitCode.usage);
  const measured = options.measured === true ? await withMeasured(context, read) : read;
  const document = {
    ...(options.demand === undefined ? measured : await withDemand(context, measured, options.demand)),
    scenarios,
  };
  const relativeGap = options.gap === undefined ? usualLimits.relativeGap : positive(options.gap, "--gap") / 100;
  const outcome = makePlan(await solverOfProcess(), document, { ...usualLimits, relativeGap });
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
  const proof = options.prove === true ? await provenBy(document, outcome, options) : undefined;
  if (options.json === true)
    context.print(JSON.stringify({ ...outcome.plan, breaches, ...(proof === undefined ? {} : { proof }) }, null, 2));
  else {
    context.print(...planLines(context, outcome.plan));
    if (proof !== undefined) context.print(...proofLines(context, proof));
  }
  for (const breach of breaches) context.note(`the check found: ${breach}`);
  return breaches.length === 0 ? exitCode.ok : exitCode.failed;
}

async function provenBy(
  document: PlanDocument,
  outcome: Extract<PlanOutcome, { readonly kind: "planned" }>,
  { futures = "3" }: PlanOptions,
): Promise<PlanProof> {
  const { provePlan } = await import("./prove-plan.ts");
  return provePlan(document, outcome, wholeNumber(futures, "--futures", { min: 1, max: 100 }));
}

/** The plan with the demand of people in the place of its own demand for one pool. */
export async function withDemand(context: CommandContext, plan: PlanDocument, file: string): Promise<PlanDocument> {
  const { sizedDemand } = await import("./run-demand.ts");
  const { pool, months, p10, p50, p95 } = await sizedDemand(context, file);
  const own = plan.demand[pool];
  if (own === undefined) throw new CliError(`${file}: the plan has no demand for a pool ${pool}`, exitCode.usage);
  return { ...plan, demand: { ...plan.demand, [pool]: { ...own, ...quantilesByMonth(months, { p10, p50, p95 }) } } };
}
