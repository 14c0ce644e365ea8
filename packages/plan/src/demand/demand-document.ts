/** The demand document: what people expect to need. Each entry has an owner. Models become accelerators through a port (`WorkSizer`). */
import { z } from "zod";
import { drawsOf } from "../futures/draws.ts";
import { monthName, monthNumber } from "../document/calendar.ts";
import { MONTHS_MAX, monthText, type PlanDocumentProblem } from "../document/plan-document.ts";

const ENTRIES_MAX = 200;
const HOURS_PER_YEAR = 8766;
const SECONDS_PER_DAY = 86_400;

const text = z.string().min(1).max(100);
const pct = z.number().min(0).max(100);
const growth = z.number().min(-90).max(1000).default(0).describe("growth of the amount in percent a year");
const spread = pct.default(20).describe("spread of the amount after a year, in percent (one standard deviation)");
const common = {
  name: text.describe("name of the entry"),
  owner: text.describe("the person or team that answers for it"),
  from: monthText.optional().describe("first month; default: the first of the document"),
  to: monthText.optional().describe("last month"),
  probabilityPct: pct.default(100).describe("probability that it happens at all"),
};
const project = z.strictObject({
  kind: z.literal("project"),
  ...common,
  model: text.describe("model that is trained: a preset of `headroom size catalogue`"),
  tokens: z.number().min(1).max(1e16).describe("tokens of one run"),
  runsPerYear: z.number().min(0).max(10_000),
  spreadPct: spread,
});
const team = z.strictObject({
  kind: z.literal("team"),
  ...common,
  accelerators: z.number().min(0).max(1e7).describe("accelerators in use at the first month"),
  growthPct: growth,
  spreadPct: spread,
});
const endpoint = z.strictObject({
  kind: z.literal("endpoint"),
  ...common,
  model: text.describe("model that is served"),
  users: z.number().min(0).max(1e10),
  requestsPerUserDay: z.number().min(0).max(1e6),
  peak: z.number().min(1).max(100).default(3).describe("requests in the busiest hour over the mean"),
  promptTokens: z.int().min(1).max(10_000_000),
  outputTokens: z.int().min(1).max(1_000_000),
  growthPct: growth,
  spreadPct: spread,
});

const demandDocumentSchema = z.strictObject({
  kind: z.literal("demand"),
  name: text,
  pool: text.describe("the pool of the plan that serves it"),
  accelerator: text.describe("type of accelerator in which demand is counted"),
  start: monthText,
  months: z.int().min(1).max(MONTHS_MAX),
  usefulPct: z
    .number()
    .min(1)
    .max(100)
    .default(70)
    .describe("share of the time for which accelerators of training do useful work"),
  entries: z
    .array(z.discriminatedUnion("kind", [project, team, endpoint]))
    .min(1)
    .max(ENTRIES_MAX),
});

export type DemandDocument = z.infer<typeof demandDocumentSchema>;
type DemandEntry = DemandDocument["entries"][number];

export type DemandReading =
  | { readonly kind: "read"; readonly document: DemandDocument }
  | { readonly kind: "refused"; readonly problems: readonly PlanDocumentProblem[] };

export function readDemandDocument(value: unknown): DemandReading {
  const parsed = demandDocumentSchema.safeParse(value);
  if (parsed.success) return { kind: "read", document: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => ({ path: path as (string | number)[], message }));
  return { kind: "refused", problems };
}

/** The performance model, as far as demand needs it. A string is the reason why the work cannot be sized. */
export interface WorkSizer {
  trainingHours(model: string, tokens: number): number | string;
  servingAccelerators(
    model: string,
    traffic: { readonly requestsPerS: number; readonly promptTokens: number; readonly outputTokens: number },
  ): number | string;
}

export interface SizedEntry {
  readonly name: string;
  readonly owner: string;
  readonly kind: DemandEntry["kind"];
  /** Expected accelerators by month if it happens. */
  readonly accelerators: readonly number[];
  readonly probabilityPct: number;
}

export interface SizedDemand {
  readonly pool: string;
  readonly start: string;
  readonly months: readonly string[];
  readonly p10: readonly number[];
  readonly p50: readonly number[];
  readonly p95: readonly number[];
  readonly entries: readonly SizedEntry[];
}

export type DemandAnswer =
  | { readonly kind: "sized"; readonly demand: SizedDemand }
  | { readonly kind: "impossible"; readonly entry: string; readonly reason: string };

export function sizeDemand(document: DemandDocument, sizer: WorkSizer): DemandAnswer {
  const entries: SizedEntry[] = [];
  for (const entry of document.entries) {
    const first = amountOf(document, entry, sizer);
    if (typeof first === "string") return { kind: "impossible", entry: entry.name, reason: first };
    const accelerators = Array.from(
      { length: document.months },
      (_, month) => first * growthAt(document, entry, month),
    );
    entries.push({
      name: entry.name,
      owner: entry.owner,
      kind: entry.kind,
      accelerators,
      probabilityPct: entry.probabilityPct,
    });
  }
  const start = monthNumber(document.start);
  return {
    kind: "sized",
    demand: {
      pool: document.pool,
      start: document.start,
      months: Array.from({ length: document.months }, (_, month) => monthName(start + month)),
      ...quantiles(document, entries),
      entries,
    },
  };
}

/** Accelerators at the first month. */
function amountOf({ usefulPct }: DemandDocument, entry: DemandEntry, sizer: WorkSizer): number | string {
  if (entry.kind === "team") return entry.accelerators;
  if (entry.kind === "project") {
    const hours = sizer.trainingHours(entry.model, entry.tokens);
    return typeof hours === "string" ? hours : (hours * entry.runsPerYear) / HOURS_PER_YEAR / (usefulPct / 100);
  }
  const requestsPerS = (entry.users * entry.requestsPerUserDay * entry.peak) / SECONDS_PER_DAY;
  return requestsPerS === 0 ? 0 : sizer.servingAccelerators(entry.model, { ...entry, requestsPerS });
}

function growthAt({ start }: DemandDocument, entry: DemandEntry, month: number): number {
  const now = monthNumber(start) + month;
  const from = monthNumber(entry.from ?? start);
  if (now < from || (entry.to !== undefined && now > monthNumber(entry.to))) return 0;
  return entry.kind === "project" ? 1 : (1 + entry.growthPct / 100) ** ((now - from) / 12);
}

const DRAWS = 1000;

/** Quantiles of the sum over draws: an entry happens or not in all its months, and its spread grows with the root of time. */
function quantiles(document: DemandDocument, sized: readonly SizedEntry[]): Pick<SizedDemand, "p10" | "p50" | "p95"> {
  const sums = Array.from({ length: document.months }, () => new Float64Array(DRAWS));
  for (const [index, { accelerators, probabilityPct }] of sized.entries()) {
    const draw = drawsOf(7919 * (index + 1));
    const { spreadPct } = document.entries[index]!;
    for (let number = 0; number < DRAWS; number += 1) {
      const happens = 100 * draw() < probabilityPct;
      const deviation = Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
      if (!happens) continue;
      for (const [month, amount] of accelerators.entries()) {
        const sigma = (spreadPct / 100) * Math.sqrt((month + 1) / 12);
        sums[month]![number]! += amount * Math.exp(sigma * deviation);
      }
    }
  }
  for (const sum of sums) sum.sort();
  const at = (share: number): number[] =>
    sums.map((sum) => Math.round(10 * sum[Math.floor(share * (DRAWS - 1))]!) / 10);
  return { p10: at(0.1), p50: at(0.5), p95: at(0.95) };
}
