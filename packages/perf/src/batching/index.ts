/**
 * Continuous batching, one kernel for predictions and simulations: which sequences and prompts a step of an engine takes,
 * which blocks of the KV cache they hold, who is preempted, which prefixes are found. Pure and deterministic; time comes
 * from the coefficients of `step-costs.ts`. Start with `kernel.ts`, then `engine-clock.ts`.
 */
export * from "./engine-clock.ts";
export { BatchingKernel, priorityCountMax, type BatchingTotals, type Step } from "./kernel.ts";
export * from "./limits.ts";
export * from "./replica-costs.ts";
export type { BatchedRequest } from "./requests.ts";
export * from "./runs.ts";
export * from "./step-costs.ts";
