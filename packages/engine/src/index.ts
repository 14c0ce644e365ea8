/**
 * The decision engine: a pure function from (state, inputs, time) to (events, replies, effects).
 * It must not read a clock, do I/O, draw random numbers of its own or import anything.
 * Start with `ready.ts` (the contract), then `inputs.ts`, `events.ts`, `effects.ts`, `verdicts.ts` (the vocabulary),
 * then `engine.ts` and the folders in the order of a round: `decide/`, `schedule/`, `apply/`.
 */
export * from "./model/ids.ts";
export * from "./model/accelerator-set.ts";
export * from "./model/fleet.ts";
export { MIG_DEVICES, MIG_PROFILES, migTable, profileMilli } from "./model/mig.ts";
export type { MigDevice, MigPart, MigPlace, MigTable } from "./model/mig.ts";
export * from "./model/team.ts";
export * from "./model/calendar.ts";
export * from "./model/budget.ts";
export * from "./model/schedule.ts";
export { nextDueMs } from "./recurrence/due.ts";
export { accountOf } from "./explain/account.ts";
export type { AccountView } from "./explain/account.ts";
export { pastUseOf } from "./explain/past-use.ts";
export type { PastUseView } from "./explain/past-use.ts";
export * from "./model/past-use.ts";
export * from "./model/workload.ts";
export * from "./model/gang.ts";
export * from "./model/data.ts";
export * from "./model/apart.ts";
export * from "./inputs.ts";
export * from "./events.ts";
export * from "./replies.ts";
export * from "./effects.ts";
export * from "./verdicts.ts";
export * from "./ready.ts";
export * from "./policy/policy.ts";
export * from "./policy/presets.ts";
export { presetPurposes } from "./policy/preset-purposes.ts";
export { predictedRun } from "./past/run-times.ts";
export { rulesOf } from "./policy/rules.ts";
export type { Rules } from "./policy/rules.ts";
export * from "./state/state.ts";
export { noticeOf } from "./state/notices.ts";
export type { Notice } from "./state/notices.ts";
export { createEngine, forkEngine, restoreEngine, replayEngine } from "./engine.ts";
export { explain } from "./explain/explain.ts";
export { nodeLike } from "./explain/node-like.ts";
export { smallestChanges } from "./explain/smallest-change.ts";
export { beforeSubmitting } from "./explain/before-submitting.ts";
export type { SubmissionForecast } from "./explain/before-submitting.ts";
export * from "./explain/change.ts";
export { divideFairShare } from "./quota/divide.ts";
export type { ShareClaim } from "./quota/divide.ts";
export { queuePage, waitingSummary } from "./explain/queue-page.ts";
export { findWaste } from "./explain/waste.ts";
export type { Waste } from "./explain/waste.ts";
export { foreseeDefragmentation } from "./explain/defragmentation.ts";
export type { DefragmentationForecast } from "./explain/defragmentation.ts";
export { planApply } from "./explain/plan-apply.ts";
export type { ApplyDocuments, ApplyForecast } from "./explain/plan-apply.ts";
export { nodeUse, teamHolds, teamHoldsInAll } from "./explain/fleet-use.ts";
export { readyTask, waitingTaskCount } from "./state/ready-task.ts";
export { DEFAULT_TEAM } from "./state/world.ts";
export { CHAIN_START, chainAfter, hashText } from "./state/hash.ts";
export { checkBatch } from "./verify/batch-checks.ts";
export { checkInvariants } from "./verify/invariants.ts";
export { feasibility } from "./verify/recount.ts";
export type { Feasibility, GangRequest } from "./verify/recount.ts";
export { checkState } from "./verify/state-checks.ts";
export { draw } from "./state/draw.ts";
export { canonicalJson, compareText } from "./state/canonical.ts";
export { utf8Decode, utf8Encode } from "./state/utf8.ts";
export { InvariantError, invariant } from "./state/invariant.ts";
