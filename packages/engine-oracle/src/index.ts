/**
 * Slow, independent checks of the engine's decisions, recomputed from the state and the events alone. For tests and the
 * simulator's checkers; the product does not run them.
 */
export { checkBatch } from "./batch-checks.ts";
export { checkInvariants } from "./invariants.ts";
export { feasibility, requestOf } from "./recount.ts";
export type { Feasibility, GangRequest } from "./recount.ts";
export { checkState } from "./state-checks.ts";
export { checkIndexes } from "./index-checks.ts";
export { waivedInvariants } from "./waived-invariants.ts";
