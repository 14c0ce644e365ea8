/**
 * Total cost of ownership by closed formulas: annuities for what is bought, yearly costs for the rest, divided by the hours
 * of use. `CRF(r, n) = r(1+r)^n / ((1+r)^n − 1)` and `SFF(r, n) = r / ((1+r)^n − 1)`; both are 1/n at r = 0.
 */
import { z } from "zod";

const HOURS_PER_YEAR = 8_760;
const MONTHS_PER_YEAR = 12;
const money = z.number().min(0).max(1e12);
const share = z.number().gt(0).max(1);

const ownedOption = z.strictObject({
  name: z.string().min(1).max(100),
  source: z.literal("owned"),
  accelerators: z.int().min(1),
  /** Purchase, financed at `rate` a year over `years`; `salvage` is the part of it that is left at the end. */
  capex: money,
  rate: z.number().min(0).max(1),
  years: z.number().gt(0).max(30),
  salvage: z.number().min(0).max(1).default(0),
  powerKw: z.number().min(0).default(0),
  pue: z.number().min(1).max(4).default(1),
  perKwh: money.default(0),
  coloPerKwMonth: money.default(0),
  networkAndStoragePerYear: money.default(0),
  staffPerYear: money.default(0),
  sparesPerYear: money.default(0),
  repairsPerYear: money.default(0),
  otherPerYear: money.default(0),
  availability: share.default(1),
  allocatable: share.default(1),
});

const paidOption = z.strictObject({
  name: z.string().min(1).max(100),
  /** `leased`: paid whether it is used or not. `rented`: paid by the hour of use. */
  source: z.enum(["leased", "rented"]),
  accelerators: z.int().min(1).default(1),
  perHour: money,
  availability: share.default(1),
  allocatable: share.default(1),
});

export const tcoDocument = z.strictObject({
  kind: z.literal("tco"),
  currency: z.literal("USD").default("USD"),
  /** Part of the time that the accelerators are in use. */
  utilisation: share,
  /** Part of a used hour that is useful work: effective training time ratio times the ratio of MFU to the reference. */
  goodput: share.default(1),
  /** Accelerator of the options, such as H100: they are compared with the cheapest offer of it. */
  accelerator: z.string().min(1).max(100).optional(),
  options: z
    .array(z.discriminatedUnion("source", [ownedOption, paidOption]))
    .min(1)
    .max(50),
});

export type TcoDocument = z.output<typeof tcoDocument>;
export type OwnedOption = z.output<typeof ownedOption>;
export type TcoOption = TcoDocument["options"][number];

export interface TcoAnswer {
  readonly name: string;
  readonly source: TcoOption["source"];
  /** Yearly costs of what is owned or leased, by part; empty for what is rented. */
  readonly yearly: Readonly<Record<string, number>>;
  readonly usdPerYear: number;
  /** Per hour of use of one accelerator, and per hour of useful work. */
  readonly usdPerHour: number;
  readonly usdPerUsefulHour: number;
}

export function crf(rate: number, years: number): number {
  if (rate === 0) return 1 / years;
  const growth = (1 + rate) ** years;
  return (rate * growth) / (growth - 1);
}

export function sff(rate: number, years: number): number {
  return rate === 0 ? 1 / years : rate / ((1 + rate) ** years - 1);
}

export function yearlyCosts(option: OwnedOption): Readonly<Record<string, number>> {
  const { capex, rate, years, salvage, powerKw, pue, perKwh, coloPerKwMonth } = option;
  return {
    capital: capex * (crf(rate, years) - salvage * sff(rate, years)),
    power: powerKw * pue * perKwh * HOURS_PER_YEAR,
    colocation: coloPerKwMonth * MONTHS_PER_YEAR * powerKw,
    networkAndStorage: option.networkAndStoragePerYear,
    staff: option.staffPerYear,
    spares: option.sparesPerYear,
    repairs: option.repairsPerYear,
    other: option.otherPerYear,
  };
}

const sumOf = (costs: Readonly<Record<string, number>>): number =>
  Object.values(costs).reduce((sum, cost) => sum + cost, 0);

/** Hours of use of all accelerators in a year. */
const hoursOf = ({ accelerators, availability, allocatable }: TcoOption, utilisation: number): number =>
  accelerators * HOURS_PER_YEAR * availability * allocatable * utilisation;

export function costOf(option: TcoOption, utilisation: number, goodput: number): TcoAnswer {
  const { name, source } = option;
  const hours = hoursOf(option, utilisation);
  const yearly =
    option.source === "owned"
      ? yearlyCosts(option)
      : option.source === "leased"
        ? { lease: option.perHour * option.accelerators * HOURS_PER_YEAR }
        : {};
  const usdPerYear = option.source === "rented" ? option.perHour * hours : sumOf(yearly);
  const usdPerHour = usdPerYear / hours;
  return { name, source, yearly, usdPerYear, usdPerHour, usdPerUsefulHour: usdPerHour / goodput };
}

/** The utilisation above which capacity that is paid anyway is cheaper than capacity by the hour; above 1: never. */
export function breakEven(paid: TcoOption, rented: TcoOption): number {
  const perHour = costOf(rented, 1, 1).usdPerHour;
  return perHour === 0 ? Number.POSITIVE_INFINITY : costOf(paid, 1, 1).usdPerHour / perHour;
}

export interface Sensitivity {
  readonly field: string;
  /** Price of an hour with the field a tenth lower and a tenth higher. */
  readonly low: number;
  readonly high: number;
}

const fields = [
  "capex",
  "rate",
  "years",
  "salvage",
  "powerKw",
  "pue",
  "perKwh",
  "staffPerYear",
  "availability",
  "allocatable",
] as const;
const STEP = 0.1;

/** The effect of a tenth more and a tenth less of each assumption, the largest effect first. */
export function sensitivities(option: OwnedOption, utilisation: number): readonly Sensitivity[] {
  const at = (changed: OwnedOption, use = utilisation): number => costOf(changed, use, 1).usdPerHour;
  const own = fields.map((field): Sensitivity => {
    const changed = (factor: number): OwnedOption => ({ ...option, [field]: bounded(field, option[field] * factor) });
    return { field, low: at(changed(1 - STEP)), high: at(changed(1 + STEP)) };
  });
  const use: Sensitivity = {
    field: "utilisation",
    low: at(option, utilisation * (1 - STEP)),
    high: at(option, Math.min(1, utilisation * (1 + STEP))),
  };
  return [...own, use]
    .filter(({ low, high }) => low !== high)
    .toSorted((left, right) => Math.abs(right.high - right.low) - Math.abs(left.high - left.low));
}

const bounded = (field: (typeof fields)[number], value: number): number => {
  if (field === "pue") return Math.max(1, value);
  return field === "availability" || field === "allocatable" || field === "salvage" ? Math.min(1, value) : value;
};
