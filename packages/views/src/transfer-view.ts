/** The transfer of inputs before a start: how much, from which stores, how long, and what it costs. */
import { transferBefore } from "@headroom/engine";
import type { Engine, ExpectedTransfer as EngineTransfer } from "@headroom/engine";
import { revisionOf } from "@headroom/model";
import type { NodeId, Workload, WorkloadId, WorkloadSpec } from "@headroom/model";
import type { ExpectedTransfer, StartEstimate } from "@headroom/protocol";
import { durationText, memoryText, plural } from "./plain-text.ts";

/** `nodes`: of the placement; `null`: not placed yet. Returns `null` if nothing has to be brought. */
export function transferView(
  engine: Engine,
  work: Pick<WorkloadSpec, "data" | "team"> & Pick<Workload, "given">,
  nodes: readonly NodeId[] | null,
): ExpectedTransfer | null {
  const found = transferBefore(engine, work, nodes);
  if (found === null) return null;
  const { mib, stores, unknownCount, times, readingCount, egressMicroUsd } = found;
  const range = times ?? { p10Ms: null, p50Ms: null, p90Ms: null };
  return {
    mib,
    stores: [...stores],
    unknownCount,
    ...range,
    readingCount,
    egressMicroUsd,
    sentence: transferSentence(found),
  };
}

const workOf = ({ spec, given }: Pick<Workload, "spec" | "given">): Parameters<typeof transferView>[1] => ({
  team: spec.team,
  ...(spec.data === undefined ? {} : { data: spec.data }),
  ...(given === undefined ? {} : { given }),
});

function transferSentence({ mib, stores, unknownCount, times, readingCount, egressMicroUsd }: EngineTransfer): string {
  const from = `from ${stores.length === 1 ? "store" : "stores"} ${stores.join(", ")}`;
  const unknown =
    unknownCount === 0 ? "" : mib === 0 ? plural(unknownCount, "input") : ` and ${plural(unknownCount, "input")}`;
  const size = `${mib === 0 ? "" : memoryText(mib)}${unknown}${unknownCount === 0 ? "" : " of unknown size"}`;
  const cost = egressMicroUsd === 0 ? "" : `, which costs ${(egressMicroUsd / 1_000_000).toFixed(2)} USD of egress`;
  if (times === null) return `It brings ${size} ${from} first${cost}; the time is not known: no transfer was measured.`;
  const basis = readingCount === 0 ? "by the declared throughput" : `by ${plural(readingCount, "transfer")}`;
  const range = `${durationText(second(times.p10Ms))} to ${durationText(second(times.p90Ms))} with 80% probability`;
  return `It brings ${size} ${from} first: about ${durationText(second(times.p50Ms))} (${range}, ${basis})${cost}.`;
}

const second = (ms: number): number => (ms < 1_000 ? ms : Math.round(ms / 1_000) * 1_000);

type StartRange = Pick<StartEstimate, "p10AtMs" | "p50AtMs" | "p90AtMs">;

/** The estimate with the transfer that follows the placement, and the instants from which workers run. */
export function withTransfer<Estimate extends StartRange & { readonly workloadId: string; readonly sentence: string }>(
  engine: Engine,
  estimate: Estimate,
): Estimate & Pick<StartEstimate, "transfer" | "workers"> {
  const workload = engine.state.workloads.get(estimate.workloadId as WorkloadId);
  const transfer = workload === undefined ? null : transferView(engine, workOf(workload), null);
  if (transfer === null || estimate.p50AtMs === null) return estimate;
  const workers = afterTransfer(estimate, transfer);
  const sentence = `${estimate.sentence} ${transfer.sentence}`;
  return { ...estimate, transfer, ...(workers === null ? {} : { workers }), sentence };
}

/** Placement and transfer are independent, so the distances of their quantiles add up as those of normal distributions do. */
function afterTransfer(start: StartRange, { p10Ms, p50Ms, p90Ms }: ExpectedTransfer): StartEstimate["workers"] | null {
  if (start.p50AtMs === null || p50Ms === null || p10Ms === null || p90Ms === null) return null;
  const p50AtMs = start.p50AtMs + p50Ms;
  const early = Math.hypot(start.p50AtMs - (start.p10AtMs ?? start.p50AtMs), p50Ms - p10Ms);
  const late = start.p90AtMs === null ? null : Math.hypot(start.p90AtMs - start.p50AtMs, p90Ms - p50Ms);
  return {
    p10AtMs: Math.round(p50AtMs - early),
    p50AtMs,
    p90AtMs: late === null ? null : Math.round(p50AtMs + late),
  };
}

/** The estimate of an attempt that waits for its inputs; `null`: the work waits for none, or the time is not known. */
export function stagingEstimate(engine: Engine, id: string, atMs: number): StartEstimate | null {
  const { state } = engine;
  const workload = state.workloads.get(id as WorkloadId);
  const attempt = workload?.activeAttempts
    .flatMap((each) => state.attempts.get(each) ?? [])
    .find(({ startedAtMs, stop, stagingMs }) => startedAtMs === null && stop === null && stagingMs !== undefined);
  if (workload === undefined || attempt === undefined) return null;
  const nodes = attempt.workers.map(({ node }) => node);
  const transfer = transferView(engine, workOf(revisionOf(workload, attempt)), nodes);
  if (transfer === null || transfer.p50Ms === null || transfer.p10Ms === null || transfer.p90Ms === null) return null;
  const at = (ms: number): number => Math.max(atMs, attempt.placedAtMs + ms);
  const range = { p10AtMs: at(transfer.p10Ms), p50AtMs: at(transfer.p50Ms), p90AtMs: at(transfer.p90Ms) };
  const inText = (instantMs: number): string => durationText(second(instantMs - atMs));
  const because = { endsBefore: 0, startsBefore: 0, startedCount: 1, scenarioCount: 1, arrivalsReplayed: false };
  const soon = range.p50AtMs === atMs ? "are due to start" : `start in about ${inText(range.p50AtMs)}`;
  const sentence = `It is placed, and its workers ${soon}, at the latest in ${inText(range.p90AtMs)} with 90% probability. ${transfer.sentence}`;
  return { workloadId: id, atMs, ...range, because, transfer, workers: range, sentence };
}
