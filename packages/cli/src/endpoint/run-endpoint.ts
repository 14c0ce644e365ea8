/** `headroom endpoint list` and `show`. */
import type { Endpoint, HeadroomClient } from "@headroom/protocol";
import { groundText } from "@headroom/views";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { ago } from "../output/amounts.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";

export interface EndpointCommandOptions {
  readonly json?: boolean;
}

const columns = [
  { title: "ENDPOINT", minWidth: 8 },
  { title: "TEAM" },
  { title: "MODEL" },
  { title: "READY", align: "right" },
  { title: "IN PROGRESS", align: "right" },
  { title: "HELD", align: "right" },
  { title: "REQUESTS/S", align: "right" },
  { title: "TTFT P95", align: "right" },
  { title: "SCALING" },
] as const;

export async function listEndpoints(context: CommandContext, { json }: EndpointCommandOptions): Promise<ExitCode> {
  const client = await context.connect();
  const { items } = await client.endpoints();
  if (json === true) context.print(JSON.stringify(items, null, 2));
  else if (items.length === 0)
    context.print("There are no endpoints. Apply a file of kind serve: headroom apply -f FILE");
  else context.print(...tableLines(columns, items.map(rowOf), context.terminal.stdout, context.paint));
  return exitCode.ok;
}

const rowOf = ({ name, team, model, replicas, load, autoscaled, scaling }: Endpoint): readonly string[] => [
  name,
  team,
  model,
  `${replicas.ready} of ${replicas.wanted}`,
  load === null ? "-" : String(load.running),
  load === null ? "-" : String(load.held),
  load === null ? "-" : load.requestsPerSecond.toFixed(1),
  load?.ttft == null ? "-" : milliseconds(load.ttft.p95Ms),
  autoscaled ? (scaling?.kept ?? "on") : "by hand",
];

export async function showEndpoint(
  context: CommandContext,
  name: string,
  { json }: EndpointCommandOptions,
): Promise<ExitCode> {
  const client = await context.connect();
  const { items, nowMs } = await client.endpoints();
  const endpoint = foundEndpoint(items, name);
  if (json === true) {
    context.print(JSON.stringify(endpoint, null, 2));
    return exitCode.ok;
  }
  const { paint } = context;
  context.print(paint("bold", printable(endpoint.name)), ...pairLines(pairsOf(endpoint, nowMs), paint), "");
  context.print(...tableLines(replicaColumns, endpoint.list.map(replicaRow), context.terminal.stdout, paint));
  if (endpoint.replicas.running < endpoint.replicas.wanted) {
    const verdict = await client.explainWorkload(endpoint.workloadId);
    if (verdict.kind === "blocked") context.print("", `A replica waits: ${printable(verdict.sentence)}`);
  }
  return exitCode.ok;
}

/** Why the endpoint has its number of replicas, where new ones go, and where requests go beyond them; empty: commands alone change the number, and no request leaves. */
export async function scalingLines(
  client: HeadroomClient,
  workloadId: string,
  paint: CommandContext["paint"],
): Promise<readonly string[]> {
  const { items, nowMs } = await client.endpoints();
  const endpoint = items.find((each) => each.workloadId === workloadId);
  if (endpoint === undefined || (endpoint.scaling === null && endpoint.overflow === null)) return [];
  const wanted = endpoint.scaling === null ? ["overflow"] : ["last change", "scaling", "load", "silent", "overflow"];
  return pairLines(
    pairsOf(endpoint, nowMs).filter(([name]) => wanted.includes(name)),
    paint,
  ).map((line) => `  ${line}`);
}

/** By id, TEAM/NAME, or NAME where one team has it. */
export function foundEndpoint(items: readonly Endpoint[], name: string): Endpoint {
  const matching = items.filter(
    (each) => each.workloadId === name || `${each.team}/${each.name}` === name || each.name === name,
  );
  const [endpoint, other] = matching;
  if (endpoint === undefined)
    throw new CliError(`There is no endpoint ${name}. headroom endpoint list shows all.`, exitCode.failed);
  if (other !== undefined)
    throw new CliError(
      `Several endpoints have the name ${name}: ${matching.map((each) => `${each.team}/${each.name}`).join(", ")}.`,
      exitCode.usage,
    );
  return endpoint;
}

function pairsOf(endpoint: Endpoint, nowMs: number): readonly (readonly [string, string])[] {
  const { workloadId, team, model, phase, replicas, lastChange, load, scaling } = endpoint;
  const pairs: (readonly [string, string])[] = [
    ["id", workloadId],
    ["team", team],
    ["model", model],
    ["phase", phase],
    ["revision", String(endpoint.revision)],
    ["replicas", `ready ${replicas.ready} of ${replicas.wanted} (between ${replicas.min} and ${replicas.max})`],
    [
      "last change",
      printable(
        `${ago(lastChange.atMs, nowMs)}: ${lastChange.actor} set ${replicas.wanted} instead of ${lastChange.from}${groundText(lastChange.ground)}`,
      ),
    ],
  ];
  const { failure } = endpoint;
  if (failure !== null)
    pairs.push([
      "failure",
      printable(
        `${failure.attemptId} ended ${ago(failure.atMs, nowMs)}: ${failure.sentence}. headroom logs ${endpoint.name} shows its output.`,
      ),
    ]);
  if (endpoint.rollout !== null) pairs.push(["rollout", printable(endpoint.rollout.sentence)]);
  if (endpoint.overflow !== null) pairs.push(["overflow", printable(endpoint.overflow.sentence)]);
  if (endpoint.budget !== null) pairs.push(["budget", printable(endpoint.budget.sentence)]);
  if (scaling !== null) pairs.push(["scaling", printable(`${scaling.sentence} (${ago(scaling.atMs, nowMs)})`)]);
  for (const metric of scaling?.metrics ?? []) pairs.push([`metric ${printable(metric.name)}`, metricText(metric)]);
  if (load === null) return [...pairs, ["load", "no gateway has reported"]];
  const held = load.held > 0 ? `, ${load.held} held for a first replica` : "";
  const queued = load.queued === null ? "" : `, ${load.queued} of them queued`;
  pairs.push([
    "load",
    `${load.running} requests in progress${queued}${held}, ${load.requestsPerSecond.toFixed(1)} requests/s (reported ${ago(load.reportedAtMs, nowMs)})`,
  ]);
  if (load.silentGateways > 0) pairs.push(["silent", `${load.silentGateways} of its gateways`]);
  if (load.ttft !== null) pairs.push(["first token", latencyText(load.ttft)]);
  if (load.tpot !== null) pairs.push(["per token", latencyText(load.tpot)]);
  if (load.kvUsage !== null) pairs.push(["KV cache", `${Math.round(100 * load.kvUsage)}% used`]);
  return pairs;
}

const metricText = ({
  value,
  gap,
  kind,
  target,
}: NonNullable<NonNullable<Endpoint["scaling"]>["metrics"]>[number]): string =>
  `${gap ?? Number((value ?? 0).toPrecision(6))}, target ${target}${kind === "perReplica" ? " for each replica" : ""}`;

const latencyText = ({ p50Ms, p95Ms, p99Ms }: NonNullable<NonNullable<Endpoint["load"]>["ttft"]>): string =>
  `p50 ${milliseconds(p50Ms)}, p95 ${milliseconds(p95Ms)}, p99 ${milliseconds(p99Ms)}`;

const milliseconds = (ms: number): string => (ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);

const replicaColumns = [
  { title: "REPLICA" },
  { title: "PHASE" },
  { title: "REVISION", align: "right" },
  { title: "ADDRESS" },
  { title: "IN PROGRESS", align: "right" },
] as const;

const replicaRow = (replica: Endpoint["list"][number]): readonly string[] => {
  const { attemptId, phase, address, draining, requests, revision } = replica;
  return [
    attemptId,
    draining ? "draining" : phase === "running" && address === null ? "not ready" : phase,
    String(revision),
    address ?? "-",
    requests === null ? "-" : String(requests),
  ];
};
