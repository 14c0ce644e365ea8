/** Prices of feeds over time: the newest row of each offer, and the lowest price of each day. */
import { DAY_MS } from "@headroom/model";
import { checkFeed, type FeedRow, type FeedVerdict } from "./check-feed.ts";
import type { OfferMarket } from "./compare-offers.ts";

export interface PricePoint {
  /** Start of the day (UTC). */
  readonly atMs: number;
  /** Lowest price of an accelerator-hour, in US dollars. */
  readonly usdPerHour: number;
  /** Offers with a price that day. */
  readonly offerCount: number;
}

export interface PriceSeries {
  readonly accelerator: string;
  readonly market: OfferMarket;
  readonly points: readonly PricePoint[];
}

const offerOf = ({ provider, instance, region, accelerator, accelerators }: FeedRow): string =>
  [provider, instance, region, accelerator, accelerators].join("\u0000");

/** Keeps the rows with the newest time of each offer. Rows of one time stay, because they can contradict each other. */
export function newestRows<Row extends FeedRow>(rows: readonly Row[]): readonly Row[] {
  const newestMs = new Map<string, number>();
  for (const row of rows)
    newestMs.set(offerOf(row), Math.max(newestMs.get(offerOf(row)) ?? Number.NEGATIVE_INFINITY, row.atMs ?? 0));
  return rows.filter((row) => (row.atMs ?? 0) === newestMs.get(offerOf(row)));
}

/**
 * Lowest trusted price of each day, by accelerator and market. A price holds until the offer's next row, at most for
 * `staleAfterMs`. Rows without a time are in no series.
 */
export function priceHistory(rows: readonly FeedRow[], staleAfterMs: number): readonly PriceSeries[] {
  const byDay = new Map<number, FeedRow[]>();
  for (const row of rows) {
    if (row.atMs === null) continue;
    const day = Math.floor(row.atMs / DAY_MS) * DAY_MS;
    const known = byDay.get(day);
    if (known === undefined) byDay.set(day, [row]);
    else known.push(row);
  }
  const current = new Map<string, FeedVerdict>();
  const series = new Map<string, { accelerator: string; market: OfferMarket; points: PricePoint[] }>();
  for (const [atMs, day] of [...byDay].toSorted(([left], [right]) => left - right)) {
    const limits = { staleAfterMs: Number.POSITIVE_INFINITY, nowMs: null };
    for (const verdict of checkFeed(newestRows(day), limits)) current.set(offerOf(verdict.row), verdict);
    for (const [key, { row }] of current) if (atMs - (row.atMs ?? 0) > staleAfterMs) current.delete(key);
    for (const { accelerator, market, ...point } of lowestOf([...current.values()])) {
      const key = `${accelerator}\u0000${market}`;
      const own = series.get(key) ?? { accelerator, market, points: [] };
      series.set(key, own);
      own.points.push({ atMs, ...point });
    }
  }
  return [...series.values()].toSorted(
    (left, right) =>
      right.points.length - left.points.length ||
      (left.accelerator < right.accelerator ? -1 : left.accelerator > right.accelerator ? 1 : 0) ||
      (left.market < right.market ? -1 : 1),
  );
}

interface Lowest {
  readonly accelerator: string;
  readonly market: OfferMarket;
  usdPerHour: number;
  offerCount: number;
}

function lowestOf(verdicts: readonly FeedVerdict[]): readonly Lowest[] {
  const lowest = new Map<string, Lowest>();
  const add = (accelerator: string, market: OfferMarket, usdPerHour: number | null): void => {
    if (usdPerHour === null) return;
    const key = `${accelerator}\u0000${market}`;
    const known = lowest.get(key);
    if (known === undefined) lowest.set(key, { accelerator, market, usdPerHour, offerCount: 1 });
    else {
      known.usdPerHour = Math.min(known.usdPerHour, usdPerHour);
      known.offerCount++;
    }
  };
  for (const { row, onDemand, spot } of verdicts) {
    add(row.accelerator, "on-demand", onDemand);
    add(row.accelerator, "spot", spot);
  }
  return [...lowest.values()];
}
