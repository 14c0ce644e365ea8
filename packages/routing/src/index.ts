/**
 * `@headroom/routing`: selects the replica that takes a request. Pure and deterministic; the gateway and the simulator
 * run it.
 */
export type * from "./contract.ts";
export { routingPolicies } from "./contract.ts";
export { createRouter } from "./router.ts";
export { seededDraw } from "./draw.ts";
export { hashText, PrefixHasher } from "./prefix-hash.ts";
export { PrefixIndex } from "./prefix-index.ts";
export { defaultCoefficients, defaultLimits } from "./replica-state.ts";
