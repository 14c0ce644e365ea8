/**
 * The linear model of a plan. Purchases are whole blocks by month; flexible capacity is bought for each scenario of demand after it is
 * known. Costs are in dollars, capacity in accelerators of the demand's unit. A constraint of the document that is left out (`without`)
 * helps to find out which constraints prevent a plan.
 */
import {
  bookCents,
  capitalMonth,
  MILLI,
  resaleCents,
  type CohortLine,
  type FirmLine,
  type PlanProblem,
} from "../document/plan-problem.ts";
import { flexibleMostMilli } from "./dispatch.ts";
import { flexibleSteps } from "./flexible-steps.ts";
import { LinearModel } from "./linear-model.ts";

/** Names a constraint of the document: `power`, `capital:2`, `lead:h200`, `max:h200`, … */
export type ConstraintId = string;

export interface ModelChoice {
  /** Constraints that are left out. */
  readonly without?: ReadonlySet<ConstraintId>;
  /** Demand is required in this pool and month only, with no cost: a question of what is possible. */
  readonly only?: { readonly pool: number; readonly month: number };
  /** Blocks as fractions. */
  readonly isRelaxed?: boolean;
  /** Demand that is not met costs this many dollars an accelerator-month, instead of being refused. */
  readonly shortageUsd?: number;
}

/** Columns of the model by month. `undefined`: not possible in that month. */
export interface PlanColumns {
  readonly buys: readonly (readonly number[])[];
  readonly ends: readonly (readonly number[])[];
  readonly keeps: readonly (readonly number[])[];
  readonly expansions: readonly (readonly number[])[];
  /** Unmet demand by pool and month; only with `shortageUsd`. */
  readonly shortages: readonly (readonly number[])[];
}

export interface PlanModel {
  readonly model: LinearModel;
  readonly columns: PlanColumns;
}

export function buildPlanModel(problem: PlanProblem, choice: ModelChoice = {}): PlanModel {
  return new Builder(problem, choice).build();
}

type Entry = readonly [number, number];

class Builder {
  readonly #model = new LinearModel();
  readonly #problem: PlanProblem;
  readonly #choice: ModelChoice;
  readonly #isInteger: boolean;
  readonly #months: number;

  constructor(problem: PlanProblem, choice: ModelChoice) {
    this.#problem = problem;
    this.#choice = choice;
    this.#isInteger = choice.isRelaxed !== true;
    this.#months = choice.only === undefined ? problem.months : choice.only.month + 1;
  }

  build(): PlanModel {
    const { firm, cohorts, expansions } = this.#problem;
    const fixed = firm.map((line) => (line.option.kind === "rent" ? this.#rent(line) : this.#termed(line)));
    const keeps = cohorts.map((line) => this.#cohort(line));
    const steps = expansions.map((_, index) => this.#expansion(index));
    const actives = fixed.map(({ active }) => active);
    this.#capital(
      fixed.map(({ buys }) => buys),
      steps,
    );
    this.#site("power", { actives, keeps, steps });
    this.#site("racks", { actives, keeps, steps });
    const shortages = this.#problem.pools.map((_, pool) => this.#demand(pool, actives, keeps));
    return {
      model: this.#model,
      columns: {
        buys: fixed.map(({ buys }) => buys),
        ends: fixed.map(({ ends }) => ends),
        keeps,
        expansions: steps,
        shortages,
      },
    };
  }

  #isActive(id: ConstraintId): boolean {
    return this.#choice.without?.has(id) !== true;
  }

  #cost(centsByMonth: (month: number) => number, from: number, to: number): number {
    if (this.#choice.only !== undefined) return 0;
    const monthly = 1 + this.#problem.document.discountPct / 100;
    let sum = 0;
    for (let month = from; month <= to; month += 1) {
      const amount = centsByMonth(month);
      if (amount !== 0) sum += amount / 100 / monthly ** (month / 12);
    }
    return sum;
  }

  /** Months 0 to the last in which columns exist. */
  #byMonth<Value>(value: (month: number) => Value): Value[] {
    return Array.from({ length: this.#months }, (_, month) => value(month));
  }

  #buyColumns(line: FirmLine, cost: (month: number) => number): number[] {
    const { name } = line.option;
    return this.#byMonth((month) => {
      const isEarly = month < line.firstMonth && this.#isActive(`lead:${name}`);
      const most = this.#isActive(`perMonth:${name}`) ? line.blocksPerMonthMax : Number.POSITIVE_INFINITY;
      return this.#model.column(cost(month), { upper: isEarly ? 0 : most, isInteger: this.#isInteger });
    });
  }

  #activeColumns(line: FirmLine, cost: (month: number) => number): number[] {
    const most = this.#isActive(`max:${line.option.name}`) ? line.blocksMax : Number.POSITIVE_INFINITY;
    return this.#byMonth((month) => this.#model.column(cost(month), { upper: most }));
  }

  /** Own, lease and reserve: a block is in service for a fixed number of months. */
  #termed(line: FirmLine): { buys: number[]; ends: number[]; active: number[] } {
    const last = this.#problem.months - 1;
    const buys = this.#buyColumns(line, (month) => {
      const end = month + line.serviceMonths;
      const upfront = this.#cost(() => line.upfrontCents, capitalMonth(line, month), capitalMonth(line, month));
      const running = this.#cost(() => line.monthlyCents, month, Math.min(last, end - 1));
      const atEnd = Math.min(end, last + 1);
      return upfront + running - this.#cost(() => bookCents(line, atEnd - month), atEnd, atEnd);
    });
    const active = this.#activeColumns(line, () => 0);
    for (const [month, column] of active.entries()) {
      const entries: Entry[] = [
        [column, -1],
        [buys[month]!, 1],
      ];
      if (month > 0) entries.push([active[month - 1]!, 1]);
      if (month >= line.serviceMonths) entries.push([buys[month - line.serviceMonths]!, -1]);
      this.#model.row(0, 0, entries);
    }
    return { buys, ends: [], active };
  }

  /** Rent: a block can be given back after its minimum term. */
  #rent(line: FirmLine): { buys: number[]; ends: number[]; active: number[] } {
    const buys = this.#buyColumns(line, () => 0);
    const ends = this.#byMonth(() => this.#model.column(0, { isInteger: this.#isInteger }));
    const active = this.#activeColumns(line, (month) => this.#cost(() => line.monthlyCents, month, month));
    for (const [month, column] of active.entries()) {
      const entries: Entry[] = [
        [column, -1],
        [buys[month]!, 1],
        [ends[month]!, -1],
      ];
      if (month > 0) entries.push([active[month - 1]!, 1]);
      this.#model.row(0, 0, entries);
      const young = buys.slice(Math.max(0, month - line.serviceMonths + 1), month + 1);
      this.#model.row(0, Number.POSITIVE_INFINITY, [[column, 1], ...young.map((buy): Entry => [buy, -1])]);
    }
    return { buys, ends, active };
  }

  /** Blocks of an existing cohort that are kept; they leave at the end of life, or earlier. */
  #cohort(line: CohortLine): number[] {
    const after = this.#problem.months;
    const keeps = this.#byMonth((month) => {
      const isOver = month >= line.endMonth && this.#isActive(`life:${line.cohort.name}`);
      // Keeping a block another month costs its running cost, and what its resale price loses.
      const next = Math.min(month + 1, after);
      const loss =
        month + 1 >= line.endMonth ? resaleCents(line, month) : resaleCents(line, month) - resaleCents(line, next);
      const cost = this.#cost(() => line.monthlyCents + loss, month, month);
      return this.#model.column(cost, { upper: isOver ? 0 : line.blocks, isInteger: this.#isInteger });
    });
    for (let month = 1; month < keeps.length; month += 1) {
      this.#model.row(Number.NEGATIVE_INFINITY, 0, [
        [keeps[month]!, 1],
        [keeps[month - 1]!, -1],
      ]);
    }
    return keeps;
  }

  #expansion(index: number): number[] {
    const { expansion, firstMonth, upfrontCents, monthlyCents } = this.#problem.expansions[index]!;
    const last = this.#problem.months - 1;
    const steps = this.#byMonth((month) => {
      const isEarly = month < firstMonth && this.#isActive(`lead:${expansion.name}`);
      const cost = this.#cost(() => upfrontCents, month, month) + this.#cost(() => monthlyCents, month, last);
      return this.#model.column(cost, { upper: isEarly ? 0 : expansion.max, isInteger: this.#isInteger });
    });
    const most = this.#isActive(`max:${expansion.name}`) ? expansion.max : Number.POSITIVE_INFINITY;
    this.#model.row(
      0,
      most,
      steps.map((step): Entry => [step, 1]),
    );
    return steps;
  }

  #capital(buys: readonly (readonly number[])[], steps: readonly (readonly number[])[]): void {
    const { firm, capital, expansions } = this.#problem;
    for (const [index, { from, to, cents }] of capital.entries()) {
      if (!this.#isActive(`capital:${index}`)) continue;
      const entries: Entry[] = [];
      for (const [at, line] of firm.entries()) {
        for (const [month, column] of buys[at]!.entries()) {
          const paid = capitalMonth(line, month);
          if (paid >= from && paid <= to) entries.push([column, line.upfrontCents / 100]);
        }
      }
      for (const [at, line] of expansions.entries())
        for (const [month, column] of steps[at]!.entries())
          if (month >= from && month <= to) entries.push([column, line.upfrontCents / 100]);
      if (entries.length > 0) this.#model.row(Number.NEGATIVE_INFINITY, cents / 100, entries);
    }
  }

  /** A limit of the site on hardware in service: power in kW, or racks. */
  #site(
    what: "power" | "racks",
    {
      actives,
      keeps,
      steps,
    }: { actives: readonly number[][]; keeps: readonly number[][]; steps: readonly (readonly number[])[] },
  ): void {
    const { firm, cohorts, expansions, powerWatts, rackMilli } = this.#problem;
    const limits = what === "power" ? powerWatts : rackMilli;
    if (!this.#isActive(what)) return;
    for (let month = 0; month < this.#months; month += 1) {
      const limit = limits[month]!;
      if (limit === Number.POSITIVE_INFINITY) continue;
      const entries: Entry[] = [];
      for (const [at, line] of firm.entries())
        entries.push([actives[at]![month]!, (what === "power" ? line.blockWatts : line.blockRackMilli) / 1000]);
      for (const [at, line] of cohorts.entries())
        entries.push([keeps[at]![month]!, (what === "power" ? line.blockWatts : line.blockRackMilli) / 1000]);
      for (const [at, { expansion }] of expansions.entries())
        for (const step of steps[at]!.slice(0, month + 1)) entries.push([step, -expansion.adds[what]]);
      this.#model.row(Number.NEGATIVE_INFINITY, limit / 1000, entries);
    }
  }

  /** Demand of a pool: firm capacity and flexible capacity meet every scenario, and what can be counted on meets the demand at risk. */
  #demand(pool: number, actives: readonly number[][], keeps: readonly number[][]): number[] {
    const { only, shortageUsd } = this.#choice;
    return this.#byMonth((month) => {
      const isAsked = only === undefined || (only.pool === pool && only.month === month);
      const firm = this.#firmColumn(pool, month, { actives, keeps });
      const short = this.#model.column(shortageUsd ?? 0, {
        upper: shortageUsd === undefined ? 0 : Number.POSITIVE_INFINITY,
      });
      if (!isAsked) return short;
      this.#required(pool, month, [firm, short]);
      if (only === undefined) this.#scenarios(pool, month, [firm, short]);
      return short;
    });
  }

  #firmColumn(
    pool: number,
    month: number,
    { actives, keeps }: { actives: readonly number[][]; keeps: readonly number[][] },
  ): number {
    const { firm, cohorts } = this.#problem;
    const column = this.#model.column(0);
    const entries: Entry[] = [[column, -1]];
    for (const [at, line] of firm.entries())
      if (line.pool === pool) entries.push([actives[at]![month]!, line.blockMilli / MILLI]);
    for (const [at, line] of cohorts.entries())
      if (line.pool === pool) entries.push([keeps[at]![month]!, line.blockMilli / MILLI]);
    this.#model.row(0, 0, entries);
    return column;
  }

  #required(pool: number, month: number, capacity: readonly number[]): void {
    const need = this.#problem.pools[pool]!.required[month]!;
    const lacking = need - flexibleMostMilli(this.#unlimited(), pool, need) / MILLI;
    if (lacking <= 0) return;
    this.#model.row(
      lacking,
      Number.POSITIVE_INFINITY,
      capacity.map((column): Entry => [column, 1]),
    );
  }

  /** The problem without the limits of flexible options that are left out. */
  #unlimited(): PlanProblem {
    if (this.#choice.without === undefined) return this.#problem;
    const flexible = this.#problem.flexible.map((line) =>
      this.#isActive(`max:${line.option.name}`) ? line : { ...line, max: Number.POSITIVE_INFINITY },
    );
    return { ...this.#problem, flexible };
  }

  /**
   * The expected cost of flexible capacity falls with firm capacity, ever more slowly. So it is one row: what firm capacity lacks of the
   * largest demand is bought in steps of rising price.
   */
  #scenarios(pool: number, month: number, capacity: readonly number[]): void {
    const { scenarioCount, pools } = this.#problem;
    const entries: Entry[] = capacity.map((column): Entry => [column, 1]);
    for (const { width, centsPerUnit } of flexibleSteps(this.#problem, pool, month)) {
      const cost = this.#cost(() => centsPerUnit, month, month) / scenarioCount;
      entries.push([this.#model.column(cost, { upper: width }), 1]);
    }
    const most = Math.max(...pools[pool]!.needs.map((need) => need[month]!));
    this.#model.row(most, Number.POSITIVE_INFINITY, entries);
  }
}
