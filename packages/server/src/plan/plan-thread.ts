/** Solves one capacity plan outside the driver's event loop: a plan takes seconds, and reading a large document is not free either. */
import { parentPort } from "node:worker_threads";
import { loadSolver, solvePlan, readPlanRequest, usualLimits, type SolvedPlan } from "@headroom/plan";
import type { PlanDocuments } from "@headroom/protocol";

export type PlanAnswer =
  | { readonly kind: "solved"; readonly solved: SolvedPlan }
  | { readonly kind: "refused"; readonly problems: readonly { readonly pointer: string; readonly message: string }[] }
  | { readonly kind: "failed"; readonly message: string };

/** Most seconds for one variant. At its end the solver gives the best plan so far. */
const VARIANT_SECONDS = 12;
/** Problems of a document that an answer lists. */
const PROBLEMS_MAX = 20;

async function answer({ plan, ceilings }: PlanDocuments): Promise<PlanAnswer> {
  const reading = readPlanRequest({ plan, ceilings });
  if (reading.kind === "refused") {
    const problems = reading.problems.slice(0, PROBLEMS_MAX);
    return {
      kind: "refused",
      problems: problems.map(({ path, message }) => ({ pointer: `/${path.join("/")}`, message })),
    };
  }
  const solved = solvePlan(await loadSolver(), reading.request, { ...usualLimits, seconds: VARIANT_SECONDS });
  return { kind: "solved", solved };
}

parentPort?.once("message", (documents: PlanDocuments) => {
  void answer(documents)
    .catch((error: unknown): PlanAnswer => ({
      kind: "failed",
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }))
    .then((given) => parentPort?.postMessage(given));
});
