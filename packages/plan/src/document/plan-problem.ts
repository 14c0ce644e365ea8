/**
 * A plan document in whole numbers: months from 0, money in cents, capacity in thousandths of an accelerator of the demand's unit,
 * power in watts. The optimiser, the baselines and the futures read it; the checker does not.
 */
import { DAYS_PER_MONTH, dayNumber, HOURS_PER_MONTH, monthNumber, monthsUntil } from "./calendar.ts";
import {
  demandByMonth,
  demandQuantile,
  leadLines,
  leadQuantileDays,
  normalQuantile,
  type DemandDistribution,
  type LeadLine,
} from "./distributions.ts";
import type { ExistingCohort, Expansion, FirmOption, FlexibleOption, PlanDocument } from "./plan-document.ts";

/** Orders are placed so early that they have arrived with this probability. */
const LEAD_QUANTILE = 0.95;
/** Capacity is counted in thousandths. */
export const MILLI = 1000;

export interface Pool {
  readonly name: string;
  /** Demand of each scenario (rows) in each month, in whole accelerators, at most `required`. */
  readonly needs: readonly (readonly number[])[];
  /** Demand at the accepted risk, by month. */
  readonly required: readonly number[];
  readonly distributions: readonly DemandDistribution[];
  readonly interruptiblePct: number;
}

export interface FirmLine {
  readonly option: FirmOption;
  readonly pool: number;
  readonly lead: readonly LeadLine[];
  readonly leadDays: number;
  /** First month in which an order of the first day is in service at P95. */
  readonly firstMonth: number;
  readonly blockMilli: number;
  readonly upfrontCents: number;
  readonly monthlyCents: number;
  /** Months in service after which a block leaves; rent stays until it is given back. */
  readonly serviceMonths: number;
  readonly blockWatts: number;
  readonly blockRackMilli: number;
  readonly blocksMax: number;
  readonly blocksPerMonthMax: number;
}

export interface FlexibleLine {
  readonly option: FlexibleOption;
  readonly pool: number;
  readonly speedMilli: number;
  /** Cost of one accelerator for a month. */
  readonly monthCents: number;
  /** Most accelerators that can be counted on. */
  readonly max: number;
  readonly isSpot: boolean;
}

export interface CohortLine {
  readonly cohort: ExistingCohort;
  readonly pool: number;
  readonly blocks: number;
  readonly blockMilli: number;
  readonly monthlyCents: number;
  readonly blockWatts: number;
  readonly blockRackMilli: number;
  /** First month without it. */
  readonly endMonth: number;
}

export interface ExpansionLine {
  readonly expansion: Expansion;
  readonly lead: readonly LeadLine[];
  readonly leadDays: number;
  readonly firstMonth: number;
  readonly upfrontCents: number;
  readonly monthlyCents: number;
}

export interface Window {
  readonly from: number;
  readonly to: number;
  readonly cents: number;
}

export interface PlanProblem {
  readonly document: PlanDocument;
  readonly startMonth: number;
  readonly months: number;
  readonly scenarioCount: number;
  readonly pools: readonly Pool[];
  readonly firm: readonly FirmLine[];
  readonly flexible: readonly FlexibleLine[];
  readonly cohorts: readonly CohortLine[];
  readonly expansions: readonly ExpansionLine[];
  readonly capital: readonly Window[];
  /** Limits by month; infinite where the document states none. */
  readonly powerWatts: readonly number[];
  readonly rackMilli: readonly number[];
}

export function planProblem(document: PlanDocument, needs?: readonly (readonly (readonly number[])[])[]): PlanProblem {
  const startMonth = monthNumber(document.start);
  const poolNames = Object.keys(document.demand);
  const pools = poolNames.map((name, index) => poolOf(document, name, needs?.[index]));
  const poolOfName = (name: string): number => poolNames.indexOf(name);
  return {
    document,
    startMonth,
    months: document.months,
    scenarioCount: pools[0]?.needs.length ?? 0,
    pools,
    firm: document.options.flatMap((option) =>
      "block" in option ? [firmLine(document, option, poolOfName(option.pool))] : [],
    ),
    flexible: document.options.flatMap((option) =>
      "block" in option ? [] : [flexibleLine(option, poolOfName(option.pool))],
    ),
    cohorts: document.existing.map((cohort) => cohortLine(document, cohort, poolOfName(cohort.pool))),
    expansions: document.expansions.map((expansion) => expansionLine(startMonth, expansion)),
    capital: document.limits.capital.map(({ from, to, usd }) => ({
      from: Math.max(0, monthNumber(from) - startMonth),
      to: monthNumber(to) - startMonth,
      cents: cents(usd),
    })),
    powerWatts: limitByMonth(document, document.limits.power, 1000),
    rackMilli: limitByMonth(document, document.limits.racks, MILLI),
  };
}

function cents(usd: number): number {
  return halfUp(usd * 100);
}

/** Rounds halves up, although a product such as 1.005 × 100 lies just below its half as a float. */
function halfUp(value: number): number {
  return Math.floor(value + 0.5 + 1e-7);
}

function poolOf(document: PlanDocument, name: string, stated: readonly (readonly number[])[] | undefined): Pool {
  const demand = document.demand[name]!;
  const distributions = demandByMonth(document, demand);
  const riskZ = normalQuantile(1 - document.riskPct / 100);
  const required = distributions.map((each) => wholeAccelerators(demandQuantile(each, riskZ)));
  const levels = Array.from({ length: document.scenarios }, (_, index) =>
    normalQuantile((index + 0.5) / document.scenarios),
  );
  const needs =
    stated ??
    levels.map((z) =>
      distributions.map((each, month) => Math.min(required[month]!, wholeAccelerators(demandQuantile(each, z)))),
    );
  return { name, needs, required, distributions, interruptiblePct: demand.interruptiblePct };
}

/** Demand rounded up; the small allowance keeps 100 from becoming 101 by the last bit of an exponential. */
export function wholeAccelerators(amount: number): number {
  return Math.max(0, Math.ceil(amount - 1e-6));
}

/** Cost of the power of one accelerator a month. */
function energyCents({ energy }: PlanDocument, kw: number): number {
  return energy === undefined ? 0 : halfUp(kw * energy.pue * energy.usdPerKwh * HOURS_PER_MONTH * 100);
}

function firmLine(document: PlanDocument, option: FirmOption, pool: number): FirmLine {
  const lead = leadLines(option.leadTime);
  const leadDays = leadQuantileDays(lead, LEAD_QUANTILE);
  const { block } = option;
  const [kw, racks] = option.kind === "own" || option.kind === "lease" ? [option.kw, option.racks] : [0, 0];
  return {
    option,
    pool,
    lead,
    leadDays,
    firstMonth: monthsUntil(monthNumber(document.start), leadDays),
    blockMilli: Math.floor(block * option.speed * MILLI + 1e-6),
    upfrontCents: option.kind === "rent" ? 0 : cents(option.upfrontUsd) * block,
    monthlyCents: (cents(option.monthlyUsd) + energyCents(document, kw)) * block,
    serviceMonths:
      option.kind === "own" ? option.lifeMonths : option.kind === "rent" ? option.minimumMonths : option.termMonths,
    blockWatts: halfUp(kw * 1000 * block),
    blockRackMilli: halfUp(racks * MILLI * block),
    blocksMax: Math.floor((option.max ?? Number.POSITIVE_INFINITY) / block),
    blocksPerMonthMax: Math.floor((option.maxPerMonth ?? Number.POSITIVE_INFINITY) / block),
  };
}

function flexibleLine(option: FlexibleOption, pool: number): FlexibleLine {
  const isSpot = option.kind === "spot";
  const lost = option.kind === "spot" ? 1 + option.lostWorkPct / 100 : 1;
  const available = option.kind === "spot" ? option.availabilityPct / 100 : 1;
  return {
    option,
    pool,
    speedMilli: Math.floor(option.speed * MILLI + 1e-6),
    monthCents: halfUp(option.usdPerHour * HOURS_PER_MONTH * 100 * lost),
    max: option.max === undefined ? Number.POSITIVE_INFINITY : Math.floor(option.max * available + 1e-6),
    isSpot,
  };
}

function cohortLine(document: PlanDocument, cohort: ExistingCohort, pool: number): CohortLine {
  const { block } = cohort;
  const end = cohort.endOfLife === undefined ? Number.POSITIVE_INFINITY : monthNumber(cohort.endOfLife);
  return {
    cohort,
    pool,
    blocks: Math.floor(cohort.accelerators / block),
    blockMilli: Math.floor(block * cohort.speed * MILLI + 1e-6),
    monthlyCents: (cents(cohort.monthlyUsd) + energyCents(document, cohort.kw)) * block,
    blockWatts: halfUp(cohort.kw * 1000 * block),
    blockRackMilli: halfUp(cohort.racks * MILLI * block),
    endMonth: Math.max(0, end - monthNumber(document.start)),
  };
}

function expansionLine(startMonth: number, expansion: Expansion): ExpansionLine {
  const lead = leadLines(expansion.leadTime);
  const leadDays = leadQuantileDays(lead, LEAD_QUANTILE);
  return {
    expansion,
    lead,
    leadDays,
    firstMonth: monthsUntil(startMonth, leadDays),
    upfrontCents: cents(expansion.upfrontUsd),
    monthlyCents: cents(expansion.monthlyUsd),
  };
}

function limitByMonth(
  { start, months }: PlanDocument,
  steps: readonly { readonly from: string; readonly max: number }[],
  factor: number,
): readonly number[] {
  const first = monthNumber(start);
  const sorted = steps.toSorted((a, b) => monthNumber(a.from) - monthNumber(b.from));
  return Array.from({ length: months }, (_, month) => {
    const step = sorted.findLast(({ from }) => monthNumber(from) - first <= month);
    return step === undefined ? Number.POSITIVE_INFINITY : halfUp(step.max * factor);
  });
}

/** Value of a block of owned hardware after so many months: straight from its price to its salvage value. */
export function bookCents({ option, upfrontCents }: FirmLine, age: number): number {
  if (option.kind !== "own") return 0;
  const salvage = halfUp((upfrontCents * option.salvagePct) / 100);
  const left = Math.max(0, option.lifeMonths - age);
  return salvage + Math.floor(((upfrontCents - salvage) * left) / option.lifeMonths);
}

/** Resale price of a block of an existing cohort in a month. */
export function resaleCents({ cohort }: CohortLine, month: number): number {
  return cents(cohort.resaleUsd * (1 - cohort.resaleLossPctPerMonth / 100) ** month) * cohort.block;
}

/** The month in which the capital of a block counts that enters service in `month`. */
export function capitalMonth({ option, leadDays }: { option: FirmOption; leadDays: number }, month: number): number {
  if (option.kind !== "own" || option.paid === "delivery") return month;
  return Math.max(0, month - Math.ceil(leadDays / DAYS_PER_MONTH));
}

/** The last day on which an order still arrives in time at P95. */
export function orderByDay({ startMonth }: PlanProblem, month: number, leadDays: number): number {
  return dayNumber(startMonth + month) - leadDays;
}
