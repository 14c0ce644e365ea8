/**
 * `headroom lineage request:ID`: from a request of a gateway over the replica that answered it to the bytes of the training data. The
 * gateway knows the address of the replica, the journal who served there, and the registry where the model comes from.
 */
import type { ServedReplica } from "@headroom/lineage";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { explanationFor, type ExplainOptions } from "../gateway/run-explain.ts";
import { tableLines } from "../output/table.ts";
import { printable } from "../terminal.ts";
import { hasJournal, replayJournal } from "./history-events.ts";
import { lineageColumns, lineageRow } from "./run-artifact-lineage.ts";

/** The time is that of the gateway, and the journal has that of the control plane. An address is used again after longer than this. */
const CLOCKS_MS = 1_000;

export async function runRequestLineage(
  context: CommandContext,
  id: string,
  options: ExplainOptions,
): Promise<ExitCode> {
  const { address, atMs, model } = await servedFrom(context, id, options);
  const served = await replicaAt(context, address, atMs);
  const client = await context.connect();
  const lineages = await Promise.all(
    served.versions.map((version) => client.artifactLineage(version, { direction: "up", depth: undefined })),
  );
  if (options.json === true) {
    context.print(JSON.stringify({ request: id, model, address, atMs, replica: served, lineages }, null, 2));
    return exitCode.ok;
  }
  const rows = lineages.flatMap(({ nodes }) => nodes.map(lineageRow));
  const last = [
    ["1", "replica", served.endpoint, `${served.attemptId}, revision ${served.revision}`, printable(address)],
    ["2", "request", printable(model), printable(id), new Date(atMs).toISOString()],
  ];
  context.print(...tableLines(lineageColumns, [...rows, ...last], context.terminal.stdout, context.paint));
  if (rows.length === 0)
    context.note(`${served.endpoint} was given no version of the registry, so its model is not known.`);
  return exitCode.ok;
}

interface Answered {
  /** Host and port of the replica. */
  readonly address: string;
  readonly atMs: number;
  readonly model: string;
}

/** The last attempt of the request: the one whose answer the caller got. */
async function servedFrom(context: CommandContext, id: string, options: ExplainOptions): Promise<Answered> {
  const { usage, attempts = [] } = await explanationFor(context, id, options);
  const isAnswer = ({ outcome, status }: (typeof attempts)[number]) =>
    outcome === "completed" && (status === undefined || status < 400);
  const attempt = attempts.findLast(isAnswer) ?? attempts.at(-1);
  if (attempt === undefined)
    throw new CliError(
      `the gateway does not remember which replica answered ${id}: it keeps the newest requests in memory, and its usage files have no replica`,
    );
  const { host } = new URL(/^https?:\/\//.test(attempt.replica) ? attempt.replica : `http://${attempt.replica}`);
  // A request may wait for its replica to start: the attempt came after that.
  return { address: host, atMs: usage.atMs + attempt.startedMs, model: usage.model };
}

async function replicaAt(context: CommandContext, address: string, atMs: number): Promise<ServedReplica> {
  const { home } = context;
  if (!hasJournal(home))
    throw new CliError(`${home} has no journal. Name the state directory with --home DIR.`, exitCode.usage);
  const { ReplicaHistory } = await import("@headroom/lineage");
  const latestMs = atMs + CLOCKS_MS;
  const history = new ReplicaHistory(address, latestMs);
  await replayJournal(home, (events, state) => {
    history.fold(events, state);
    return (events[0]?.atMs ?? 0) <= latestMs;
  });
  if (history.served === null) throw new CliError(`no endpoint of ${home} had a replica at ${address} at that time`);
  return history.served;
}
