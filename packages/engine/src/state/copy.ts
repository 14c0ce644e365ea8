/**
 * An independent copy of the state: writes to an entity of the copy are not visible in the original. Ended workloads
 * are omitted, because they cannot affect starts; everything else that `apply/` modifies in place is copied.
 */
import { IdMap } from "@headroom/model";
import { NO_ATTEMPTS, asWritable } from "./mutable-state.ts";
import type { State, WritableWorkload } from "./mutable-state.ts";
import type { ReadonlyState } from "./state.ts";
import { copiedTables } from "./tables.ts";

export function copyLiveState(live: ReadonlyState): ReadonlyState {
  const state = asWritable(live);
  const copy: State = {
    ...state,
    ...copiedTables(state),
    artifacts: new Map(state.artifacts),
    artifactVersions: new Map(state.artifactVersions),
    demand: state.demand?.copy() ?? null,
    nodes: copied(state.nodes, new Map()),
    attempts: copied(state.attempts, new IdMap()),
    workloads: liveWorkloads(state),
  };
  return copy;
}

/** A copy of the fleet, the teams and the policy, without any work. Its cost does not depend on the queue. */
export const copyFleetState = (live: ReadonlyState): ReadonlyState =>
  copyLiveState({
    ...live,
    workloads: new IdMap(),
    attempts: new IdMap(),
    nominations: new Map(),
    pipelineRuns: new Map(),
    demand: null,
  });

function copied<Entity extends object, Key, Table extends Map<Key, Entity>>(
  entities: ReadonlyMap<Key, Entity>,
  copy: Table,
): Table {
  for (const [key, entity] of entities) copy.set(key, { ...entity });
  return copy;
}

function liveWorkloads({ workloads }: State): State["workloads"] {
  const copy: State["workloads"] = new IdMap();
  for (const [id, workload] of workloads) if (workload.endedAtMs === null) copy.set(id, copyOf(workload));
  return copy;
}

/**
 * The list of active attempts is the only object inside a workload that is modified in place, so only this list is
 * copied.
 */
function copyOf(workload: WritableWorkload): WritableWorkload {
  const { activeAttempts } = workload;
  const own = activeAttempts.length === 0 ? NO_ATTEMPTS : [...activeAttempts];
  return { ...workload, activeAttempts: own };
}
