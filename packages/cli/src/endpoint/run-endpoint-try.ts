/** `headroom endpoint try`: one request through the gateway. */
import { trialRequest } from "@headroom/protocol";
import type { Trial } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { printable } from "../terminal.ts";
import { foundEndpoint } from "./run-endpoint.ts";

export interface TryEndpointOptions {
  readonly completion?: boolean;
  readonly maxTokens?: string;
  readonly temperature?: string;
  readonly json?: boolean;
}

interface Tried {
  readonly endpoint: string;
  readonly prompt: string;
  readonly options: TryEndpointOptions;
}

/** A first replica can take a minute or two to start. */
const TIMEOUT_MS = 180_000;

export async function tryEndpoint(context: CommandContext, { endpoint, prompt, options }: Tried): Promise<ExitCode> {
  const { completion, maxTokens, temperature, json } = options;
  const request = trialRequest.safeParse({
    prompt,
    form: completion === true ? "completion" : "chat",
    ...(maxTokens === undefined ? {} : { maxTokens: Number(maxTokens) }),
    ...(temperature === undefined ? {} : { temperature: Number(temperature) }),
  });
  if (!request.success) {
    const [issue] = request.error.issues;
    throw new CliError(`${issue?.path.join(".") ?? "The request"}: ${issue?.message ?? "is invalid"}`, exitCode.usage);
  }
  const client = await context.connect();
  const { items } = await client.endpoints();
  const { workloadId, replicas } = foundEndpoint(items, endpoint);
  if (replicas.ready === 0) context.note("No replica is ready. The request waits for one.");
  const signal = AbortSignal.any([context.terminal.interrupted, AbortSignal.timeout(TIMEOUT_MS)]);
  const trial = await client.tryEndpoint(workloadId, request.data, { signal });
  if (json === true) context.print(JSON.stringify(trial, null, 2));
  else context.print(...trial.text.split("\n").map(printable), "", trialLine(trial));
  return exitCode.ok;
}

function trialLine({ model, requestId, firstTokenMs, totalMs, inputTokens, outputTokens, finish }: Trial): string {
  const facts = [
    model,
    ...(firstTokenMs === null ? [] : [`first token after ${firstTokenMs} ms`]),
    `${totalMs} ms in all`,
    ...(inputTokens === null ? [] : [`${inputTokens} tokens in`]),
    ...(outputTokens === null ? [] : [`${outputTokens} out`]),
    ...(finish === null ? [] : [`ended by ${printable(finish)}`]),
    ...(requestId === null ? [] : [`request ${printable(requestId)}`]),
  ];
  return facts.join(", ");
}
