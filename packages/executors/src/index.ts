/**
 * Executors run what the engine has placed. They decide nothing and do not import each other. Start with `executor.ts`
 * (the contract), then `local/` (processes on this machine); `conformance/` tests every executor.
 */
export * from "./executor.ts";
export type { LocalExecutorOptions } from "./local/local-executor-options.ts";
export { createLocalExecutor } from "./local/local-executor.ts";
