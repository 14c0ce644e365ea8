/**
 * An independent copy of the state: writes to an entity of the copy are not visible in the original. Ended workloads
 * are omitted, because they cannot affect starts; everything else that `apply/` modifies in place is copied.
 */
import { IdMap, isRunOpen } from "@headroom/model";
import { NO_ATTEMPTS, asWritable } from "./mutable-state.ts";
import type { State, WritableWorkload } from "./mutable-state.ts";
import type { ReadonlyState } from "./state.ts";

export function copyLiveState(live: ReadonlyState): ReadonlyState {
  const state = asWritable(live);
  const copy: State = {
    ...state,
    sites: new Map(state.sites),
    executors: new Map(state.executors),
    executorStates: new Map(state.executorStates),
    pools: new Map(state.pools),
    poolRemovals: new Map(state.poolRemovals),
    siteRemovals: new Map(state.siteRemovals),
    capacityOrders: new Map(state.capacityOrders),
    burstAccounts: new Map(state.burstAccounts),
    proposals: new Map(state.proposals),
    proposalRules: new Map(state.proposalRules),
    artifacts: new Map(state.artifacts),
    artifactVersions: new Map(state.artifactVersions),
    stores: new Map(state.stores),
    importedHistories: new Map(state.importedHistories),
    teams: new Map(state.teams),
    nominations: new Map(state.nominations),
    calendar: new Map(state.calendar),
    endedEntries: new Map(state.endedEntries),
    schedules: new Map(state.schedules),
    pipelines: new Map(state.pipelines),
    pipelineRuns: new Map(
      Array.from(state.pipelineRuns, ([id, run]) => [id, isRunOpen(run) ? { ...run, steps: new Map(run.steps) } : run]),
    ),
    cachedSteps: new Map(state.cachedSteps),
    accounts: new Map(state.accounts),
    decayedUsage: new Map(state.decayedUsage),
    migrated: new Map(state.migrated),
    runTimes: new Map(state.runTimes),
    answers: new Map(),
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
