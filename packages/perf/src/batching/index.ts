/**
 * Continuous batching. Predictions and simulations use the same kernel: it decides the sequences and prompts of a step,
 * their blocks in the KV cache, preemption and prefix caching. The code is pure and deterministic. Times come from the
 * coefficients of `step-costs.ts`. Start with `kernel.ts`, then `engine-clock.ts`.
 */
export * from "./engine-clock.ts";
export { BatchingKernel, priorityCountMax, type BatchingTotals, type Step } from "./kernel.ts";
export * from "./limits.ts";
export * from "./replica-costs.ts";
export type { BatchedRequest } from "./requests.ts";
export * from "./runs.ts";
export * from "./step-costs.ts";
