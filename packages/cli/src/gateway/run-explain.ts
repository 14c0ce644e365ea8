/** `headroom gateway explain`: one request, from the memory of a running gateway or from the usage files. */
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { printable } from "../terminal.ts";
import { askAdmin, namedAdmin, type AdminAddress, type AdminOptions } from "./admin-client.ts";
import { configNamed, type GatewayPackage } from "./gateway-config.ts";

export interface ExplainOptions extends AdminOptions {
  readonly config?: string;
  readonly json?: boolean;
}

interface ExplainedAttempt {
  readonly kind: string;
  readonly pool: string;
  readonly replica: string;
  readonly startedMs: number;
  readonly headMs?: number;
  readonly endedMs?: number;
  readonly status?: number;
  readonly outcome: string;
  readonly failure?: string;
  readonly decision: Readonly<Record<string, unknown>> & { readonly ground: string };
}

interface Usage {
  readonly id: string;
  readonly atMs: number;
  readonly team: string;
  readonly key: string;
  readonly model: string;
  readonly pool: string;
  readonly operation: string;
  readonly outcome: string;
  readonly status: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly isPromptEstimated: boolean;
  readonly nanoUsd: number;
}

interface Explained {
  readonly source: "memory" | "usage";
  readonly usage: Usage;
  readonly at?: string;
  readonly priority?: string;
  readonly deadlineMs?: number;
  readonly durationMs?: number;
  readonly waitedMs?: number;
  readonly firstByteMs?: number;
  readonly refusal?: { readonly kind: string; readonly message: string };
  readonly reserved?: readonly { readonly kind: string; readonly limit: number; readonly amount: number }[];
  readonly attempts?: readonly ExplainedAttempt[];
}

const DEFAULT_CONFIG = "gateway.yaml";

export async function runExplain(context: CommandContext, id: string, options: ExplainOptions): Promise<ExitCode> {
  const explained = await explanationFor(context, id, options);
  if (options.json === true) context.print(JSON.stringify(explained, undefined, 2));
  else context.print(...explanationLines(explained).map(printable));
  return exitCode.ok;
}

/** From the memory of a running gateway, or else from the usage files of the configuration. */
export async function explanationFor(context: CommandContext, id: string, options: ExplainOptions): Promise<Explained> {
  if (options.admin !== undefined) return asked(await namedAdmin(context, options), id);
  const { config } = await configNamed(context, options.config ?? DEFAULT_CONFIG, { mayLackKeys: true });
  const api = await import("@headroom/gateway");
  const token = api.knownAdminToken(config);
  const problems: string[] = [];
  if (config.admin !== undefined && config.admin.port !== 0 && token !== undefined) {
    const { host, port } = config.admin;
    const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
    try {
      return await asked({ url, token }, id);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  const usage = await recordIn(api, config.state, id);
  if (usage !== undefined) return { source: "usage", usage };
  problems.push(`The usage files in ${config.state} have no record of ${id}.`);
  throw new CliError(problems.join("\n"));
}

async function asked(address: AdminAddress, id: string): Promise<Explained> {
  const { status, body } = await askAdmin<Explained>(address, `/v1/requests/${encodeURIComponent(id)}`);
  if (status === 200) return body;
  throw new CliError(body.error ?? `the gateway answered ${status}`);
}

async function recordIn(
  { gatewaysIn, findUsageRecord }: GatewayPackage,
  state: string,
  id: string,
): Promise<Usage | undefined> {
  for (const { directory } of foldersIn(gatewaysIn, state)) {
    const found = await findUsageRecord(directory, id, Number.POSITIVE_INFINITY);
    if (found !== undefined) return found;
  }
  return undefined;
}

function foldersIn(read: GatewayPackage["gatewaysIn"], state: string): ReturnType<GatewayPackage["gatewaysIn"]> {
  try {
    return read(state);
  } catch {
    return [];
  }
}

function explanationLines(explained: Explained): readonly string[] {
  const { usage, refusal, reserved = [], attempts = [] } = explained;
  const at = explained.at ?? new Date(usage.atMs).toISOString();
  const caller = usage.team === "" ? "without a team" : `of ${usage.team} (key ${usage.key})`;
  const lines = [
    `${usage.id}: ${usage.operation || "request"} for ${usage.model || "no model"} ${caller}, ${at}`,
    `${usage.outcome} with status ${usage.status}${explained.durationMs === undefined ? "" : ` after ${explained.durationMs} ms`}`,
  ];
  if (refusal !== undefined) lines.push(`refused by the gateway (${refusal.kind}): ${refusal.message}`);
  if (explained.priority !== undefined && (explained.priority !== "normal" || explained.deadlineMs !== undefined))
    lines.push(`priority ${explained.priority}${deadlineText(explained)}`);
  for (const { kind, limit, amount } of reserved)
    lines.push(
      kind === "money"
        ? `reserved ${amount / 1e9} of ${limit / 1e9} USD`
        : `reserved ${amount} of ${limit} ${kind} a minute`,
    );
  if ((explained.waitedMs ?? 0) >= 1) lines.push(`waited ${explained.waitedMs} ms for limits, its turn or a replica`);
  for (const attempt of attempts) lines.push(...attemptLines(attempt));
  if (explained.firstByteMs !== undefined) lines.push(`${explained.firstByteMs} ms  first byte`);
  const estimated = usage.isPromptEstimated ? " (estimated)" : "";
  lines.push(
    `usage: ${usage.promptTokens} prompt tokens${estimated}, ${usage.cachedTokens} of them cached, ${usage.completionTokens} output tokens, ${usage.nanoUsd / 1e9} USD`,
  );
  if (explained.source === "usage")
    lines.push("The gateway no longer has its attempts in memory: this is its record in the usage files.");
  return lines;
}

function deadlineText({ deadlineMs }: Explained): string {
  return deadlineMs === undefined ? "" : `, deadline ${deadlineMs} ms after its arrival`;
}

function attemptLines(attempt: ExplainedAttempt): readonly string[] {
  const { decision } = attempt;
  const numbers = [
    `${String(decision["candidates"])} of ${String(decision["replicas"])} replicas could take it`,
    `load ${String(decision["load"])}, mean ${String(decision["meanLoad"])}`,
    `${String(decision["cachedTokens"])} tokens expected in its cache`,
  ];
  const took = attempt.endedMs === undefined ? "" : ` at ${attempt.endedMs} ms`;
  const status = attempt.status === undefined ? "" : `, status ${attempt.status} at ${attempt.headMs} ms`;
  const failure = attempt.failure === undefined ? "" : `: ${attempt.failure}`;
  return [
    `${attempt.startedMs} ms  ${attempt.kind} attempt at ${attempt.replica} (pool ${attempt.pool}), by ${decision.ground}: ${numbers.join("; ")}`,
    `    ${attempt.outcome}${took}${status}${failure}`,
  ];
}
