/** Sums of charges: who pays what for which time, what failures and idle time cost, and days that stand out. */
import { isUnused, MILLI_MS_PER_HOUR, type Charge } from "../bill/charges.ts";
import { chargeEnergy, type Energy } from "../energy/charge-energy.ts";
import type { PowerMeter } from "../energy/power-meter.ts";
import type { MeteredLine } from "../metered/metered-line.ts";
import { periodStartMs, type UsagePeriod } from "../rows/usage-totals.ts";

/** Fields by which charges are grouped. */
export type CostField =
  | "team"
  | "user"
  | "workload"
  | "workloadKind"
  | "pool"
  | "node"
  | "acceleratorType"
  | "state"
  | "cause"
  | "source"
  | "price";

export const costFields: readonly CostField[] = [
  "team",
  "user",
  "workload",
  "workloadKind",
  "pool",
  "node",
  "acceleratorType",
  "state",
  "cause",
  "source",
  "price",
];

export interface CostTotal {
  readonly periodStartMs: number;
  readonly group: readonly string[];
  microUsd: number;
  usedMicroUsd: number;
  idleMicroUsd: number;
  failedMicroUsd: number;
  evictedMicroUsd: number;
  lostMicroUsd: number;
  /** The part of `microUsd` for capacity that was paid and that nobody held. */
  unusedMicroUsd: number;
  /** The part of `microUsd` for storage and tokens, which have no accelerator time. */
  meteredMicroUsd: number;
  hours: number;
  usedHours: number;
  kwh: number;
  /** The part of `kwh` from measured power. */
  measuredKwh: number;
  /** Price of the energy, which the cost of owned capacity has in it. */
  energyMicroUsd: number;
  carbonGrams: number;
}

export class CostReport {
  readonly #period: UsagePeriod;
  readonly #fields: readonly CostField[];
  readonly #totals = new Map<string, CostTotal>();
  readonly #whole: CostTotal = emptyTotal(0, []);

  readonly #meter: PowerMeter | null;

  /** `meter`: measured power; `null`: energy is computed from the power in the price documents. */
  constructor(period: UsagePeriod, fields: readonly CostField[], meter: PowerMeter | null = null) {
    this.#meter = meter;
    this.#period = period;
    this.#fields = fields;
  }

  add(charge: Charge): void {
    const group = this.#fields.map((field) => valueOf(charge, field));
    const startMs = periodStartMs(charge.hourMs, this.#period);
    const key = JSON.stringify([startMs, ...group]);
    let total = this.#totals.get(key);
    if (total === undefined) this.#totals.set(key, (total = emptyTotal(startMs, group)));
    const energy = chargeEnergy(charge, this.#meter);
    addTo(total, charge, energy);
    addTo(this.#whole, charge, energy);
  }

  /** Storage and bought tokens are costs without accelerator time. Lines without a price cost nothing and are left out. */
  addMetered(line: MeteredLine): void {
    if (line.price === "") return;
    const group = this.#fields.map((field) => valueOfLine(line, field));
    const startMs = periodStartMs(line.dayMs, this.#period);
    const key = JSON.stringify([startMs, ...group]);
    let total = this.#totals.get(key);
    if (total === undefined) this.#totals.set(key, (total = emptyTotal(startMs, group)));
    for (const sum of [total, this.#whole]) {
      sum.microUsd += line.microUsd;
      sum.usedMicroUsd += line.microUsd;
      sum.meteredMicroUsd += line.microUsd;
    }
  }

  /** The sum of everything. */
  get whole(): Readonly<CostTotal> {
    return this.#whole;
  }

  /** By period, then the most expensive first. */
  totals(): readonly CostTotal[] {
    return [...this.#totals.values()].toSorted(
      (left, right) =>
        left.periodStartMs - right.periodStartMs ||
        right.microUsd - left.microUsd ||
        (left.group.join() < right.group.join() ? -1 : 1),
    );
  }
}

const emptyTotal = (startMs: number, group: readonly string[]): CostTotal => ({
  periodStartMs: startMs,
  group,
  microUsd: 0,
  usedMicroUsd: 0,
  idleMicroUsd: 0,
  failedMicroUsd: 0,
  evictedMicroUsd: 0,
  lostMicroUsd: 0,
  unusedMicroUsd: 0,
  meteredMicroUsd: 0,
  hours: 0,
  usedHours: 0,
  kwh: 0,
  measuredKwh: 0,
  energyMicroUsd: 0,
  carbonGrams: 0,
});

function valueOf({ row, price }: Charge, field: CostField): string {
  if (field === "source") return price.source;
  return field === "price" ? price.name : row[field];
}

function valueOfLine({ service, team, subject, place, price }: MeteredLine, field: CostField): string {
  switch (field) {
    case "team":
      return team;
    case "workload":
      return subject;
    case "pool":
      return place;
    case "state":
      return "used";
    case "price":
      return price;
    case "workloadKind":
    case "cause":
    case "source":
      return service;
    default:
      return "";
  }
}

function addTo(total: CostTotal, charge: Charge, energy: Energy): void {
  const { row, microUsd, milliMs } = charge;
  const hours = milliMs / MILLI_MS_PER_HOUR;
  total.microUsd += microUsd;
  total[`${row.state}MicroUsd`] += microUsd;
  if (isUnused(charge)) total.unusedMicroUsd += microUsd;
  total.hours += hours;
  if (row.state === "used") total.usedHours += hours;
  total.kwh += energy.kwh;
  total.measuredKwh += energy.measuredKwh;
  total.energyMicroUsd += energy.microUsd;
  total.carbonGrams += energy.grams;
}

export interface CostAnomaly {
  readonly group: readonly string[];
  readonly dayMs: number;
  readonly microUsd: number;
  /** The group's usual day. */
  readonly medianMicroUsd: number;
}

/** Deviations from the median, in median absolute deviations, that stand out. */
const DEVIATIONS = 6;
/** Deviations smaller than this part of the median never stand out. */
const DEVIATION_LEAST = 0.05;
const DAYS_LEAST = 7;

/** Days on which a group cost far more or far less than on its other days. `totals` are by day. */
export function costAnomalies(totals: readonly CostTotal[]): readonly CostAnomaly[] {
  const groups = new Map<string, CostTotal[]>();
  for (const total of totals) {
    const key = JSON.stringify(total.group);
    groups.set(key, [...(groups.get(key) ?? []), total]);
  }
  return [...groups.values()].flatMap((days) => {
    if (days.length < DAYS_LEAST) return [];
    const usual = middle(days.map(({ microUsd }) => microUsd));
    const deviation = middle(days.map(({ microUsd }) => Math.abs(microUsd - usual)));
    const limit = DEVIATIONS * Math.max(deviation, DEVIATION_LEAST * usual);
    return days
      .filter(({ microUsd }) => Math.abs(microUsd - usual) > limit)
      .map(({ group, periodStartMs: dayMs, microUsd }) => ({ group, dayMs, microUsd, medianMicroUsd: usual }));
  });
}

function middle(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[sorted.length >> 1] ?? 0;
}
