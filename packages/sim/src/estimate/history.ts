/** Run times recorded in a state, in the order of submission. The state knows nothing of the future. */
import { acceleratorsIn, wholeParts } from "@headroom/model";
import type { EndedAttempt, Workload, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { DurationSource, WorkRecord } from "./durations.ts";

export interface WorkHistory {
  readonly records: readonly WorkRecord[];
  /** Work that was imported from the accounting of clusters. */
  readonly imported: readonly WorkRecord[];
  readonly workloads: readonly Workload[];
  readonly indexOf: ReadonlyMap<WorkloadId, number>;
}

/** `past`: the state of the fork's original engine, because a fork does not contain ended work. */
export function workHistory(state: ReadonlyState, past: ReadonlyState = state): WorkHistory {
  const known = new Map([...past.workloads, ...state.workloads]);
  const workloads = [...known.values()].toSorted((left, right) => left.ordinal - right.ordinal);
  return {
    workloads,
    records: workloads.map(recordOf),
    imported: importedRecords(past),
    indexOf: new Map(workloads.map(({ id }, index) => [id, index])),
  };
}

function importedRecords({ importedHistories }: ReadonlyState): readonly WorkRecord[] {
  return [...importedHistories.values()]
    .flatMap(({ runs }) => runs)
    .map(({ team, kind, name, accelerators, submittedAtMs, tookMs, walltimeMs }) => ({
      family: `${team} ${kind} ${nameStem(name)}`,
      accelerators,
      submittedAtMs,
      endedAfterMs: [tookMs],
      walltimeMs,
    }))
    .toSorted((left, right) => left.submittedAtMs - right.submittedAtMs);
}

/** Run time in ms of an attempt, drawn from this source; also for work that is submitted later in the scenario. */
export function drawnDurationMs(
  source: DurationSource,
  { indexOf }: WorkHistory,
  workload: Workload,
  elapsedMs: number,
): number {
  const record = indexOf.get(workload.id);
  if (record !== undefined) return source.durationMs(record, elapsedMs);
  return source.durationOfUnseenMs(recordOf(workload), elapsedMs);
}

function recordOf({ spec, submittedAtMs, endedAttempts }: Workload): WorkRecord {
  return {
    family: `${spec.team} ${spec.kind} ${nameStem(spec.name)}`,
    accelerators: acceleratorsOf(spec),
    submittedAtMs,
    endedAfterMs: endedAttempts.filter(tellsDuration).map(durationOf),
    walltimeMs: spec.walltimeMs,
  };
}

export function acceleratorsOf({ gang }: Workload["spec"]): number {
  return acceleratorsIn(wholeParts(gang));
}

/** The name without its digits: `sweep-lr0.1-17` and `sweep-lr0.3-18` belong to one family. */
function nameStem(name: string): string {
  return name.replace(/[0-9]+/g, "#");
}

/**
 * Whether the end of an attempt shows its run time. A loss caused by the fleet does not; a walltime or a stop by the
 * owner does.
 */
function tellsDuration({ outcome, stopReason }: EndedAttempt): boolean {
  if (outcome === "lost") return false;
  return outcome !== "stopped" || stopReason === "cancelled" || stopReason === "walltimeExceeded";
}

function durationOf({ placedAtMs, startedAtMs, endedAtMs }: EndedAttempt): number {
  return endedAtMs - (startedAtMs ?? placedAtMs);
}
