/**
 * The simulator: a virtual clock and a simulated executor around the same engine that runs live, with traces as input,
 * faults, and checkers. The simulator must not read a clock or files, draw random numbers of its own, or decide
 * anything that the engine decides. Start with `run/simulation.ts` (the driver), then `run/simulate.ts` (runs a trace),
 * `trace/trace.ts` and its importers, `checkers/` (the invariants), `estimate/` (start estimates), `what-if/`
 * (forecasts with and without a change), `replay/` (recorded work under another policy).
 */
export * from "./clock/event-queue.ts";
export * from "./estimate/calibration.ts";
export * from "./estimate/durations.ts";
export * from "./estimate/estimate-starts.ts";
export * from "./estimate/forecast-instant.ts";
export * from "./estimate/live-calibration.ts";
export * from "./estimate/trace-starts.ts";
export * from "./estimate/validate-starts.ts";
export * from "./executor/simulated-executor.ts";
export type { SimulatedStaging, TransferCounts } from "./executor/simulated-caches.ts";
export type { PlannedCheckpoint, RunPlan } from "./executor/run-plan.ts";
export * from "./faults/domain-faults.ts";
export * from "./faults/exponential.ts";
export * from "./faults/fault-plan.ts";
export * from "./metrics/result.ts";
export * from "./metrics/trace-metrics.ts";
export * from "./openb-setting/openb-setting.ts";
export * from "./run/declared-fleet.ts";
export * from "./run/fleet-spec.ts";
export * from "./run/simulate.ts";
export * from "./run/simulation.ts";
export type { TraceInputs } from "./run/trace-inputs.ts";
export * from "./trace/generate.ts";
export * from "./trace/itp.ts";
export * from "./trace/openb.ts";
export * from "./trace/sacct.ts";
export * from "./trace/swf.ts";
export * from "./serving/index.ts";
export * from "./trace/trace.ts";
export type { AttemptLives } from "./checkers/attempt-lives.ts";
export * from "./what-if/timeline.ts";
export type { RecurringArrivals } from "./what-if/recurring-arrivals.ts";
export * from "./what-if/interruptions.ts";
export * from "./replay/compare-timelines.ts";
export type { LedgerSample } from "./replay/timeline-ledger.ts";
export { outsideInputs } from "./replay/outside-inputs.ts";
export type { OutsideInput, ReplayChange } from "./replay/outside-inputs.ts";
export * from "./replay/replay.ts";
export * from "./what-if/present.ts";
export * from "./what-if/what-if.ts";
export * from "./checkers/checker.ts";
export { Violation } from "./checkers/violation.ts";
