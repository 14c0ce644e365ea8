/**
 * Internals for `explain`, which reads the indexes of an engine, for `engine-oracle`, which checks decisions from the outside, and for
 * tests. No other package may import this file (`tools/lint`).
 */
export { Batch } from "./batch/batch.ts";
export { CachedInputs } from "./cluster/cached-inputs.ts";
export type { TypeCapacity } from "./cluster/capacity.ts";
export { usageKey } from "./usage/imported-usage.ts";
export { plannedStagingMs } from "./cluster/transfers.ts";
export { activeAttempt, attemptsOn, byPlacement, workloadOf } from "./cluster/entities.ts";
export { NODE_LEVEL } from "./cluster/fabric-index.ts";
export { countsForTeam } from "./cluster/holdings.ts";
export { latestEndMs } from "./cluster/latest-end.ts";
export { Ledger, simulate } from "./cluster/ledger.ts";
export type { NodeSlot } from "./cluster/node-slot.ts";
export type { PlacementRequest } from "./cluster/placement-request.ts";
export { QueueBucket, rejectedAtEpoch } from "./cluster/queue.ts";
export type { Queue } from "./cluster/queue.ts";
export { acceptableTypes, amountAsked, isInGroups, partsAsked, quotaReached, wholeNeeded } from "./cluster/request.ts";
export { latestStartAtMs, mayStart, nextLookMs, opensAtMs } from "./cluster/start-window.ts";
export {
  ACCELERATORS_AT,
  CORES_AT,
  FIRST_TYPE_AT,
  MEMORY_AT,
  amountAt,
  isUnder,
  statedAmount,
} from "./cluster/team-node.ts";
export type { TeamNode } from "./cluster/team-node.ts";
export type { World } from "./cluster/world.ts";
export { PowerForecast } from "./energy/power-forecast.ts";
export { figuresAt } from "./energy/tariffs.ts";
export { forkFleet, takeInForNow, takeInOnly, tryFor, tryInputs, worldOf } from "./engine/engine.ts";
export type { CounterfactualRun } from "./engine/engine.ts";
export { planApply } from "./lifecycle/apply-documents.ts";
export { planCapacityOrder } from "./lifecycle/capacity-orders.ts";
export { proposalRuleOf } from "./lifecycle/change-budget.ts";
export { planChange } from "./lifecycle/change-workload.ts";
export { commandOfChange } from "./lifecycle/proposed-changes.ts";
export { submissionAdmissionFailure } from "./lifecycle/submit.ts";
export { queueOrder } from "./ordering/round-order.ts";
export { entitlementOf, entitlementToPreempt, teamSharesOf } from "./ordering/team-share.ts";
export type { TeamShare } from "./ordering/team-share.ts";
export { heldMs, reservationsOf } from "./placement/backfill/reservations.ts";
export type { Reservation } from "./placement/backfill/reservations.ts";
export {
  couldEverFit,
  fitsUsableFleet,
  isBeyondQuotas,
  isHeldByLimit,
  knownFit,
  placeableAsWished,
  rememberFit,
} from "./placement/could-ever.ts";
export { emptied } from "./placement/empty-fleet.ts";
export { looksAround } from "./placement/filters/anti-affinity.ts";
export { fleetWithExpectedNodes } from "./placement/expected-nodes.ts";
export type { ExtendedFleet } from "./placement/extended-fleet.ts";
export { workerShortfall } from "./placement/filters/between-workers.ts";
export { calendarEndMs, calendarWindows, windowsInTheWay } from "./placement/filters/calendar-windows.ts";
export { acceptedBy, declaredWakeOn, filters } from "./placement/filters/filters.ts";
export { hotSpares, hotSparesFor, hotSparesKept } from "./placement/filters/hot-spares.ts";
export { Inquiry } from "./placement/filters/inquiry.ts";
export { quota } from "./placement/filters/quota.ts";
export { runTime } from "./placement/filters/run-time.ts";
export { askOfRefused } from "./placement/place-groups.ts";
export { emptyNodeWorkers, placeOnType } from "./placement/place-on-type.ts";
export { findPlacement } from "./placement/place.ts";
export { ReleasingRoom } from "./placement/releasing-room.ts";
export { covers, isKeptFor, windowBroken, withAncestors } from "./placement/verify/calendar.ts";
export { Findings } from "./placement/verify/findings.ts";
export { checkGroups } from "./placement/verify/group-checks.ts";
export { checkPart, slicesOf } from "./placement/verify/part-checks.ts";
export { evictionLoss } from "./preemption/cost.ts";
export { firstBeyondEntitlement, isOnAny, mayPreempt, roomAtMost } from "./preemption/eligibility.ts";
export { findPlan } from "./preemption/pipeline.ts";
export { preemptionStrategy } from "./preemption/strategy.ts";
export { gather } from "./round/defragment.ts";
export { blockingClass } from "./round/place-waiting.ts";
export type { DemandMix } from "./state/demand-mix.ts";
export { stateDigest } from "./state/digest.ts";
export { ENDED_ENTRIES_KEPT } from "./state/ended-entries.ts";
export { canDo } from "./state/executors.ts";
export { holdReasonBy, isAtTaskLimit, isWaitingForTime, readyTaskCount } from "./state/ready-task.ts";
export type { HoldReasonBy } from "./state/ready-task.ts";
export { decodeSnapshot, encodeSnapshot } from "./state/snapshot.ts";
export { isGuaranteed } from "./strategies/hived/guaranteed.ts";
export { placeGiven } from "./transitions/start.ts";
export { accrued, gpuHoursOf, microUsdOf, periodStartMs, renewalMs, spentOf } from "./usage/account.ts";
export { AVERAGE_ONE } from "./usage/decayed-usage.ts";
export { expectedEndMs } from "./usage/expected-duration.ts";
export { budgetForecast } from "./usage/forecast.ts";
export { isSpent, spentBudget, spentBudgets } from "./usage/gate.ts";
export { longestDurationMs, plannedDurationMs, roundedDownMs } from "./usage/planned-duration.ts";
export { PREDICTED_MS_MAX, predictsRuns, runKindsOf } from "./usage/run-times.ts";
