/**
 * A generated month of an owned and rented fleet: rows and prices, for trying exports and for tests. The same seed gives
 * the same month.
 */
import { draw } from "@headroom/model";
import type { MeteredLine } from "../metered/metered-line.ts";
import { instantOf } from "../prices/amounts.ts";
import { priceBook, type PriceBook, type PriceDocument } from "../prices/price-documents.ts";
import type { UsageRow } from "../rows/row.ts";
import { demoMetered, demoMeteredPrices } from "./demo-metered.ts";

const MINUTE_MS = 60_000;
const DRAW_MAX = 2 ** 32;

interface DemoPool {
  readonly pool: string;
  readonly site: string;
  readonly type: string;
  readonly nodes: number;
  readonly perNode: number;
}

const pools: readonly DemoPool[] = [
  { pool: "h100-owned", site: "dc-one", type: "H100-SXM-80GB", nodes: 8, perNode: 8 },
  { pool: "a100-leased", site: "dc-one", type: "A100-SXM-80GB", nodes: 4, perNode: 8 },
  { pool: "h200-reserved", site: "cloud-east", type: "H200-SXM-141GB", nodes: 4, perNode: 8 },
  { pool: "h100-on-demand", site: "cloud-east", type: "H100-SXM-80GB", nodes: 2, perNode: 8 },
  { pool: "l40s-spot", site: "cloud-west", type: "L40S-48GB", nodes: 2, perNode: 4 },
];

const from = "2026-01-01";

function capacity(pool: string, source: string, rest: object): object {
  const provider =
    source === "owned" ? "Example Datacenter" : source === "leased" ? "Example Leasing" : "Example Cloud";
  return { kind: "price", name: pool, pool, source, provider, from, ...rest };
}

const documents: readonly object[] = [
  {
    kind: "billing",
    currency: "USD",
    timeZone: "UTC",
    account: { id: "example-ai", name: "Example AI compute" },
  },
  capacity("h100-owned", "owned", {
    region: "dc-one",
    accelerators: 64,
    listPerHour: 2.95,
    components: [
      { name: "accelerators", purchase: 2_080_000, on: from, months: 48, salvage: 208_000 },
      { name: "network", purchase: 240_000, on: from, months: 60 },
      { name: "spares", purchase: 80_000, on: from, months: 48 },
      { name: "power", kilowatts: 81.6, pue: 1.3, perKwh: 0.11, gramsPerKwh: 350 },
      { name: "space", perMonth: 9_800 },
      { name: "storage", perMonth: 6_200 },
      { name: "staff", perMonth: 18_500 },
    ],
  }),
  capacity("a100-leased", "leased", {
    region: "dc-one",
    accelerators: 32,
    listPerHour: 1.5,
    components: [
      { name: "lease", perMonth: 21_000 },
      { name: "power", kilowatts: 26, pue: 1.3, perKwh: 0.11, gramsPerKwh: 350 },
    ],
  }),
  capacity("h200-reserved", "committed", {
    region: "cloud-east",
    accelerators: 32,
    listPerHour: 3.5,
    components: [{ name: "reservation", perHour: 67.2 }],
  }),
  capacity("h100-on-demand", "onDemand", {
    region: "cloud-east",
    zone: "cloud-east-a",
    prices: [{ from, perHour: 3.25 }],
    kilowattsPerAccelerator: 1.3,
    gramsPerKwh: 410,
  }),
  capacity("l40s-spot", "spot", {
    region: "cloud-west",
    zone: "cloud-west-b",
    prices: Array.from({ length: 31 }, (_, day) => ({
      from: `2026-10-${String(day + 1).padStart(2, "0")}`,
      perHour: 0.5 + (draw(7, day, "spot price") % 40) / 100,
    })),
    kilowattsPerAccelerator: 0.5,
    gramsPerKwh: 200,
  }),
];

const teams = ["research/vision", "research/language", "search", "assistants", "platform"];
const users = ["ada", "grace", "edsger", "barbara", "donald"];
const ends = [
  { state: "used", cause: "succeeded" },
  { state: "used", cause: "succeeded" },
  { state: "used", cause: "checkpointed" },
  { state: "failed", cause: "exited" },
  { state: "evicted", cause: "reclaimed" },
  { state: "lost", cause: "nodeLost" },
  { state: "idle", cause: "starting" },
  { state: "idle", cause: "reportedIdle" },
] as const;
/** Amounts in thousandths that work asks for; parts of one accelerator among them. */
const amounts = [125, 142, 285, 428, 500, 571, 1_000, 2_000, 4_000, 8_000];

export interface DemoMonth {
  readonly rows: Iterable<UsageRow>;
  readonly book: PriceBook;
  /** Storage and tokens. */
  readonly metered: readonly MeteredLine[];
  readonly fromMs: number;
  readonly toMs: number;
}

/** `scale`: how many times the nodes of the demo; 1 gives about 60,000 charges. */
export function demoMonth(seed: number, scale = 1): DemoMonth {
  const book = priceBook([...documents, ...demoMeteredPrices] as readonly PriceDocument[]);
  if ("problem" in book) throw new Error(book.problem);
  const fromMs = instantOf("2026-10-01");
  const toMs = instantOf("2026-11-01");
  const metered = demoMetered({ seed, fromMs, toMs, teams }, book);
  return { rows: demoRows({ seed, scale, fromMs, toMs }), book, metered, fromMs, toMs };
}

interface DemoWindow {
  readonly seed: number;
  readonly scale: number;
  readonly fromMs: number;
  readonly toMs: number;
}

function* demoRows(window: DemoWindow): Generator<UsageRow> {
  let ordinal = 0;
  for (const pool of pools)
    for (let index = 0; index < pool.nodes * window.scale; index++)
      yield* nodeRows(pool, { node: `${pool.pool}-${index + 1}`, ordinal: ordinal++ }, window);
}

/** Work after work on one node; what is left of the node is idle. */
function* nodeRows(
  { pool, site, type, perNode }: DemoPool,
  { node, ordinal }: { readonly node: string; readonly ordinal: number },
  { seed, fromMs, toMs }: DemoWindow,
): Generator<UsageRow> {
  const place = { site, pool, node, acceleratorType: type, correctedAtMs: null };
  let step = 0;
  const pick = <T>(list: readonly T[], purpose: string): T =>
    list[draw(seed, ordinal * 1_000_000 + step, purpose) % list.length] as T;
  for (let atMs = fromMs; atMs < toMs; step++) {
    const lengthMs = MINUTE_MS * (20 + (draw(seed, ordinal * 1_000_000 + step, "length") % 1_000));
    const endMs = Math.min(toMs, atMs + lengthMs);
    let freeMilli = perNode * 1_000;
    for (let slot = 0; slot < SLOTS_MAX && freeMilli > 0; slot++) {
      step++;
      if (draw(seed, ordinal * 1_000_000 + step, "empty") / DRAW_MAX < EMPTY_PART) continue;
      const milli = Math.min(freeMilli, pick(amounts, "amount"));
      freeMilli -= milli;
      const id = `w${ordinal}-${step}`;
      const who = { team: pick(teams, "team"), user: pick(users, "user") };
      const work = { workloadId: id, workload: `run-${step}`, workloadKind: "train", attemptId: `${id}.1` };
      yield { fromMs: atMs, toMs: endMs, milli, ...pick(ends, "end"), ...who, ...work, ...place };
    }
    const nobody = { team: "", user: "", workloadId: "", workload: "", workloadKind: "", attemptId: "" };
    if (freeMilli > 0)
      yield { fromMs: atMs, toMs: endMs, milli: freeMilli, state: "idle", cause: "free", ...nobody, ...place };
    atMs = endMs;
  }
}

const SLOTS_MAX = 6;
const EMPTY_PART = 0.2;
