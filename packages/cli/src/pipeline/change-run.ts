/** `headroom pipeline cancel | retry | approve | reject | remove`. */
import type { HeadroomClient } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { plural } from "../output/amounts.ts";
import { printable } from "../terminal.ts";
import type { DecideStepOptions, JsonOption, RetryOptions } from "./pipeline-options.ts";

export async function cancelRun(context: CommandContext, id: string, { json }: JsonOption): Promise<ExitCode> {
  const client = await context.connect();
  return answered(context, await client.cancelPipelineRun(id), `cancelling ${printable(id)}`, json);
}

export async function retryRun(context: CommandContext, id: string, options: RetryOptions): Promise<ExitCode> {
  const { from, force = false, json } = options;
  const client = await context.connect();
  const answer = await client.retryPipelineRun(id, { force, ...(from === undefined ? {} : { from }) });
  const said = answer.steps === 0 ? `${id}: no step has to run again` : `${id}: ${plural(answer.steps, "step")} again`;
  return answered(context, answer, said, json);
}

interface Decided {
  readonly run: string;
  readonly step: string | undefined;
  readonly isApproved: boolean;
}

export async function decideStep(
  context: CommandContext,
  { run, step: stated, isApproved: approved }: Decided,
  { reason = "", json }: DecideStepOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const step = stated ?? (await onlyApproval(client, run));
  const answer = await client.decidePipelineStep(run, { step, approved, reason });
  return answered(context, answer, `${approved ? "approved" : "rejected"} ${answer.step} of ${answer.id}`, json);
}

async function onlyApproval(client: HeadroomClient, run: string): Promise<string> {
  const { items } = await client.listPipelineSteps(run, { phase: "awaitingApproval" });
  const [first] = items;
  if (first !== undefined && items.length === 1) return first.key;
  throw new CliError(
    first === undefined
      ? `no step of ${printable(run)} waits for approval`
      : `several steps of ${printable(run)} wait for approval; name one: ${items.map(({ key }) => key).join(", ")}`,
  );
}

export async function removePipeline(context: CommandContext, name: string, { json }: JsonOption): Promise<ExitCode> {
  const client = await context.connect();
  const answer = await client.removePipeline(name);
  return answered(context, answer, `removed pipeline ${answer.name}; its runs continue`, json);
}

function answered(context: CommandContext, answer: object, said: string, json: boolean | undefined): ExitCode {
  context.print(json === true ? JSON.stringify(answer, null, 2) : said);
  return exitCode.ok;
}
