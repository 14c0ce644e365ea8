/**
 * A solved plan, as the page Plan shows it: what runs out when, what to order by which day, what a late order costs, and the
 * same plan under other assumptions. Plain data, in the form of the API.
 */
import { forecastCeilings, type CeilingDocument } from "../ceilings/ceilings.ts";
import { checkPlan } from "../check/check-plan.ts";
import { monthName, monthNumber } from "../document/calendar.ts";
import type { PlanDocument } from "../document/plan-document.ts";
import { existingCapacity, shortestLeadDays } from "../document/supply.ts";
import type { CapacityPlan } from "../optimise/capacity-plan.ts";
import type { ImpossiblePlan } from "../optimise/impossible.ts";
import type { SolveLimits, Solver } from "../optimise/linear-model.ts";
import { makePlan, usualLimits, type PlanOutcome } from "../optimise/make-plan.ts";
import type { PlanRequest } from "./plan-request.ts";
import { usualVariants, variantDocument, type PlanVariant } from "./variants.ts";

/** An axis that can run out. Lists have one value for each month. */
interface PlanAxis {
  readonly axis: string;
  readonly unit: string;
  readonly bindsP50: string | null;
  readonly bindsP95: string | null;
  readonly probability: number;
  readonly firstProbability: number;
  readonly orderBy: string | null;
  readonly start: string;
  readonly p50: readonly number[];
  readonly p95: readonly number[];
  readonly capacity: readonly number[];
}

interface PlanOrder {
  readonly orderBy: string;
  readonly name: string;
  readonly kind: CapacityPlan["purchases"][number]["kind"] | "expansion";
  readonly pool: string | null;
  /** Accelerators, or steps of an expansion. */
  readonly count: number;
  readonly inService: string;
  readonly until: string | null;
  readonly upfrontUsd: number;
  readonly monthlyUsd: number;
  readonly lead: { readonly p50Days: number; readonly p95Days: number; readonly line: string } | null;
  /** Extra cost of the first month if the order comes a month late; `null`: demand stays unmet, or no price is known. */
  readonly monthLateUsd: number | null;
  readonly monthLateShortage: number | null;
}

interface PlanPool {
  readonly pool: string;
  readonly demandP50: readonly number[];
  readonly demandAtRisk: readonly number[];
  /** Capacity of existing accelerators alone, and of the plan, in accelerators of the demand's unit. */
  readonly existing: readonly number[];
  readonly planned: readonly number[];
  /** First month in which demand is above what exists: at the median, and at the accepted risk. */
  readonly shortP50: string | null;
  readonly shortAtRisk: string | null;
}

interface PlanCost {
  readonly costUsd: number;
  readonly capitalUsd: number;
  readonly utilisation: number;
  readonly gapPct: number;
  /** Largest probability of a shortage in a month. */
  readonly shortageRisk: number;
}

type VariantOutcome =
  | ({
      readonly kind: "planned";
      readonly differenceUsd: number | null;
      readonly accelerators: number;
      /** `null`: nothing is ordered, or the orders are late by assumption. */
      readonly firstOrderBy: string | null;
    } & PlanCost)
  | ({ readonly kind: "impossible" } & Omit<ImpossiblePlan, "constraints"> & {
        readonly constraints: readonly string[];
      })
  | { readonly kind: "unsolved" };

interface SolvedVariant {
  readonly name: string;
  readonly outcome: VariantOutcome;
}

export interface SolvedPlan {
  readonly name: string;
  readonly riskPct: number;
  readonly months: readonly string[];
  /** False: the axes are only those of the plan document. */
  readonly hasCeilings: boolean;
  readonly first: { readonly axis: string; readonly month: string; readonly probability: number } | null;
  readonly axes: readonly PlanAxis[];
  readonly pools: readonly PlanPool[];
  readonly orders: readonly PlanOrder[];
  readonly retirements: CapacityPlan["retirements"];
  /** The first is the plan itself. */
  readonly variants: readonly SolvedVariant[];
  /** Findings of the independent check; empty if the plan keeps every constraint. */
  readonly breaches: readonly string[];
}

export function solvePlan(
  solver: Solver,
  { plan: document, ceilings }: PlanRequest,
  limits: SolveLimits = usualLimits,
): SolvedPlan {
  const [base, ...others] = usualVariants.map((variant) => ({
    variant,
    outcome: makePlan(solver, variantDocument(document, variant), limits),
  }));
  const plan = base?.outcome.kind === "planned" ? base.outcome.plan : null;
  const start = monthNumber(document.start);
  const { first, axes } = forecastCeilings(ceilings ?? acceleratorCeilings(document));
  return {
    name: document.name,
    riskPct: document.riskPct,
    months: Array.from({ length: document.months }, (_, month) => monthName(start + month)),
    hasCeilings: ceilings !== null,
    first,
    axes: axes.map(({ byMonth, ...axis }) => ({
      ...axis,
      start: (ceilings ?? document).start,
      p50: byMonth.map(({ p50 }) => p50),
      p95: byMonth.map(({ p95 }) => p95),
      capacity: byMonth.map(({ capacity }) => capacity),
    })),
    pools: plan === null ? [] : poolsOf(document, plan),
    orders: plan === null ? [] : ordersOf(plan),
    retirements: plan?.retirements ?? [],
    variants: [...(base === undefined ? [] : [base]), ...others].map(({ variant, outcome }) => ({
      name: variant.name,
      outcome: variantOutcome(variant, outcome, plan),
    })),
    breaches: plan === null ? [] : checkPlan(document, plan),
  };
}

/** Without a document of ceilings, the axes are the accelerators of each pool, without any order. */
function acceleratorCeilings(document: PlanDocument): CeilingDocument {
  const pools = Object.keys(document.demand);
  return {
    kind: "ceilings",
    start: document.start,
    months: document.months,
    demand: Object.fromEntries(
      Object.entries(document.demand).map(([pool, { p50, p95, p10 }]) => [pool, { p50, p95, p10 }]),
    ),
    axes: pools.map((pool) => {
      const capacity = existingCapacity(document, pool);
      const lead = shortestLeadDays(document, pool);
      return {
        name: pools.length === 1 ? "accelerators" : `accelerators of ${pool}`,
        unit: "",
        capacity: capacity[0] ?? 0,
        steps: capacity.map((amount, month) => ({
          from: monthName(monthNumber(document.start) + month),
          capacity: amount,
        })),
        fixed: 0,
        growthPctPerMonth: 0,
        perAccelerator: 0,
        perPool: { [pool]: 1 },
        exponent: 1,
        leadTime: lead === undefined ? undefined : `${lead}d`,
      };
    }),
  };
}

function poolsOf(document: PlanDocument, { byMonth }: CapacityPlan): readonly PlanPool[] {
  return Object.keys(document.demand).map((pool) => {
    const months = byMonth.map(({ month, pools }) => ({ month, own: pools.find((each) => each.pool === pool)! }));
    const existing = existingCapacity(document, pool);
    const shortIn = (demand: "demandP50" | "demandAtRisk"): string | null =>
      months.find(({ own }, at) => own[demand] > existing[at]!)?.month ?? null;
    return {
      pool,
      demandP50: months.map(({ own }) => own.demandP50),
      demandAtRisk: months.map(({ own }) => own.demandAtRisk),
      existing,
      planned: months.map(({ own }) => own.firm),
      shortP50: shortIn("demandP50"),
      shortAtRisk: shortIn("demandAtRisk"),
    };
  });
}

function ordersOf({ purchases, expansions }: CapacityPlan): readonly PlanOrder[] {
  const orders: PlanOrder[] = [
    ...purchases.map(({ option, kind, pool, accelerators, month, leadTime, ...rest }) => ({
      orderBy: rest.orderBy,
      name: option,
      kind,
      pool,
      count: accelerators,
      inService: month,
      until: rest.until,
      upfrontUsd: rest.upfrontUsd,
      monthlyUsd: rest.monthlyUsd,
      lead: { p50Days: leadTime.p50Days, p95Days: leadTime.p95Days, line: leadTime.line },
      monthLateUsd: rest.monthLateUsd,
      monthLateShortage: rest.monthLateShortage,
    })),
    ...expansions.map(({ orderBy, name, steps, month, upfrontUsd }) => ({
      orderBy,
      name,
      kind: "expansion" as const,
      pool: null,
      count: steps,
      inService: month,
      until: null,
      upfrontUsd,
      monthlyUsd: 0,
      lead: null,
      monthLateUsd: null,
      monthLateShortage: null,
    })),
  ];
  return orders.toSorted((a, b) => compareTexts(a.orderBy, b.orderBy) || compareTexts(a.name, b.name));
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function variantOutcome(variant: PlanVariant, outcome: PlanOutcome, base: CapacityPlan | null): VariantOutcome {
  if (outcome.kind === "unsolved") return { kind: "unsolved" };
  if (outcome.kind === "impossible") {
    const { constraints, ...reason } = outcome.reason;
    return { kind: "impossible", ...reason, constraints: constraints.map(({ text }) => text) };
  }
  const { plan } = outcome;
  const orders = ordersOf(plan);
  const risks = plan.byMonth.flatMap(({ pools }) => pools.map(({ shortageRisk }) => shortageRisk));
  return {
    kind: "planned",
    costUsd: plan.costUsd,
    differenceUsd: base === null ? null : Math.round(100 * (plan.costUsd - base.costUsd)) / 100,
    capitalUsd: plan.capitalUsd,
    utilisation: plan.utilisation,
    gapPct: plan.gapPct,
    shortageRisk: Math.max(0, ...risks),
    accelerators: plan.purchases.reduce((sum, { accelerators }) => sum + accelerators, 0),
    firstOrderBy: variant.delayDays > 0 ? null : (orders[0]?.orderBy ?? null),
  };
}
