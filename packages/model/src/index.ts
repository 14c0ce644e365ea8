/**
 * The vocabulary of the control plane, which the engine, its drivers and its readers share: the resources, the policy, and the inputs,
 * events, effects, replies and verdicts that pass between an engine and its driver. Nothing here decides, and nothing is imported.
 */
export * from "./base/canonical.ts";
export * from "./base/collections/bisect.ts";
export * from "./base/collections/fifo.ts";
export * from "./base/collections/id-map.ts";
export * from "./base/collections/node-set.ts";
export * from "./base/collections/same-list.ts";
export * from "./base/collections/sorted-list.ts";
export * from "./base/draw.ts";
export * from "./base/exact.ts";
export { CHAIN_START, chainAfter, hashInto, hashText, lanesFromHex, lanesToHex } from "./base/hash.ts";
export type { Lanes } from "./base/hash.ts";
export * from "./base/invariant.ts";
export * from "./base/json-pieces.ts";
export * from "./base/unreachable.ts";
export { utf8Decode, utf8Encode } from "./base/utf8.ts";
export * from "./resources/accelerator-set.ts";
export * from "./resources/anti-affinity.ts";
export * from "./resources/artifact.ts";
export * from "./resources/stored-checkpoint.ts";
export * from "./resources/budget.ts";
export * from "./resources/calendar.ts";
export * from "./resources/burst.ts";
export * from "./resources/capacity-order.ts";
export * from "./resources/data.ts";
export * from "./resources/device-part.ts";
export * from "./resources/executor-state.ts";
export * from "./resources/imported-history.ts";
export * from "./resources/fabric-labels.ts";
export * from "./resources/failure-domains.ts";
export * from "./resources/cached-input.ts";
export * from "./resources/store.ts";
export * from "./resources/foreign-use.ts";
export * from "./resources/qualification.ts";
export * from "./resources/incident.ts";
export * from "./resources/fleet.ts";
export * from "./resources/gang.ts";
export * from "./resources/ids.ts";
export * from "./resources/mig.ts";
export * from "./resources/node-resources.ts";
export * from "./resources/power.ts";
export * from "./resources/proposal.ts";
export * from "./resources/pipeline.ts";
export * from "./resources/schedule.ts";
export { groupsToGrow, growthCount, wholeSlices, withoutLast } from "./resources/slices.ts";
export * from "./resources/task.ts";
export * from "./resources/team.ts";
export * from "./resources/throughput.ts";
export * from "./resources/time/due.ts";
export { civilDay, DAY_MS, dayOf, monthStartMs, nextMonthStartMs } from "./resources/time/months.ts";
export type { CivilDay } from "./resources/time/months.ts";
export * from "./resources/usage-history.ts";
export * from "./resources/attempt.ts";
export * from "./resources/workload.ts";
export * from "./resources/rollout.ts";
export * from "./resources/secret-rules.ts";
export * from "./resources/workload-changes.ts";
export * from "./resources/workload-kind.ts";
export * from "./policy/checkpoint-timeout.ts";
export * from "./policy/defragment-rules.ts";
export * from "./policy/order.ts";
export * from "./policy/policy.ts";
export * from "./policy/preemptible.ts";
export * from "./policy/preset-purposes.ts";
export * from "./policy/presets.ts";
export * from "./policy/rules.ts";
export type { PlacementRule, StrategyName, StrategyRules, VictimRule } from "./policy/strategies.ts";
export * from "./contract/effects.ts";
export * from "./contract/events.ts";
export {
  endpointPeriodStartMs,
  endpointRenewalMs,
  GATEWAY_COUNTERS_MAX,
  isBudgetSpent,
  replicaBounds,
  type EndpointAccount,
  type EndpointBudget,
  type GatewayCounter,
} from "./resources/endpoint-budget.ts";
export { newestVersion } from "./contract/fact.ts";
export type * from "./contract/fleet-events.ts";
export type * from "./contract/pipeline-events.ts";
export * from "./contract/inputs.ts";
export * from "./contract/replies.ts";
export * from "./contract/verdicts.ts";
