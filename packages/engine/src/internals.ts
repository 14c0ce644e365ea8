/**
 * Internals for `engine-oracle`, which checks decisions from the outside, and for tests. No other package may import this file
 * (`tools/lint`).
 */
export type { TypeCapacity } from "./cluster/capacity.ts";
export type { NodeSlot } from "./cluster/node-slot.ts";
export { nextLookMs } from "./cluster/start-window.ts";
export { rejectedAtEpoch } from "./cluster/queue.ts";
export type { QueueBucket } from "./cluster/queue.ts";
export { ACCELERATORS_AT } from "./cluster/team-node.ts";
export type { World } from "./cluster/world.ts";
export type { Effect } from "./contract/effects.ts";
export type { Event, PlannedVictim } from "./contract/events.ts";
export type { BlockedReason } from "./contract/verdicts.ts";
export { clockOf, worldOf } from "./engine/engine.ts";
export type { Engine, Ready } from "./engine/ready.ts";
export { explain } from "./explain/reasons/explain.ts";
export { acceleratorCount, acceleratorIndices } from "./model/accelerator-set.ts";
export type { AntiAffinityFrom, AntiAffinitySpec } from "./model/anti-affinity.ts";
export { tariffEndMs } from "./model/calendar.ts";
export type { Tariff } from "./model/calendar.ts";
export type { DataSpec } from "./model/data.ts";
export { HOT_SPARE_AHEAD_MS, isOfTypes } from "./model/fleet.ts";
export { canDo } from "./state/executors.ts";
export { takesWork } from "./model/fleet.ts";
export type { Node } from "./model/fleet.ts";
export { acceleratorsIn, acceptedTypes, leastParts, shapeOf, typesOfGroup } from "./model/gang.ts";
export { attemptId } from "./model/ids.ts";
export type { AttemptId, NodeId, SiteName, TeamName, WorkloadId } from "./model/ids.ts";
export { wholeSlices } from "./model/slices.ts";
export { isWaiting, taskOf } from "./model/task.ts";
export { ALL_ACCELERATORS, RESOURCES_BESIDE_TYPES } from "./model/team.ts";
export type { Amounts } from "./model/team.ts";
export { lastDueMs, nextDueMs } from "./model/time/due.ts";
export { ENDED_ATTEMPTS_KEPT, isEviction, isPlannedEviction, taskCountOf } from "./model/workload.ts";
export type {
  Attempt,
  FabricSpec,
  TaskGroup,
  GangSpec,
  Nomination,
  SpreadSpec,
  WorkerAllocation,
  WorkerShape,
  Workload,
  WorkloadSpec,
} from "./model/workload.ts";
export { fleetFit } from "./placement/could-ever.ts";
export { reservationsOf } from "./placement/backfill/reservations.ts";
export { covers, isKeptFor, windowBroken, withAncestors } from "./placement/verify/calendar.ts";
export { Findings } from "./placement/verify/findings.ts";
export { checkGroups } from "./placement/verify/group-checks.ts";
export { checkPart, slicesOf } from "./placement/verify/part-checks.ts";
export type { OrderKey, Policy } from "./policy/policy.ts";
export { isPreemptible, preemptibilityOf } from "./policy/preemptible.ts";
export { mayEvict, rulesOf } from "./policy/rules.ts";
export type { Rules } from "./policy/rules.ts";
export { stateDigest } from "./state/digest.ts";
export { ENDED_ENTRIES_KEPT } from "./state/ended-entries.ts";
export { waitingTaskCount } from "./state/ready-task.ts";
export { decodeSnapshot, encodeSnapshot } from "./state/snapshot.ts";
export { ANSWERS_KEPT, DEFAULT_TEAM, ENDED_WORKLOADS_KEPT } from "./state/state.ts";
export type { ReadonlyState, WorkloadEntity } from "./state/state.ts";
export { isGuaranteed } from "./strategies/hived/guaranteed.ts";
export { expectedEndMs } from "./usage/expected-duration.ts";
export { plannedDurationMs } from "./usage/planned-duration.ts";
export { PREDICTED_MS_MAX, runKindsOf } from "./usage/run-times.ts";
