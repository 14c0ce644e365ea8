/** The prices that pools declare, as price documents for the pools that no document covers. */
import { civilDay, DAY_MS, dayOf } from "@headroom/model";
import { MICRO } from "./amounts.ts";
import type { PriceDocument } from "./price-documents.ts";

const HOUR_MS = 3_600_000;

/** A pool as the journal knows it: its site, and its prices in micro-dollars per accelerator-hour with the times from which they held. */
export interface DeclaredPool {
  readonly site: string;
  readonly prices: readonly (readonly [atMs: number, microUsdPerHour: number])[];
}

/** Pools without a document have the prices that they declare, from the hour of the declaration on. */
export function withDeclaredPrices(
  documents: readonly PriceDocument[],
  pools: ReadonlyMap<string, DeclaredPool>,
): readonly PriceDocument[] {
  const covered = new Set(documents.flatMap((each) => ("pool" in each ? [each.pool] : [])));
  const declared = [...pools].flatMap(([pool, { site, prices }]): PriceDocument[] => {
    const [first] = prices;
    if (covered.has(pool) || first === undefined || prices.every(([, price]) => price === 0)) return [];
    const steps = new Map(prices.map(([atMs, price]) => [hourText(atMs), price / MICRO]));
    const price: PriceDocument = {
      kind: "price",
      name: `declared-${pool}`,
      pool,
      provider: "Declared by the pool",
      region: site,
      source: "onDemand",
      from: hourText(first[0]),
      prices: [...steps].map(([at, perHour]) => ({ from: at, perHour })),
    };
    return [price];
  });
  return [...documents, ...declared];
}

function hourText(atMs: number): string {
  const { year, month, day } = civilDay(dayOf(atMs));
  const hour = Math.floor((atMs % DAY_MS) / HOUR_MS);
  const [mm, dd, hh] = [month, day, hour].map((part) => String(part).padStart(2, "0"));
  return `${year}-${mm}-${dd}T${hh}:00Z`;
}
