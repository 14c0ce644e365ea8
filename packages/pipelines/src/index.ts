/**
 * Pipelines: the graph of steps and what a run does next, as pure functions. Nothing here reads a clock or records
 * anything; the engine calls `nextActions` and turns its actions into events. Start with `next-actions.ts`.
 */
export * from "./backfill.ts";
export { downstreamOf, graphProblems, orderedSteps, type GraphProblem } from "./graph.ts";
export * from "./next-actions.ts";
export * from "./parameters.ts";
export { resultText } from "./results.ts";
export { plannedRun, runPlan, type PlanFacts, type StepDuration, type StepPlan } from "./run-plan.ts";
export { firstSteps, retryPlan, waitingStep, type RetryPlan } from "./run-state.ts";
export type { KnownVersion } from "./step-cache.ts";
export * from "./waiting.ts";
