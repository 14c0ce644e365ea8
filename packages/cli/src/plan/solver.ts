/** The solver for one plan of this process. */
import { setFlagsFromString } from "node:v8";
import type { Solver } from "@headroom/plan";

/**
 * Calls and loops after which V8 compiles a function of the solver again, optimised; its own value is 13 million. Most plans are solved
 * before the optimised code pays for its compilation, which takes longer than the plan; longer plans still get it.
 */
const OPTIMISED_AFTER = 200_000_000;

export async function solverOfProcess(): Promise<Solver> {
  setFlagsFromString(`--wasm-tiering-budget=${OPTIMISED_AFTER}`);
  const { loadSolver } = await import("@headroom/plan");
  return loadSolver();
}
