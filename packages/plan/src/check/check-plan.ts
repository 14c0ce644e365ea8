/**
 * Checks a finished plan against its document: every limit, date, block and sum, in exact arithmetic. It reads only the document and the
 * printed plan, and shares no code with the optimiser, so that an error there shows here.
 */
import type { CapacityPlan, PlannedMonth } from "../optimise/capacity-plan.ts";
import type { PlanDocument, PlanOption } from "../document/plan-document.ts";
import { centsOf, deviationOf, floored, nearest, probabilityBelow, rational, times } from "./exact-numbers.ts";

const HOURS = 730n;

/** Sentences that name each breach; none for a correct plan. */
export function checkPlan(document: PlanDocument, plan: CapacityPlan): readonly string[] {
  return new Check(document, plan).run();
}

type Holding = Extract<PlanOption, { readonly block: number }>;

class Check {
  readonly #document: PlanDocument;
  readonly #plan: CapacityPlan;
  readonly #breaches: string[] = [];
  readonly #start: number;

  constructor(document: PlanDocument, plan: CapacityPlan) {
    this.#document = document;
    this.#plan = plan;
    this.#start = serial(document.start);
  }

  run(): readonly string[] {
    for (const purchase of this.#plan.purchases) this.#purchase(purchase);
    this.#amounts();
    this.#cohorts();
    this.#expansions();
    this.#capital();
    for (let month = 0; month < this.#document.months; month += 1) this.#month(month);
    this.#total();
    return this.#breaches;
  }

  #expect(isKept: boolean, breach: string): void {
    if (!isKept) this.#breaches.push(breach);
  }

  #holding(name: string): Holding {
    const option = this.#document.options.find((each) => each.name === name);
    if (option === undefined || !("block" in option))
      throw new Error(`the plan buys ${name}, which the document does not sell in blocks`);
    return option;
  }

  #purchase(purchase: CapacityPlan["purchases"][number]): void {
    const option = this.#holding(purchase.option);
    const what = `${purchase.option} for ${purchase.month}`;
    const month = serial(purchase.month) - this.#start;
    this.#expect(month >= 0 && month < this.#document.months, `${what}: outside the horizon`);
    this.#expect(
      purchase.accelerators > 0 && purchase.accelerators % option.block === 0,
      `${what}: not in blocks of ${option.block}`,
    );
    const order = daysTo(purchase.orderBy);
    const service = daysTo(purchase.month);
    const first = daysTo(this.#document.start);
    this.#expect(order >= first, `${what}: ordered on ${purchase.orderBy}, before the plan starts`);
    this.#expect(
      arrivalProbability(option.leadTime, service - order) >= 0.95 - 1e-9,
      `${what}: ordered too late for P95`,
    );
    const until = purchase.until === null ? Number.POSITIVE_INFINITY : serial(purchase.until) - this.#start;
    const stays = until - month;
    const isBeyond = (term: number): boolean => purchase.until === null && month + term >= this.#document.months;
    if (option.kind === "rent") {
      this.#expect(stays >= option.minimumMonths, `${what}: given back before ${option.minimumMonths} months`);
    } else {
      const term = option.kind === "own" ? option.lifeMonths : option.termMonths;
      this.#expect(stays === term || isBeyond(term), `${what}: stays ${stays} months, not ${term}`);
    }
    const count = BigInt(purchase.accelerators);
    const upfront = option.kind === "rent" ? 0n : centsOf(option.upfrontUsd) * count;
    this.#expect(centsOf(purchase.upfrontUsd) === upfront, `${what}: the upfront price is wrong`);
    this.#expect(centsOf(purchase.monthlyUsd) === this.#running(option) * count, `${what}: the monthly cost is wrong`);
  }

  /** Running cost of one accelerator a month, in cents. */
  #running(option: { readonly monthlyUsd: number; readonly kw?: number }): bigint {
    const { energy } = this.#document;
    const power =
      energy === undefined
        ? 0n
        : nearest(times(rational(option.kw ?? 0), rational(energy.pue), rational(energy.usdPerKwh), HOURS * 100n));
    return centsOf(option.monthlyUsd) + power;
  }

  /** Purchases that are in service in a month. */
  #inService(month: number): readonly { readonly option: Holding; readonly count: bigint; readonly since: number }[] {
    return this.#plan.purchases.flatMap((purchase) => {
      const since = serial(purchase.month) - this.#start;
      const until = purchase.until === null ? Number.POSITIVE_INFINITY : serial(purchase.until) - this.#start;
      const isIn = month >= since && month < until;
      return isIn ? [{ option: this.#holding(purchase.option), count: BigInt(purchase.accelerators), since }] : [];
    });
  }

  #amounts(): void {
    for (const option of this.#document.options) {
      if (!("block" in option)) continue;
      for (let month = 0; month < this.#document.months; month += 1) {
        const all = this.#inService(month).filter((each) => each.option.name === option.name);
        const sum = all.reduce((total, { count }) => total + count, 0n);
        const fresh = all.filter(({ since }) => since === month).reduce((total, { count }) => total + count, 0n);
        this.#expect(sum <= BigInt(option.max ?? 1e12), `${option.name} in month ${month}: more than ${option.max}`);
        this.#expect(
          fresh <= BigInt(option.maxPerMonth ?? 1e12),
          `${option.name} in month ${month}: more than ${option.maxPerMonth} at once`,
        );
      }
    }
  }

  /** Accelerators of a cohort that are left in a month. */
  #left(name: string, month: number): bigint {
    const cohort = this.#document.existing.find((each) => each.name === name)!;
    const whole = BigInt(Math.floor(cohort.accelerators / cohort.block) * cohort.block);
    const gone = this.#plan.retirements.filter(
      (each) => each.cohort === name && serial(each.month) - this.#start <= month,
    );
    return gone.reduce((left, { accelerators }) => left - BigInt(accelerators), whole);
  }

  #cohorts(): void {
    for (const cohort of this.#document.existing) {
      const last = this.#left(cohort.name, this.#document.months);
      this.#expect(last >= 0n, `${cohort.name}: more is retired than exists`);
      if (cohort.endOfLife === undefined) continue;
      const end = Math.max(0, serial(cohort.endOfLife) - this.#start);
      if (end < this.#document.months)
        this.#expect(this.#left(cohort.name, end) === 0n, `${cohort.name}: in service after its end of life`);
    }
    for (const retirement of this.#plan.retirements) {
      const cohort = this.#document.existing.find((each) => each.name === retirement.cohort)!;
      this.#expect(retirement.accelerators % cohort.block === 0, `${cohort.name}: not retired in blocks`);
      const month = serial(retirement.month) - this.#start;
      const isOver = cohort.endOfLife !== undefined && serial(cohort.endOfLife) - this.#start <= month;
      const expected = isOver ? 0n : this.#resale(cohort, month) * BigInt(retirement.accelerators);
      this.#expect(
        centsOf(retirement.resaleUsd) === expected,
        `${cohort.name}: the resale of ${retirement.month} is wrong`,
      );
    }
  }

  #resale(cohort: PlanDocument["existing"][number], month: number): bigint {
    const left = rational(cohort.resaleLossPctPerMonth);
    const kept = { top: 100n * left.bottom - left.top, bottom: 100n * left.bottom };
    return nearest(times(rational(cohort.resaleUsd), 100n, ...Array.from({ length: month }, () => kept)));
  }

  #expansions(): void {
    for (const expansion of this.#document.expansions) {
      const built = this.#plan.expansions.filter(({ name }) => name === expansion.name);
      const steps = built.reduce((sum, each) => sum + each.steps, 0);
      this.#expect(steps <= expansion.max, `${expansion.name}: built ${steps} times, at most ${expansion.max}`);
      for (const { month, orderBy, steps: count, upfrontUsd } of built) {
        const service = daysTo(month);
        const first = daysTo(this.#document.start);
        const order = daysTo(orderBy);
        this.#expect(order >= first, `${expansion.name}: ordered before the plan starts`);
        this.#expect(
          arrivalProbability(expansion.leadTime, service - order) >= 0.95 - 1e-9,
          `${expansion.name}: ordered too late for P95`,
        );
        this.#expect(
          centsOf(upfrontUsd) === centsOf(expansion.upfrontUsd) * BigInt(count),
          `${expansion.name}: the price is wrong`,
        );
      }
    }
  }

  /** Capital of a month: purchase prices when they are paid, upfront payments, build-out. */
  #capitalOf(month: number): bigint {
    let sum = 0n;
    for (const purchase of this.#plan.purchases) {
      const option = this.#holding(purchase.option);
      let paid = serial(purchase.month) - this.#start;
      if (option.kind === "own" && option.paid === "order") {
        const days = daysTo(purchase.month) - daysTo(purchase.orderBy);
        paid = Math.max(0, paid - Math.ceil(days / (365.25 / 12)));
      }
      if (paid === month) sum += centsOf(purchase.upfrontUsd);
    }
    for (const { month: at, upfrontUsd } of this.#plan.expansions)
      if (serial(at) - this.#start === month) sum += centsOf(upfrontUsd);
    return sum;
  }

  #capital(): void {
    for (const { from, to, usd } of this.#document.limits.capital) {
      let sum = 0n;
      const [first, last] = [Math.max(0, serial(from) - this.#start), serial(to) - this.#start];
      for (let month = first; month <= last && month < this.#document.months; month += 1) sum += this.#capitalOf(month);
      this.#expect(sum <= centsOf(usd), `capital from ${from} to ${to}: ${Number(sum) / 100} of ${usd} dollars`);
    }
  }

  #month(month: number): void {
    const printed = this.#plan.byMonth[month];
    if (printed === undefined) return this.#expect(false, `month ${month} is missing`);
    this.#site(month, "power", "kw", printed.powerKw);
    this.#site(month, "racks", "racks", printed.racks);
    for (const pool of Object.keys(this.#document.demand)) this.#demand(month, pool, printed);
    this.#money(month, printed);
  }

  #site(month: number, limit: "power" | "racks", field: "kw" | "racks", printed: number): void {
    let sum = 0n;
    for (const { option, count } of this.#inService(month)) {
      if (option.kind !== "own" && option.kind !== "lease") continue;
      sum += (count / BigInt(option.block)) * nearest(times(rational(option[field]), 1000n, BigInt(option.block)));
    }
    for (const cohort of this.#document.existing) {
      const blocks = this.#left(cohort.name, month) / BigInt(cohort.block);
      sum += blocks * nearest(times(rational(cohort[field]), 1000n, BigInt(cohort.block)));
    }
    this.#expect(
      sum === nearest(times(rational(printed), 1000n)),
      `${limit} in month ${month}: ${printed} is printed, ${Number(sum) / 1000} is used`,
    );
    const steps = this.#document.limits[limit].filter(({ from }) => serial(from) - this.#start <= month);
    const step = steps.toSorted((a, b) => serial(a.from) - serial(b.from)).at(-1);
    if (step === undefined) return;
    let most = nearest(times(rational(step.max), 1000n));
    for (const built of this.#plan.expansions) {
      const expansion = this.#document.expansions.find(({ name }) => name === built.name)!;
      if (serial(built.month) - this.#start <= month)
        most += nearest(times(rational(expansion.adds[limit]), 1000n, BigInt(built.steps)));
    }
    this.#expect(sum <= most, `${limit} in month ${month}: ${Number(sum) / 1000} of ${Number(most) / 1000}`);
  }

  #firm(month: number, pool: string): bigint {
    let milli = 0n;
    for (const { option, count } of this.#inService(month)) {
      if (option.pool !== pool) continue;
      milli += (count / BigInt(option.block)) * floored(times(rational(option.speed), 1000n, BigInt(option.block)));
    }
    for (const cohort of this.#document.existing) {
      if (cohort.pool !== pool) continue;
      const blocks = this.#left(cohort.name, month) / BigInt(cohort.block);
      milli += blocks * floored(times(rational(cohort.speed), 1000n, BigInt(cohort.block)));
    }
    return milli;
  }

  #demand(month: number, pool: string, printed: PlannedMonth): void {
    const where = `${pool} in ${printed.month}`;
    const firm = this.#firm(month, pool);
    const own = printed.pools.find((each) => each.pool === pool);
    this.#expect(
      own !== undefined && nearest(times(rational(own.firm), 1000n)) === firm,
      `${where}: the firm capacity is wrong`,
    );
    const atRisk = this.#demandAt(month, pool, 1 - this.#document.riskPct / 100);
    this.#expect(
      firm + this.#flexibleMost(pool, atRisk) >= BigInt(atRisk) * 1000n,
      `${where}: demand at risk is not met`,
    );
    for (let scenario = 0; scenario < this.#document.scenarios; scenario += 1) {
      const need = Math.min(atRisk, this.#demandAt(month, pool, (scenario + 0.5) / this.#document.scenarios));
      let [sum, spot] = [firm, 0n];
      for (const option of this.#document.options) {
        if ("block" in option || option.pool !== pool) continue;
        const used = printed.flexible[option.name]?.[scenario] ?? 0;
        this.#expect(used >= 0 && BigInt(used) <= usable(option), `${where}: ${option.name} is used beyond its limit`);
        const work = BigInt(used) * floored(times(rational(option.speed), 1000n));
        sum += work;
        if (option.kind === "spot") spot += work;
      }
      const { interruptiblePct } = this.#document.demand[pool]!;
      const most = floored(times(rational(interruptiblePct), BigInt(need), { top: 1n, bottom: 100n })) * 1000n;
      this.#expect(spot <= most, `${where}, scenario ${scenario}: more spot capacity than can be interrupted`);
      this.#expect(sum >= BigInt(need) * 1000n, `${where}, scenario ${scenario}: demand of ${need} is not met`);
    }
  }

  #flexibleMost(pool: string, need: number): bigint {
    const { interruptiblePct } = this.#document.demand[pool]!;
    let spotLeft = floored(times(rational(interruptiblePct), BigInt(need), { top: 1n, bottom: 100n })) * 1000n;
    let sum = 0n;
    for (const option of this.#document.options) {
      if ("block" in option || option.pool !== pool) continue;
      const speed = floored(times(rational(option.speed), 1000n));
      const taken = option.kind === "spot" ? smaller(usable(option), spotLeft / speed) : usable(option);
      sum += taken * speed;
      if (option.kind === "spot") spotLeft -= taken * speed;
    }
    return sum;
  }

  /** Demand that is exceeded with the rest of this probability, in whole accelerators. */
  #demandAt(month: number, pool: string, share: number): number {
    const { p50, p95, p10 } = this.#document.demand[pool]!;
    const median = this.#valueAt(p50, month);
    const high = p95 === undefined ? median : this.#valueAt(p95, month);
    const low = p10 === undefined ? undefined : this.#valueAt(p10, month);
    const up = median > 0 && high > median ? Math.log(high / median) / deviationOf(0.95) : 0;
    const down = low === undefined ? up : low > 0 && median > low ? Math.log(median / low) / deviationOf(0.9) : 0;
    const score = deviationOf(share);
    return Math.max(0, Math.ceil(median * Math.exp(score * (score < 0 ? down : up)) - 1e-6));
  }

  #valueAt(series: PlanDocument["demand"][string]["p50"], month: number): number {
    if (Array.isArray(series)) return series[Math.min(month, series.length - 1)] ?? 0;
    const at = Object.keys(series).toSorted();
    const wanted = this.#start + month;
    const next = at.findIndex((text) => serial(text) >= wanted);
    if (next <= 0) return series[at.at(next)!] ?? 0;
    const [a, b] = [at[next - 1]!, at[next]!];
    const part = (wanted - serial(a)) / (serial(b) - serial(a));
    return series[a]! + (series[b]! - series[a]!) * part;
  }

  #money(month: number, printed: PlannedMonth): void {
    const upfront = this.#capitalOf(month);
    let running = 0n;
    for (const { option, count } of this.#inService(month)) running += this.#running(option) * count;
    for (const cohort of this.#document.existing) running += this.#running(cohort) * this.#left(cohort.name, month);
    for (const built of this.#plan.expansions) {
      const expansion = this.#document.expansions.find(({ name }) => name === built.name)!;
      if (serial(built.month) - this.#start <= month) running += centsOf(expansion.monthlyUsd) * BigInt(built.steps);
    }
    let flexible = 0n;
    for (const option of this.#document.options) {
      if ("block" in option) continue;
      const lost =
        option.kind === "spot"
          ? times(rational(option.lostWorkPct), { top: 1n, bottom: 100n })
          : { top: 0n, bottom: 1n };
      const factor = { top: lost.bottom + lost.top, bottom: lost.bottom };
      const price = nearest(times(rational(option.usdPerHour), HOURS * 100n, factor));
      for (const used of printed.flexible[option.name] ?? []) flexible += BigInt(used) * price;
    }
    const expected = nearest({ top: flexible, bottom: BigInt(this.#document.scenarios) });
    const returned = this.#returned(month);
    this.#expect(centsOf(printed.upfrontUsd) === upfront, `${printed.month}: upfront payments are wrong`);
    this.#expect(centsOf(printed.runningUsd) === running, `${printed.month}: running costs are wrong`);
    this.#expect(centsOf(printed.flexibleUsd) === expected, `${printed.month}: the cost of flexible capacity is wrong`);
    this.#expect(centsOf(printed.returnedUsd) === returned, `${printed.month}: returned money is wrong`);
    this.#expect(
      centsOf(printed.costUsd) === upfront + running + expected - returned,
      `${printed.month}: the cost is not the sum`,
    );
  }

  /** Salvage, resale, and the value that is left at the end of the horizon. */
  #returned(month: number): bigint {
    const last = this.#document.months - 1;
    let sum = 0n;
    for (const purchase of this.#plan.purchases) {
      const option = this.#holding(purchase.option);
      if (option.kind !== "own") continue;
      const since = serial(purchase.month) - this.#start;
      const until = Math.min(last + 1, since + option.lifeMonths);
      if (until - 1 !== month) continue;
      const price = centsOf(option.upfrontUsd) * BigInt(option.block);
      const salvage = nearest(times(rational(option.salvagePct), price, { top: 1n, bottom: 100n }));
      const left = BigInt(option.lifeMonths - (until - since));
      sum +=
        (salvage + ((price - salvage) * left) / BigInt(option.lifeMonths)) *
        BigInt(Math.floor(purchase.accelerators / option.block));
    }
    for (const { month: at, resaleUsd } of this.#plan.retirements)
      if (serial(at) - this.#start === month) sum += centsOf(resaleUsd);
    if (month !== last) return sum;
    for (const cohort of this.#document.existing) {
      const end = cohort.endOfLife === undefined ? Number.POSITIVE_INFINITY : serial(cohort.endOfLife) - this.#start;
      if (last + 1 < end) sum += this.#resale(cohort, last + 1) * this.#left(cohort.name, last);
    }
    return sum;
  }

  #total(): void {
    const sum = this.#plan.byMonth.reduce((total, { costUsd }) => total + centsOf(costUsd), 0n);
    this.#expect(sum === centsOf(this.#plan.costUsd), "the total cost is not the sum of its months");
    this.#expect(
      this.#plan.byMonth.length === this.#document.months,
      "the plan has another number of months than the document",
    );
  }
}

/** Accelerators of a flexible option that can be counted on. */
function usable(option: Exclude<PlanOption, Holding>): bigint {
  if (option.max === undefined) return 10n ** 12n;
  const share =
    option.kind === "spot"
      ? times(rational(option.availabilityPct), { top: 1n, bottom: 100n })
      : { top: 1n, bottom: 1n };
  return floored(times(BigInt(option.max), share));
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** Months since the year 0. */
function serial(month: string): number {
  const [year = 0, ofYear = 1] = month.split("-").map(Number);
  return 12 * year + ofYear - 1;
}

/** Days from 1 January of the year 2000 to a day, or to the first day of a month. */
function daysTo(text: string): number {
  const [year = 2000, month = 1, day = 1] = text.split("-").map(Number);
  const isLeap = (each: number): boolean => (each % 4 === 0 && each % 100 !== 0) || each % 400 === 0;
  let days = day - 1;
  for (let each = 2000; each < year; each += 1) days += isLeap(each) ? 366 : 365;
  const lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return lengths.slice(0, month - 1).reduce((sum, length) => sum + length, days);
}

/** Probability that all lines of an order arrive within so many days. */
function arrivalProbability(leadTime: Holding["leadTime"], days: number): number {
  const length = (text: string): number => {
    const unit = { d: 1, w: 7, m: 365.25 / 12 }[text.slice(-1)] ?? 1;
    return Number(text.slice(0, -1)) * unit;
  };
  if (typeof leadTime === "string") return days >= length(leadTime) - 1e-9 ? 1 : 0;
  let probability = 1;
  for (const { p50, p95 } of Array.isArray(leadTime) ? leadTime : [leadTime]) {
    const [median, late] = [length(p50), length(p95)];
    const sigma = median > 0 && late > median ? Math.log(late / median) / deviationOf(0.95) : 0;
    if (median === 0) continue;
    if (sigma === 0) probability *= days >= median - 1e-9 ? 1 : 0;
    else probability *= days <= 0 ? 0 : probabilityBelow(Math.log(days / median) / sigma);
  }
  return probability;
}
