/**
 * The decision engine: a pure function from (state, inputs, time) to (events, replies, effects).
 * It must not read a clock, do I/O, draw random numbers of its own or import anything.
 * Start with `engine/ready.ts` (the contract), then `contract/inputs.ts`, `contract/events.ts`, `contract/effects.ts`, `contract/verdicts.ts` (the vocabulary),
 * then `engine/engine.ts` and the folders in the order of a round: `decide/`, `schedule/`, `apply/`.
 */
export * from "./model/ids.ts";
export * from "./model/accelerator-set.ts";
export * from "./model/fleet.ts";
export { MIG_DEVICES, MIG_PROFILES, migTable, profileMilli } from "./model/mig.ts";
export type { MigDevice, MigPart, MigPlace, MigTable } from "./model/mig.ts";
export * from "./model/team.ts";
export { nodeResources } from "./model/node-resources.ts";
export * from "./model/calendar.ts";
export * from "./model/budget.ts";
export * from "./model/schedule.ts";
export { nextDueMs } from "./model/time/due.ts";
export type { BudgetForecast, PaceForecast } from "./usage/forecast.ts";
export * from "./model/usage-history.ts";
export * from "./model/workload.ts";
export * from "./model/task.ts";
export { WHOLE_MILLI, fractionOn, milliOf, needsFraction, needsPart } from "./model/device-part.ts";
export * from "./model/gang.ts";
export * from "./model/data.ts";
export * from "./model/anti-affinity.ts";
export * from "./contract/inputs.ts";
export * from "./contract/events.ts";
export * from "./contract/replies.ts";
export * from "./contract/effects.ts";
export * from "./contract/verdicts.ts";
export * from "./engine/ready.ts";
export * from "./policy/policy.ts";
export * from "./policy/presets.ts";
export { presetPurposes } from "./policy/preset-purposes.ts";
export {
  CHECKPOINT_COST_MS,
  checkpointIntervalOn,
  nodeCountOf,
  nodeFailures,
  type CheckpointInterval,
} from "./usage/checkpoint-interval.ts";
export { predictedRun } from "./usage/run-times.ts";
export { MIGRATION_REST_MS } from "./policy/defragment-rules.ts";
export { preemptibilityOf } from "./policy/preemptible.ts";
export { mayEvict, rulesOf } from "./policy/rules.ts";
export type { Rules } from "./policy/rules.ts";
export * from "./state/state.ts";
export { executorOf } from "./state/executors.ts";
export { readEvents, readInputs } from "./state/upcast.ts";
export { noticeOf } from "./state/notices.ts";
export type { Notice } from "./state/notices.ts";
export { clockOf, createEngine, forkEngine, replayEngine, restoreEngine } from "./engine/engine.ts";
export { endByProgressMs } from "./preemption/remaining-time.ts";
export { divideFairShare } from "./quota/divide.ts";
export type { ShareRequest } from "./quota/divide.ts";
export { isEstimateNews } from "./lifecycle/signals.ts";
export { addUtilization } from "./state/utilization.ts";
export { awaitedFirst } from "./lifecycle/apply-documents.ts";
export type { ApplyDocuments } from "./lifecycle/apply-documents.ts";
export { canRerun, readyTask, waitingTaskCount } from "./state/ready-task.ts";
export { CHAIN_START, chainAfter, hashText } from "./base/hash.ts";
export { IdMap } from "./base/collections/id-map.ts";
export { draw } from "./base/draw.ts";
export { canonicalJson, compareText } from "./base/canonical.ts";
export { utf8Decode, utf8Encode } from "./base/utf8.ts";
export { InvariantError, invariant } from "./base/invariant.ts";
