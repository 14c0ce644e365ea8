/** Prices, series and CSV on the page Offers. */
import type { Offers } from "@headroom/protocol";
import { csvCell } from "../../format/csv-cell.ts";

export type PricedOffer = Offers["items"][number];
export type UnpricedOffer = Offers["unpriced"][number];
export type Market = "all" | PricedOffer["market"];

const DAY_MS = 24 * 3_600_000;

export const priceText = (usd: number | null): string => (usd === null ? "–" : `$${usd.toFixed(2)}`);

export const placeText = ({
  provider,
  instance,
  region,
}: Pick<PricedOffer, "provider" | "instance" | "region">): string =>
  [provider, instance, region].filter((part) => part !== "").join(" ");

export const percentText = (part: number): string => `${Math.round(100 * part)}%`;

/** Time between checkpoints. */
export function checkpointText(hours: number | null): string {
  if (hours === null) return "–";
  return hours < 2 ? `${Math.round(60 * hours)} min` : `${hours.toFixed(1)} h`;
}

/** The age of a price in days. */
export function ageText(readAtMs: number | null, nowMs: number): string {
  if (readAtMs === null) return "unknown";
  const days = Math.max(0, Math.floor((nowMs - readAtMs) / DAY_MS));
  return days === 0 ? "today" : days === 1 ? "1 day" : `${days} days`;
}

export function breakEvenText({ option, against, utilisation }: Offers["breakEvens"][number]): string {
  if (utilisation === null) return `${against} costs nothing.`;
  if (utilisation > 1)
    return `${option} is never cheaper than ${against}: it would need ${percentText(utilisation)} utilisation.`;
  return `${option} is cheaper than ${against} above ${percentText(utilisation)} utilisation.`;
}

export interface PriceLines {
  readonly atMs: readonly number[];
  readonly series: readonly { readonly name: string; readonly usd: readonly number[] }[];
}

/** Lowest prices by day for a chart: a price holds until the next one. Series begin together, where all have a price. */
export function priceLines(history: Offers["history"], market: Market, shown: number): PriceLines {
  const chosen = history
    .filter((each) => market === "all" || each.market === market)
    .filter(({ points }) => points.length > 1)
    .slice(0, shown);
  if (chosen.length === 0) return { atMs: [], series: [] };
  const firstMs = Math.max(...chosen.map(({ points }) => points[0]?.atMs ?? 0));
  const lastMs = Math.max(...chosen.map(({ points }) => points.at(-1)?.atMs ?? 0));
  const atMs = Array.from({ length: Math.max(0, (lastMs - firstMs) / DAY_MS) + 1 }, (_, day) => firstMs + day * DAY_MS);
  const series = chosen.map(({ accelerator, market: own, points }) => {
    const byDay = new Map(points.map((point) => [point.atMs, point.usdPerHour]));
    let usd = points.findLast((point) => point.atMs <= firstMs)?.usdPerHour ?? 0;
    return { name: `${accelerator} ${own}`, usd: atMs.map((at) => (usd = byDay.get(at) ?? usd)) };
  });
  return { atMs, series };
}

/** One line for each offer, and one for each row without a trusted price. */
export function offersCsv({ items, unpriced }: Pick<Offers, "items" | "unpriced">): string {
  const header =
    "provider,instance,region,accelerator,market,usd_per_accelerator_hour,usd_per_useful_hour,useful_part,checkpoint_every_hours,read_at,feed,line,defects";
  const placed = (each: PricedOffer | UnpricedOffer): readonly string[] =>
    [each.provider, each.instance, each.region, each.accelerator].map(csvCell);
  const origin = ({ readAtMs, feed, line }: PricedOffer | UnpricedOffer): readonly string[] => [
    readAtMs === null ? "" : new Date(readAtMs).toISOString(),
    csvCell(feed),
    String(line),
  ];
  const rows = [
    ...items.map((offer) => [
      ...placed(offer),
      offer.market,
      String(offer.usdPerHour),
      String(offer.usdPerUsefulHour ?? ""),
      String(offer.usefulPart),
      String(offer.checkpointEveryHours ?? ""),
      ...origin(offer),
      "",
    ]),
    ...unpriced.map((row) => [
      ...placed(row),
      "unpriced",
      "",
      "",
      "",
      "",
      ...origin(row),
      csvCell(row.defects.map((defect) => defect.class).join(" ")),
    ]),
  ];
  return [header, ...rows.map((row) => row.join(","))].map((line) => `${line}\n`).join("");
}
