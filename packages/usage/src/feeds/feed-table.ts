/** Columns of price feeds by the names that feeds use, and their records as rows. Every price stays text until it is checked. */
import type { FeedRow } from "./check-feed.ts";

/** Names of columns in feeds, in lower case without punctuation. */
const names = {
  provider: ["cloud", "provider", "vendor", "supplier", "marketplace"],
  instance: ["instance", "instancetype", "instancename", "sku", "offer", "type", "name"],
  region: ["regionorzone", "availabilityzone", "zone", "region", "location"],
  accelerator: ["gpu", "accelerator", "acceleratorname", "gpumodel", "gpuname", "gputype", "acceleratortype", "model"],
  accelerators: ["gpus", "acceleratorcount", "gpucount", "numgpus", "count", "accelerators"],
  onDemand: [
    "ondemandusdh",
    "ondemandusdperhour",
    "ondemand",
    "ondemandprice",
    "price",
    "pricehourly",
    "listusdh",
    "listprice",
    "usdh",
    "priceusd",
    "pricehour",
  ],
  spot: ["spotusdh", "spotusdperhour", "spot", "spotprice"],
  onDemandPerAccelerator: [
    "ondemandpergpuh",
    "ondemandpergpu",
    "pricepergpu",
    "pricepergpuh",
    "listpergpuh",
    "ondemandperacceleratorhour",
    "usdpergpuhour",
    "usdpergpuh",
  ],
  spotPerAccelerator: ["spotpergpuh", "spotpergpu", "spotperacceleratorhour", "spotusdpergpuh"],
  host: ["hostusdh", "hostusdperhour", "hostprice", "host"],
  unit: ["unit", "pricingunit", "priceunit", "billingunit"],
  note: ["note", "notes", "comment"],
  at: [
    "time",
    "timestamp",
    "date",
    "asof",
    "updatedat",
    "updated",
    "lastupdated",
    "fetchedat",
    "capturedat",
    "observedat",
    "lastseen",
    "quotedat",
  ],
} as const;
type FeedColumn = keyof typeof names;

export type FeedHeader = ReadonlyMap<FeedColumn, number>;

/** Position of each known column. `null`: a column for the accelerator, or one for a price, is missing. */
export function feedHeader(record: readonly string[]): FeedHeader | null {
  const plain = record.map((name) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, ""));
  const columns = new Map<FeedColumn, number>();
  for (const [column, known] of Object.entries(names) as [FeedColumn, readonly string[]][]) {
    const found = known.map((name) => plain.indexOf(name)).find((index) => index >= 0);
    if (found !== undefined) columns.set(column, found);
  }
  const prices: readonly FeedColumn[] = ["onDemand", "spot", "onDemandPerAccelerator", "spotPerAccelerator"];
  return columns.has("accelerator") && prices.some((column) => columns.has(column)) ? columns : null;
}

/** Characters of a header in its refusal. */
const SHOWN_CHARS = 200;

/** The refusal of a header. */
export const feedHeaderRefusal = (record: readonly string[]): string =>
  `the header needs a column for the accelerator (gpu) and one for a price (on_demand_usd_h, spot_usd_h, on_demand_per_gpu_h, spot_per_gpu_h), got: ${record.join(",").slice(0, SHOWN_CHARS)}`;

/** `instantMs`: the instant of an ISO 8601 text, NaN for other text. */
export function feedRow(
  record: readonly string[],
  header: FeedHeader,
  line: number,
  instantMs: (text: string) => number,
): FeedRow {
  const text = (column: FeedColumn): string => record[header.get(column) ?? -1] ?? "";
  const at = text("at");
  const atMs = instantMs(
    /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/.test(at) ? `${at.replace(" ", "T")}Z` : at,
  );
  return {
    line,
    provider: text("provider"),
    instance: text("instance"),
    region: text("region"),
    accelerator: text("accelerator"),
    accelerators: text("accelerators"),
    onDemand: text("onDemand"),
    spot: text("spot"),
    onDemandPerAccelerator: text("onDemandPerAccelerator"),
    spotPerAccelerator: text("spotPerAccelerator"),
    ...(header.has("host") ? { host: text("host") } : {}),
    unit: text("unit"),
    note: text("note"),
    atMs: Number.isNaN(atMs) ? null : atMs,
  };
}
