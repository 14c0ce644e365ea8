/**
 * Answers about an engine, computed on request from the indexes that its rounds use: why a workload waits (`reasons/`), the smallest
 * changes that would start it (`changes/`), accounts of queues, teams and usage (`accounts/`), and forecasts of commands before they
 * are given (`dry-runs/`). Nothing here changes the state of an engine.
 */
export {
  accountOf,
  decayedUsageOf,
  nodeUse,
  openMaintenance,
  teamHolds,
  teamHoldsInAll,
  teamHoldsOfFamily,
} from "./accounts/usage.ts";
export type { AccountView, DecayedUsageView } from "./accounts/usage.ts";
export { orderAdvice } from "./accounts/order-advice.ts";
export type { AdviceQuestion, OrderAdvice } from "./accounts/order-advice.ts";
export { expectedProofs } from "./accounts/expected-proofs.ts";
export { holdReason, queuePage, waitingSummary } from "./accounts/queue-page.ts";
export type { HoldReason, QueuePage, QueueQuery } from "./accounts/queue-page.ts";
export { powerDraws } from "./accounts/power-draws.ts";
export type { PowerDraw } from "./accounts/power-draws.ts";
export { entitlementExceeded, teamEntitlements } from "./accounts/team-entitlements.ts";
export type { EntitlementExceeded } from "./accounts/team-entitlements.ts";
export { windowUse } from "./accounts/window-use.ts";
export type { WindowUse } from "./accounts/window-use.ts";
export * from "./changes/change.ts";
export { nodeLike } from "./changes/node-like.ts";
export { proposedInputs } from "./changes/proposed-inputs.ts";
export { smallestChanges } from "./changes/smallest-change.ts";
export { beforeSubmitting } from "./dry-runs/before-submitting.ts";
export type { SubmissionForecast } from "./dry-runs/before-submitting.ts";
export { foreseeDefragmentation } from "./dry-runs/defragmentation.ts";
export type { DefragmentationForecast } from "./dry-runs/defragmentation.ts";
export { planChange } from "./dry-runs/plan-change.ts";
export type { ChangeForecast } from "./dry-runs/plan-change.ts";
export { planOrder } from "./dry-runs/plan-order.ts";
export type { OrderCommandBody, OrderForecast } from "./dry-runs/plan-order.ts";
export { planApply } from "./dry-runs/plan-apply.ts";
export type { ApplyForecast } from "./dry-runs/plan-apply.ts";
export { EarliestStarts, NEVER_AS_THINGS_ARE } from "./earliest-starts.ts";
export { expectedCapacity, orderedNodes } from "./changes/expected-capacity.ts";
export type { ExpectedCapacity } from "./changes/expected-capacity.ts";
export { explain, explainBriefly } from "./reasons/explain.ts";
