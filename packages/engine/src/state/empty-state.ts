import { IdMap, CHAIN_START, genesisPolicy } from "@headroom/model";
import type { State } from "./mutable-state.ts";
import { DEFAULT_TEAM } from "./state.ts";
import type { ReadonlyState } from "./state.ts";
import { emptyTables } from "./tables.ts";

/** The state before the first event. */
export const emptyState = (): ReadonlyState => {
  const state: State = {
    nowMs: 0,
    sequence: 0,
    chain: CHAIN_START,
    policy: genesisPolicy,
    ...emptyTables(),
    teams: new Map([[DEFAULT_TEAM, { name: DEFAULT_TEAM, parent: null, limit: {} }]]),
    nodes: new Map(),
    workloads: new IdMap(),
    attempts: new IdMap(),
    artifacts: new Map(),
    artifactVersions: new Map(),
    demand: null,
    submittedCount: 0,
    endedCount: 0,
    joinedNodeCount: 0,
    pipelineRunCount: 0,
  };
  return state;
};
