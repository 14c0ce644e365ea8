/** `headroom why p12`: the steps of a run that wait or did not succeed, each with its reason. */
import type { HeadroomClient, PipelineRun, PipelineStepRun } from "@headroom/protocol";
import type { CommandContext } from "../command.ts";
import { isProblemError } from "../describe-error.ts";
import { pairLines } from "../output/table.ts";
import { allPages } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";
import { phaseCellOf } from "./pipeline-options.ts";

const STEPS_READ_MAX = 500;

/** False: there is no such run. The text may be the name of a workload. */
export async function whyRun(
  context: CommandContext,
  client: HeadroomClient,
  id: string,
  json: boolean | undefined,
): Promise<boolean> {
  const run = await runOf(client, id);
  if (run === null) return false;
  const { items } = await allPages((cursor, limit) => client.listPipelineSteps(id, { cursor, limit }), STEPS_READ_MAX);
  const steps = items.filter((own) => hasWhy(own));
  if (json === true) {
    context.print(JSON.stringify({ runId: id, phase: run.phase, steps }, null, 2));
    return true;
  }
  const { text, tone } = phaseCellOf(run.phase);
  context.print(
    `${context.paint("bold", id)} of ${printable(run.pipeline)} is ${context.paint(tone ?? "bold", text)}.`,
  );
  const pairs = steps.map((own) => {
    const work = own.workloadId === null ? "" : ` (${own.workloadId})`;
    return [own.key, `${phaseCellOf(own.phase).text}${work}: ${own.sentence}`] as const;
  });
  context.print(...(pairs.length === 0 ? ["No step waits."] : pairLines(pairs, context.paint)));
  return true;
}

const hasWhy = ({ phase, sentence }: PipelineStepRun): boolean =>
  sentence !== "" && phase !== "succeeded" && phase !== "cached";

async function runOf(client: HeadroomClient, id: string): Promise<PipelineRun | null> {
  try {
    return await client.getPipelineRun(id);
  } catch (error) {
    if (isProblemError(error) && error.code === "unknownPipelineRun") return null;
    throw error;
  }
}
