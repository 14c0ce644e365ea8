/**
 * The decision engine: a pure function from (state, inputs, time) to (events, replies, effects).
 * It must not read a clock, do I/O or draw random numbers of its own. It imports only `@headroom/model`, the vocabulary.
 * Start with `engine/ready.ts` (the contract) and `contract/` in the package `model` (inputs, events, effects, replies, verdicts), then
 * read `engine/engine.ts`, `lifecycle/` (from an input to events), `round/` (the phases of a round) and `apply/` (from an event to the state).
 */
export type { BudgetForecast, PaceForecast } from "./usage/forecast.ts";
export * from "./engine/ready.ts";
export {
  CHECKPOINT_COST_MS,
  checkpointIntervalOn,
  nodeCountOf,
  nodeFailures,
  type CheckpointInterval,
} from "./usage/checkpoint-interval.ts";
export { endpointSpending, type EndpointSpending } from "./cluster/endpoint-spending.ts";
export { predictedRun } from "./usage/run-times.ts";
export * from "./state/state.ts";
export { executorOf } from "./state/executors.ts";
export { findVersion, findVersionOf, usersOf } from "./state/find-artifact.ts";
export { readEvents, readInputs } from "./state/upcast.ts";
export { noticeOf } from "./state/notices.ts";
export type { Notice } from "./state/notices.ts";
export {
  clockOf,
  createEngine,
  endpointsOf,
  forkEngine,
  replayEngine,
  restoreEngine,
  transferBefore,
} from "./engine/engine.ts";
export { drawnTransferMs, mustBeBrought } from "./cluster/transfers.ts";
export type { ExpectedTransfer, TransferTimes } from "./cluster/transfers.ts";
export { endByProgressMs } from "./preemption/remaining-time.ts";
export { divideFairShare } from "./quota/divide.ts";
export type { ShareRequest } from "./quota/divide.ts";
export { isShared, mayRunSuite } from "./lifecycle/qualification.ts";
export { isEstimateNews } from "./lifecycle/signals.ts";
export { effectOfMove } from "./lifecycle/alias-gates.ts";
export { CHECKPOINT_RULE } from "./lifecycle/stored-checkpoints.ts";
export { addUtilization } from "./state/utilization.ts";
export { awaitedFirst } from "./lifecycle/apply-documents.ts";
export type { ApplyDocuments } from "./lifecycle/apply-documents.ts";
export { canRerun, readyTask, waitingTaskCount } from "./state/ready-task.ts";
