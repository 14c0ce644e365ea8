/**
 * The cost of capacity in an hour. Each component is a function of time that gives whole micro-dollars, and an hour costs
 * the difference of two of its values, so any sum over hours is exact: a purchase is amortised to its last micro-dollar,
 * and the hours of a month add up to its rent.
 */
import { divideProduct, monthStartMs, nextMonthStartMs } from "@headroom/model";
import { instantOf, microUsd } from "./amounts.ts";
import type { CapacityPrice, PriceComponent } from "./price-documents.ts";

const HOUR_MS = 3_600_000;

const floorProduct = (amount: number, part: number, whole: number): number =>
  divideProduct(amount, part, whole).quotient;

/** Micro-dollars of an hour, by component, in the order of the document. */
export function hourCosts(price: CapacityPrice, hourMs: number): readonly number[] {
  const isActive = hourMs >= instantOf(price.from) && (price.until === undefined || hourMs < instantOf(price.until));
  return price.components.map((component) => (isActive ? componentCost(component, hourMs) : 0));
}

export const hourCost = (price: CapacityPrice, hourMs: number): number =>
  hourCosts(price, hourMs).reduce((sum, cost) => sum + cost, 0);

function componentCost(component: PriceComponent, hourMs: number): number {
  if (component.purchase !== undefined) return amortised(component, hourMs + HOUR_MS) - amortised(component, hourMs);
  if (component.perMonth !== undefined) return rented(microUsd(component.perMonth), hourMs);
  return hourlyRate(component);
}

/** Micro-dollars per hour of a component with a constant rate. */
function hourlyRate({ perHour, kilowatts = 0, pue = 1, perKwh = 0 }: PriceComponent): number {
  return perHour === undefined ? microUsd(kilowatts * pue * perKwh) : microUsd(perHour);
}

/** Part of a purchase that is written off up to an instant. */
function amortised({ purchase = 0, salvage = 0, on = "", months = 1 }: PriceComponent, atMs: number): number {
  const fromMs = instantOf(on);
  const lifeMs = monthsLater(fromMs, months) - fromMs;
  const total = microUsd(purchase) - microUsd(salvage);
  const passedMs = Math.min(Math.max(0, atMs - fromMs), lifeMs);
  return floorProduct(total, passedMs / HOUR_MS, lifeMs / HOUR_MS);
}

/** The same day of a later month, or the end of that month if it is shorter. */
function monthsLater(fromMs: number, months: number): number {
  const sinceStartMs = fromMs - monthStartMs(fromMs);
  let startMs = monthStartMs(fromMs);
  for (let month = 0; month < months; month++) startMs = nextMonthStartMs(startMs);
  return Math.min(startMs + sinceStartMs, nextMonthStartMs(startMs));
}

function rented(perMonth: number, hourMs: number): number {
  const startMs = monthStartMs(hourMs);
  const hours = (nextMonthStartMs(startMs) - startMs) / HOUR_MS;
  const index = (hourMs - startMs) / HOUR_MS;
  return floorProduct(perMonth, index + 1, hours) - floorProduct(perMonth, index, hours);
}

/** Cost of a calendar month by component: the sum of its hours. */
export function monthCosts(price: CapacityPrice, monthMs: number): readonly number[] {
  const totals = price.components.map(() => 0);
  const endMs = nextMonthStartMs(monthMs);
  for (let hourMs = monthStartMs(monthMs); hourMs < endMs; hourMs += HOUR_MS)
    hourCosts(price, hourMs).forEach((cost, index) => (totals[index] = (totals[index] ?? 0) + cost));
  return totals;
}
