/** `headroom plan store FILE`: the documents are read here, with the line of each problem, and solved by the control plane. */
import type { SolvedPlan } from "@headroom/protocol";
import { exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { readPlanFile } from "./plan-file.ts";
import { money, numberTable } from "./plan-text.ts";
import { withDemand } from "./run-plan.ts";

export interface StorePlanOptions {
  readonly ceilings?: string;
  readonly demand?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

export async function storePlan(context: CommandContext, file: string, options: StorePlanOptions): Promise<ExitCode> {
  const { readCeilingDocument, readPlanDocument } = await import("@headroom/plan");
  const read = await readPlanFile(context, file, readPlanDocument);
  const plan = options.demand === undefined ? read : await withDemand(context, read, options.demand);
  const ceilings =
    options.ceilings === undefined ? null : await readPlanFile(context, options.ceilings, readCeilingDocument);
  const client = await context.connect();
  const answer = await client.storePlan({ plan, ceilings }, { dryRun: options.dryRun === true });
  if (options.json === true) context.print(JSON.stringify(answer, null, 2));
  else context.print(...solvedLines(context, answer.solved), answer.dryRun ? "Nothing was stored." : "stored");
  return answer.solved.variants[0]?.outcome.kind === "planned" ? exitCode.ok : exitCode.failed;
}

function solvedLines(context: CommandContext, { first, orders, variants }: SolvedPlan): readonly string[] {
  const [order] = orders;
  const lines = [
    first === null
      ? "Nothing runs out within the horizon."
      : `${first.axis} runs out first, in ${first.month} (probability ${Math.round(100 * first.probability)}%).`,
    order === undefined
      ? "Nothing is to be ordered."
      : `The first order: ${order.count} ${order.name} by ${order.orderBy}, in service in ${order.inService}.`,
  ];
  const rows = variants.map(({ name, outcome }) =>
    outcome.kind === "planned"
      ? [name, "", money(outcome.costUsd), money(outcome.differenceUsd ?? 0), outcome.firstOrderBy ?? ""]
      : [name, outcome.kind === "impossible" ? `no plan from ${outcome.month} on` : "not solved in time", "", "", ""],
  );
  return [...lines, ...numberTable(context, ["variant", "", "cost", "difference", "first order by"], rows), ""];
}
