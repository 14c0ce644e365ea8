/** The fields that all events have, and the versions of their kinds. */

/**
 * The version that this engine writes of each kind whose fields have changed. It is 1 for every other kind. The engine
 * reads all versions from 1 on.
 */
const CHANGED_VERSIONS = {
  siteDefined: 2,
  poolDefined: 3,
  nodeJoined: 2,
  nodeChanged: 2,
  teamDefined: 4,
  policySet: 6,
  budgetRenewed: 2,
  scheduleSet: 2,
  scheduleRan: 2,
  workloadSubmitted: 4,
  endpointScaled: 3,
  rolloutStarted: 2,
  gangPlaced: 2,
  attemptStopRequested: 3,
  gangGrown: 2,
  workersReplaced: 2,
  evictionPlanned: 3,
  gangShrinkRequested: 2,
  checkpointWaitEnded: 2,
  capacityOrderDecided: 2,
  capacityOrderFailed: 2,
  proposalCreated: 5,
  proposalRuleSet: 5,
  artifactChanged: 2,
  pipelineApprovalRequested: 2,
} as const;

export interface Fact<Kind extends string> {
  readonly kind: Kind;
  readonly version: Kind extends keyof typeof CHANGED_VERSIONS ? (typeof CHANGED_VERSIONS)[Kind] : 1;
  readonly atMs: number;
}

export const newestVersion = (kind: string): number =>
  (CHANGED_VERSIONS as Readonly<Record<string, number>>)[kind] ?? 1;

/** The user who declared it. Absent in events that earlier builds recorded, and for a pool that an executor reported. */
export interface DeclaredBy {
  readonly actor?: string;
}
