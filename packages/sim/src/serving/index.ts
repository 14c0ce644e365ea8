/**
 * The serving simulator: a trace of requests, replicas that run the performance model's batching kernel, and the
 * gateway's router. The code is pure and deterministic; it must not read files or clocks. Start with `simulation.ts`;
 * `import/` reads traces, `variant.ts` defines serving configurations, `result.ts` the metrics.
 */
export { routingPolicies } from "@headroom/routing";
export * from "./import/requests.ts";
export type { RequestImport } from "./import/request-book.ts";
export { PrefixPages } from "./page-store.ts";
export * from "./request-trace.ts";
export { replicaSpec, SimulatedReplica } from "./replica.ts";
export { RequestTimes } from "./request-times.ts";
export { distribution, type Distribution, type ServingResult } from "./result.ts";
export { replicasMax, ServingSimulation } from "./simulation.ts";
export * from "./variant.ts";
