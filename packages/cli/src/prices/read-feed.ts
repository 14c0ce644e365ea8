/** Reads CSV feeds of prices: columns by the names that feeds use, comments skipped, every price as text. */
import { createReadStream } from "node:fs";
import path from "node:path";
import type { FeedRow } from "@headroom/usage";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

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

/** A feed of every instance of every provider many times over. */
const ROWS_MAX = 2_000_000;

export async function readFeed({ terminal }: CommandContext, file: string): Promise<readonly FeedRow[]> {
  const { parse } = await import("csv-parse");
  const rows: FeedRow[] = [];
  let header: ReadonlyMap<FeedColumn, number> | undefined;
  const parser = createReadStream(path.resolve(terminal.workingDirectory, file))
    .on("error", (error) => parser.destroy(new CliError(`${file} cannot be read: ${error.message}`, exitCode.usage)))
    .pipe(
      parse({
        bom: true,
        info: true,
        max_record_size: 100_000,
        relax_column_count: true,
        skip_empty_lines: true,
        trim: true,
      }),
    );
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      if (record[0]?.startsWith("#") === true) continue;
      if (header === undefined) {
        header = headerOf(record, file);
        continue;
      }
      if (rows.length === ROWS_MAX)
        throw new CliError(`${file} has more than ${ROWS_MAX} rows; split the file`, exitCode.usage);
      rows.push(rowOf(record, header, info.lines));
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, exitCode.usage);
  }
  if (rows.length === 0) throw new CliError(`${file} has no rows`, exitCode.usage);
  return rows;
}

function headerOf(record: readonly string[], file: string): ReadonlyMap<FeedColumn, number> {
  const plain = record.map((name) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, ""));
  const columns = new Map<FeedColumn, number>();
  for (const [column, known] of Object.entries(names) as [FeedColumn, readonly string[]][]) {
    const found = known.map((name) => plain.indexOf(name)).find((index) => index >= 0);
    if (found !== undefined) columns.set(column, found);
  }
  const prices: readonly FeedColumn[] = ["onDemand", "spot", "onDemandPerAccelerator", "spotPerAccelerator"];
  if (columns.has("accelerator") && prices.some((column) => columns.has(column))) return columns;
  throw new CliError(
    `${file}: the header needs a column for the accelerator (gpu) and one for a price (on_demand_usd_h, spot_usd_h, on_demand_per_gpu_h, spot_per_gpu_h), got: ${record.join(",")}`,
    exitCode.usage,
  );
}

function rowOf(record: readonly string[], header: ReadonlyMap<FeedColumn, number>, line: number): FeedRow {
  const text = (column: FeedColumn): string => record[header.get(column) ?? -1] ?? "";
  const at = text("at");
  const atMs = Date.parse(
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
