/** The charges of a bill: those of its hours, and the corrections that were made in them. */
import type { PriceBook } from "../prices/price-documents.ts";
import { charges, type BillingRange, type Charge, type HourlyRows } from "./charges.ts";

const HOUR_MS = 3_600_000;

export interface Billable {
  readonly hourly: HourlyRows;
  readonly book: PriceBook;
  readonly range: BillingRange;
}

/**
 * The charges that are billed in the range: those of its hours, and corrections of earlier hours that were made in it. A
 * correction that was made later belongs to a later bill. `unpriced` collects what no price covers, by pool.
 */
export function* billedCharges(
  { hourly, book, range }: Billable,
  unpriced: Map<string, bigint> = new Map(),
): Generator<Charge> {
  const isIn = (atMs: number): boolean => atMs >= range.fromMs && atMs < range.toMs;
  const firstMs = hourly.firstCorrectedMs;
  if (firstMs < range.fromMs) {
    const before = { fromMs: Math.floor(firstMs / HOUR_MS) * HOUR_MS, toMs: range.fromMs };
    for (const charge of charges(hourly, book, before))
      if (charge.row.correctedAtMs !== null && isIn(charge.row.correctedAtMs)) yield charge;
  }
  for (const charge of charges(hourly, book, range, unpriced)) {
    const { correctedAtMs } = charge.row;
    if (correctedAtMs === null || isIn(correctedAtMs)) yield charge;
  }
}

/** The hours that rows are about; empty if there are none. */
export const rangeOfRows = ({ firstMs, lastMs }: HourlyRows): BillingRange =>
  firstMs < lastMs
    ? { fromMs: Math.floor(firstMs / HOUR_MS) * HOUR_MS, toMs: Math.ceil(lastMs / HOUR_MS) * HOUR_MS }
    : { fromMs: 0, toMs: 0 };
