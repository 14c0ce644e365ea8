/** Makes the cheapest plan of a document, or says which constraints prevent every plan. */
import type { PlanDocument } from "../document/plan-document.ts";
import { planProblem, type PlanProblem } from "../document/plan-problem.ts";
import { describePlan, type CapacityPlan } from "./capacity-plan.ts";
import { readDecisions, type Decisions } from "./decisions.ts";
import { explainImpossible, type ImpossiblePlan } from "./impossible.ts";
import type { SolveLimits, Solver } from "./linear-model.ts";
import { buildPlanModel } from "./plan-model.ts";

/** The time bound is a guard for the operator's patience: plans of the stated size end long before. */
export const usualLimits: SolveLimits = { relativeGap: 0.01, seconds: 300 };

export type PlanOutcome =
  | { readonly kind: "planned"; readonly plan: CapacityPlan; readonly decisions: Decisions }
  | { readonly kind: "impossible"; readonly reason: ImpossiblePlan }
  | { readonly kind: "unsolved"; readonly status: string };

export function makePlan(solver: Solver, document: PlanDocument, limits: SolveLimits = usualLimits): PlanOutcome {
  return planOfProblem(solver, planProblem(document), limits);
}

function planOfProblem(solver: Solver, problem: PlanProblem, limits: SolveLimits = usualLimits): PlanOutcome {
  const { model, columns } = buildPlanModel(problem);
  const outcome = model.solve(solver, limits);
  if (outcome.kind === "unsolved") return outcome;
  if (outcome.kind === "infeasible") return { kind: "impossible", reason: explainImpossible(solver, problem) };
  const decisions = readDecisions(problem, columns, outcome.values);
  return { kind: "planned", plan: describePlan(problem, decisions, outcome.gap), decisions };
}
