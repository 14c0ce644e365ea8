/**
 * Bills usage rows: every hour of a pool is divided among the rows of that hour, to the last micro-dollar (largest
 * remainder). Capacity costs the same whether it is used or not, so what nobody holds carries its part too.
 */
import { divideProduct } from "@headroom/model";
import { hourCost } from "../prices/capacity-cost.ts";
import { instantOf } from "../prices/amounts.ts";
import {
  meteredMicroUsd,
  type CapacityPrice,
  type MeteredPrice,
  type PoolPrice,
  type PriceBook,
} from "../prices/price-documents.ts";
import { milliMsOf, type UsageRow } from "../rows/row.ts";

const HOUR_MS = 3_600_000;
/** Thousandths of accelerator-milliseconds in an accelerator-hour. */
export const MILLI_MS_PER_HOUR: number = 1_000 * HOUR_MS;

export interface Charge {
  readonly hourMs: number;
  /** Start and end within the hour. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly row: UsageRow;
  readonly price: PoolPrice;
  /** Thousandths of accelerator-milliseconds. Negative in a correction that takes back an earlier charge. */
  readonly milliMs: number;
  readonly microUsd: number;
}

interface Part {
  readonly row: UsageRow;
  readonly fromMs: number;
  readonly toMs: number;
  readonly milliMs: number;
}

/** The rows of each hour of each pool. */
export class HourlyRows {
  readonly #pools = new Map<string, Map<number, Part[]>>();
  #firstMs = Number.POSITIVE_INFINITY;
  #lastMs = Number.NEGATIVE_INFINITY;
  #firstCorrectedMs = Number.POSITIVE_INFINITY;

  get firstMs(): number {
    return this.#firstMs;
  }

  get lastMs(): number {
    return this.#lastMs;
  }

  /** The earliest instant that a correction is about; infinite: there is no correction. */
  get firstCorrectedMs(): number {
    return this.#firstCorrectedMs;
  }

  get pools(): Iterable<string> {
    return this.#pools.keys();
  }

  add(row: UsageRow): void {
    let hours = this.#pools.get(row.pool);
    if (hours === undefined) this.#pools.set(row.pool, (hours = new Map<number, Part[]>()));
    if (row.correctedAtMs !== null) this.#firstCorrectedMs = Math.min(this.#firstCorrectedMs, row.fromMs);
    this.#firstMs = Math.min(this.#firstMs, row.fromMs);
    this.#lastMs = Math.max(this.#lastMs, row.toMs);
    for (let hourMs = hourOf(row.fromMs); hourMs < row.toMs; hourMs += HOUR_MS) {
      const fromMs = Math.max(row.fromMs, hourMs);
      const toMs = Math.min(row.toMs, hourMs + HOUR_MS);
      const part: Part = { row, fromMs, toMs, milliMs: milliMsOf({ fromMs, toMs, milli: row.milli }) };
      const known = hours.get(hourMs);
      if (known === undefined) hours.set(hourMs, [part]);
      else known.push(part);
    }
  }

  parts(pool: string, hourMs: number): readonly Part[] {
    return this.#pools.get(pool)?.get(hourMs) ?? [];
  }
}

const hourOf = (atMs: number): number => Math.floor(atMs / HOUR_MS) * HOUR_MS;

export interface BillingRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The charges of the hours in the range, hour by hour. `unpriced` collects what no price covers. */
export function* charges(
  rows: HourlyRows,
  book: PriceBook,
  range: BillingRange,
  unpriced: Map<string, bigint> = new Map(),
): Generator<Charge> {
  const pools = [...new Set([...rows.pools, ...book.byPool.keys()])].toSorted();
  for (let hourMs = hourOf(range.fromMs); hourMs < range.toMs; hourMs += HOUR_MS)
    for (const pool of pools) yield* chargesOfHour(rows.parts(pool, hourMs), book, { pool, hourMs }, unpriced);
}

function* chargesOfHour(
  parts: readonly Part[],
  book: PriceBook,
  { pool, hourMs }: { readonly pool: string; readonly hourMs: number },
  unpriced: Map<string, bigint>,
): Generator<Charge> {
  const prices = (book.byPool.get(pool) ?? []).filter((price) => isActive(price, hourMs));
  const [first] = prices;
  if (first === undefined) {
    const amount = parts.reduce((sum, { milliMs }) => sum + milliMs, 0);
    if (amount !== 0) unpriced.set(pool, (unpriced.get(pool) ?? 0n) + BigInt(amount));
    return;
  }
  if ("prices" in first) {
    yield* meteredCharges(parts, first, hourMs);
    return;
  }
  yield* capacityCharges(parts, prices as readonly CapacityPrice[], { pool, hourMs });
}

const isActive = (price: PoolPrice, hourMs: number): boolean =>
  hourMs >= instantOf(price.from) &&
  (price.until === undefined || hourMs < instantOf(price.until)) &&
  (!("prices" in price) || meteredMicroUsd(price, hourMs) !== null);

function* meteredCharges(parts: readonly Part[], price: MeteredPrice, hourMs: number): Generator<Charge> {
  const perHour = meteredMicroUsd(price, hourMs) ?? 0;
  const total = parts.reduce((sum, part) => sum + (isCorrection(part) ? 0 : part.milliMs), 0);
  const { quotient, remainder } = divideProduct(perHour, total, MILLI_MS_PER_HOUR);
  const cost = quotient + (remainder * 2 >= MILLI_MS_PER_HOUR ? 1 : 0);
  const costs = divided(cost, parts);
  for (const [index, { row, fromMs, toMs, milliMs }] of parts.entries())
    yield { hourMs, fromMs, toMs, row, price, milliMs, microUsd: costs[index] ?? 0 };
}

/** Each price has its part of the pool's accelerators, by the number that it covers. */
function* capacityCharges(
  own: readonly Part[],
  prices: readonly CapacityPrice[],
  { pool, hourMs }: { readonly pool: string; readonly hourMs: number },
): Generator<Charge> {
  const parts = own.some((part) => !isCorrection(part)) ? own : [...own, absentPart(prices, pool, hourMs)];
  const whole = prices.reduce((sum, { accelerators }) => sum + accelerators, 0);
  let before = 0;
  for (const price of prices) {
    const after = before + price.accelerators;
    const costs = divided(hourCost(price, hourMs), parts);
    for (const [index, { row, fromMs, toMs, milliMs }] of parts.entries())
      yield {
        hourMs,
        fromMs,
        toMs,
        row,
        price,
        milliMs: portion(milliMs, after, whole) - portion(milliMs, before, whole),
        microUsd: costs[index] ?? 0,
      };
    before = after;
  }
}

/** `floor(amount * part / whole)`, with the sign of the amount. */
function portion(amount: number, part: number, whole: number): number {
  if (part === whole) return amount;
  return Math.sign(amount) * divideProduct(Math.abs(amount), part, whole).quotient;
}

/** Capacity that is paid and has no node in this hour. */
function absentPart(prices: readonly CapacityPrice[], pool: string, hourMs: number): Part {
  const milli = prices.reduce((sum, { accelerators }) => sum + accelerators * 1_000, 0);
  const row: UsageRow = {
    fromMs: hourMs,
    toMs: hourMs + HOUR_MS,
    milli,
    state: "idle",
    cause: "notInService",
    team: "",
    user: "",
    workloadId: "",
    workload: "",
    workloadKind: "",
    attemptId: "",
    site: "",
    pool,
    node: "",
    acceleratorType: "",
    correctedAtMs: null,
  };
  return { row, fromMs: hourMs, toMs: hourMs + HOUR_MS, milliMs: milliMsOf(row) };
}

const isCorrection = ({ row }: Part): boolean => row.correctedAtMs !== null;

/**
 * Divides an amount by weight, exactly: everyone gets the floor, and the largest remainders get what is left. Corrections
 * come in pairs of a row and its negative; both get the floor, so that they cancel out.
 */
function divided(amount: number, parts: readonly Part[]): readonly number[] {
  const total = parts.reduce((sum, part) => sum + (isCorrection(part) ? 0 : part.milliMs), 0);
  if (total <= 0) return parts.map(() => 0);
  const costs: number[] = [];
  const remainders: { readonly index: number; readonly remainder: number }[] = [];
  let left = amount;
  for (const [index, part] of parts.entries()) {
    const { quotient, remainder } = divideProduct(amount, Math.abs(part.milliMs), total);
    costs.push(Math.sign(part.milliMs) * quotient);
    if (isCorrection(part)) continue;
    left -= quotient;
    if (remainder > 0) remainders.push({ index, remainder });
  }
  if (left > 0) {
    remainders.sort((first, second) => second.remainder - first.remainder || first.index - second.index);
    for (const { index } of remainders.slice(0, left)) costs[index] = (costs[index] ?? 0) + 1;
  }
  return costs;
}

/** Whether capacity was paid and nobody held it. */
export const isUnused = ({ row, price }: Pick<Charge, "row" | "price">): boolean =>
  row.team === "" && !("prices" in price);
