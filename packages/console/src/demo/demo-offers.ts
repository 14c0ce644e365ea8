/** Offers in the demo: generated feeds of sixty days, some rows of which have defects, compared by the code of the server. */
import { offersQuery, queryTexts } from "@headroom/protocol";
import type { Offers, QueryFor } from "@headroom/protocol";
import { offerQuestion, offersAnswer, tcoDocument } from "@headroom/usage";
import type { NamedRow } from "@headroom/usage";
import { accepted } from "../workers/accepted.ts";

const DAY_MS = 24 * 3_600_000;
const DAYS = 60;

interface Listing {
  readonly provider: string;
  readonly instance: string;
  readonly region: string;
  readonly accelerator: string;
  readonly onDemand: number;
  /** `null`: the provider has no spot market. */
  readonly spot: number | null;
  readonly note?: string;
}

/** US dollars of an accelerator-hour on the first day. Names and prices are invented. */
const listings: readonly Listing[] = [
  { provider: "Alpha", instance: "a3-8", region: "eu-west1", accelerator: "H100", onDemand: 4.1, spot: 1.5 },
  { provider: "Alpha", instance: "a3-8", region: "us-east4", accelerator: "H100", onDemand: 3.9, spot: 1.35 },
  { provider: "Beta", instance: "gpu.h100.8", region: "eu-north1", accelerator: "H100", onDemand: 2.99, spot: null },
  { provider: "Delta", instance: "p5.48", region: "eu-central1", accelerator: "H100", onDemand: 6.88, spot: 6.88 },
  { provider: "Beta", instance: "gpu.h200.8", region: "eu-north1", accelerator: "H200", onDemand: 3.5, spot: 1.45 },
  { provider: "Gamma", instance: "h200x8", region: "us-2", accelerator: "H200", onDemand: 3.39, spot: 1.19 },
  { provider: "Delta", instance: "p5e.48", region: "eu-central1", accelerator: "H200", onDemand: 7.91, spot: 2.6 },
  { provider: "Gamma", instance: "a100x8", region: "us-2", accelerator: "A100-80GB", onDemand: 1.29, spot: 0.45 },
  {
    provider: "Epsilon",
    instance: "h100-8",
    region: "ap-1",
    accelerator: "H100",
    onDemand: 2.1,
    spot: null,
    note: "accelerator only",
  },
];

const document = tcoDocument.parse({
  kind: "tco",
  utilisation: 0.7,
  goodput: 0.9,
  accelerator: "H100",
  options: [
    {
      name: "owned",
      source: "owned",
      accelerators: 64,
      capex: 2_400_000,
      rate: 0.08,
      years: 4,
      salvage: 0.1,
      powerKw: 81.6,
      pue: 1.3,
      perKwh: 0.11,
      coloPerKwMonth: 120,
      networkAndStoragePerYear: 90_000,
      staffPerYear: 220_000,
      availability: 0.98,
      allocatable: 0.95,
    },
    { name: "leased", source: "leased", accelerators: 64, perHour: 1.9 },
  ],
});

/** List prices fall by a few percent; spot prices go up and down, each with a rhythm of its own. */
function rowsUntil(nowMs: number): readonly NamedRow[] {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return listings.flatMap((listing, index) =>
    Array.from({ length: DAYS }, (_, day): NamedRow => {
      const fallen = 1 - 0.001 * day - (day > 35 ? 0.03 : 0);
      const spot = listing.spot ?? 0;
      const isMarket = listing.spot !== null && listing.spot < listing.onDemand;
      const wave = isMarket
        ? 1 + 0.18 * Math.sin(day / (4 + index) + index) + 0.05 * Math.sin(2.3 * day + index)
        : fallen;
      return {
        feed: "demo.csv",
        line: 2 + index * DAYS + day,
        provider: listing.provider,
        instance: listing.instance,
        region: listing.region,
        accelerator: listing.accelerator,
        accelerators: "8",
        onDemand: "",
        spot: "",
        onDemandPerAccelerator: (listing.onDemand * fallen).toFixed(3),
        spotPerAccelerator: listing.spot === null ? "" : (spot * wave).toFixed(3),
        unit: "hour",
        note: listing.note ?? "",
        atMs: today - (DAYS - 1 - day) * DAY_MS,
      };
    }),
  );
}

export function demoOffers(given: QueryFor<"offers">, nowMs: number): Offers {
  const query = accepted(offersQuery.safeParse(queryTexts(given)));
  const rows = rowsUntil(nowMs);
  const sources = { rows, documents: [{ document: "demo.yaml", tco: document }], nowMs, staleAfterMs: 30 * DAY_MS };
  const answer = offersAnswer(sources, offerQuestion(query));
  return {
    ...structuredClone(answer as unknown as Omit<Offers, "feeds" | "problems" | "answeredAtMs">),
    feeds: [{ name: "demo.csv", rowCount: rows.length }],
    problems: [],
    answeredAtMs: nowMs,
  };
}
