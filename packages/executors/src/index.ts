/**
 * Executors run what the engine has placed. They decide nothing and do not import each other. Start with `executor.ts`
 * (the contract), then `local/` (processes on this machine) and `slurm/`; `conformance/` tests every executor. `kinds/` lists the
 * types that operators can declare.
 */
export * from "./adoption.ts";
export * from "./executor.ts";
export type { StagingProgress } from "./job-protocol/input-staging.ts";
export { executorDeclaration, executorModes, readDeclaration } from "./kinds/executor-declaration.ts";
export type { DeclarationProblem, ExecutorDeclaration, ExecutorMode } from "./kinds/executor-declaration.ts";
export { executorType } from "./kinds/executor-type.ts";
export type { ExecutorContext, ExecutorType, PastNames } from "./kinds/executor-type.ts";
export { executorTypes } from "./kinds/executor-types.ts";
export type { LocalExecutorOptions } from "./local/local-executor-options.ts";
export { createLocalExecutor } from "./local/local-executor.ts";
export { NODE_SIGNALS_MAX } from "./node-signals.ts";
export type { NodeSignal, NodeSignals, PastNodeSignal, PastNodeSignals, UnwatchedPeriod } from "./node-signals.ts";
