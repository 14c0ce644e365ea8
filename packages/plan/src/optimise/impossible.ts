/**
 * Why no plan exists. First the demand that cannot be met is found, by the plan with the least shortage; then constraints are left out
 * one by one until only those remain without which that demand could be met (a deletion filter, Chinneck and Dravnieks 1991). The
 * remaining set is irreducible: each of its constraints is needed for the conflict.
 */
import { monthName } from "../document/calendar.ts";
import type { PlanProblem } from "../document/plan-problem.ts";
import type { Solver } from "./linear-model.ts";
import { buildPlanModel, type ConstraintId } from "./plan-model.ts";

export interface ImpossiblePlan {
  readonly pool: string;
  /** The first month whose demand at the accepted risk cannot be met. */
  readonly month: string;
  readonly demandAtRisk: number;
  /** Most accelerators that the constraints allow in that month. */
  readonly possible: number;
  /** The constraints that prevent it, in the document's terms. Leaving out any one of them would be enough for this month. */
  readonly constraints: readonly { readonly id: ConstraintId; readonly text: string }[];
}

/** A shortage costs more than any capacity: only its amount decides. */
const SHORTAGE_USD = 1e6;
const limits = { relativeGap: 1e-4, seconds: 60 };

export function explainImpossible(solver: Solver, problem: PlanProblem): ImpossiblePlan {
  const target = firstUnmet(solver, problem);
  const dropped = new Set<ConstraintId>();
  for (const { id } of constraintsOf(problem)) {
    dropped.add(id);
    if (isPossible(solver, problem, { only: target, without: dropped })) dropped.delete(id);
  }
  const need = problem.pools[target.pool]!.required[target.month]!;
  return {
    pool: problem.pools[target.pool]!.name,
    month: monthName(problem.startMonth + target.month),
    demandAtRisk: need,
    possible: Math.floor(need - target.shortage + 1e-6),
    constraints: constraintsOf(problem).filter(({ id }) => !dropped.has(id)),
  };
}

interface Target {
  readonly pool: number;
  readonly month: number;
}

function isPossible(
  solver: Solver,
  problem: PlanProblem,
  choice: { only: Target; without: ReadonlySet<ConstraintId> },
): boolean {
  return buildPlanModel(problem, choice).model.solve(solver, limits).kind === "solved";
}

/** The first month and pool whose demand cannot be met even if nothing else is asked for; else the first of the plan with the least shortage. */
function firstUnmet(solver: Solver, problem: PlanProblem): Target & { readonly shortage: number } {
  const { model, columns } = buildPlanModel(problem, { shortageUsd: SHORTAGE_USD });
  const outcome = model.solve(solver, { relativeGap: 0.01, seconds: 60 });
  const short: (Target & { shortage: number })[] = [];
  for (const [pool, byMonth] of columns.shortages.entries()) {
    for (const [month, column] of byMonth.entries()) {
      const shortage = outcome.kind === "solved" ? outcome.values[column]! : 0;
      if (shortage > 1e-4) short.push({ pool, month, shortage });
    }
  }
  short.sort((a, b) => a.month - b.month || a.pool - b.pool);
  const alone = short.find((each) => !isPossible(solver, problem, { only: each, without: new Set() }));
  return alone ?? short[0] ?? { pool: 0, month: 0, shortage: 0 };
}

/** Every constraint of the document that can prevent a plan, in the order in which a reader would give it up. */
function constraintsOf(problem: PlanProblem): readonly { readonly id: ConstraintId; readonly text: string }[] {
  const { firm, flexible, cohorts, expansions, capital, document } = problem;
  const month = (number: number): string => monthName(problem.startMonth + number);
  const limited = flexible.filter(({ max }) => max !== Number.POSITIVE_INFINITY);
  return [
    ...cohorts
      .filter(({ endMonth }) => endMonth < problem.months)
      .map(({ cohort }) => ({
        id: `life:${cohort.name}`,
        text: `${cohort.name} leaves service in ${cohort.endOfLife}`,
      })),
    ...firm
      .filter(({ blocksPerMonthMax }) => blocksPerMonthMax !== Number.POSITIVE_INFINITY)
      .map(({ option }) => ({
        id: `perMonth:${option.name}`,
        text: `${option.name} can grow by at most ${option.maxPerMonth} accelerators a month`,
      })),
    ...firm
      .filter(({ blocksMax }) => blocksMax !== Number.POSITIVE_INFINITY)
      .map(({ option }) => ({
        id: `max:${option.name}`,
        text: `${option.name} is limited to ${option.max} accelerators`,
      })),
    ...limited.map(({ option, max }) => ({
      id: `max:${option.name}`,
      text: `${option.name} is limited to ${option.max} accelerators${max === option.max ? "" : `, of which ${max} can be counted on`}`,
    })),
    ...expansions.map(({ expansion }) => ({
      id: `max:${expansion.name}`,
      text: `${expansion.name} can be built at most ${expansion.max === 1 ? "once" : `${expansion.max} times`}`,
    })),
    ...capital.map(({ from, to }, index) => ({
      id: `capital:${index}`,
      text: `capital from ${month(from)} to ${month(to)} is limited to $${document.limits.capital[index]!.usd}`,
    })),
    ...siteTexts(problem),
    ...[
      ...firm.map((line) => ({ name: line.option.name, ...line })),
      ...expansions.map((line) => ({ name: line.expansion.name, ...line })),
    ].map(({ name, leadDays, firstMonth }) => ({
      id: `lead:${name}`,
      text: `${name} ordered on the first day is in service in ${month(firstMonth)} (lead time ${leadDays} days at P95)`,
    })),
  ];
}

function siteTexts({ document }: PlanProblem): readonly { readonly id: ConstraintId; readonly text: string }[] {
  const steps = (list: readonly { from: string; max: number }[], unit: string): string =>
    list.map(({ from, max }) => `${max} ${unit} from ${from}`).join(", ");
  const { power, racks } = document.limits;
  return [
    ...(racks.length > 0 ? [{ id: "racks", text: `racks are limited: ${steps(racks, "racks")}` }] : []),
    ...(power.length > 0 ? [{ id: "power", text: `power is limited: ${steps(power, "kW")}` }] : []),
  ];
}
