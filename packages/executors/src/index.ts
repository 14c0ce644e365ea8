/**
 * Executors: they run what the engine placed. They must not decide anything and must not import each other.
 * Start with `executor.ts` (the contract), then `local/` (processes on this machine); `conformance/` tests any of them.
 */
export * from "./executor.ts";
export type { LocalExecutorOptions } from "./local/local-executor-options.ts";
export { createLocalExecutor } from "./local/local-executor.ts";
