/** The demand document: what people expect to need. Each entry has an owner. Models become accelerators through a port (`WorkSizer`). */
import { z } from "zod";
import { drawsOf } from "../futures/draws.ts";
import { monthName, monthNumber } from "../document/calendar.ts";
import { axesOf, noStorage, type DemandAxes, type StorageNeed } from "./demand-axes.ts";
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
const peak = z.number().min(1).max(100).default(3).describe("requests in the busiest hour over the mean");
const traffic = {
  ...common,
  model: text.describe("model that is served"),
  users: z.number().min(0).max(1e10),
  requestsPerUserDay: z.number().min(0).max(1e6),
  peak,
  promptTokens: z.int().min(1).max(10_000_000),
  outputTokens: z.int().min(1).max(1_000_000),
  growthPct: growth,
  spreadPct: spread,
};
const endpoint = z.strictObject({ kind: z.literal("endpoint"), ...traffic });
const multimodal = z.strictObject({
  kind: z.literal("multimodal"),
  ...traffic,
  imagesPerRequest: z.number().min(0).max(1000),
  tokensPerImage: z.number().min(1).max(1e6).default(1000).describe("tokens that an image adds to the prompt"),
  kbPerImage: z.number().min(0).max(1e7).default(500),
  keptDays: z.number().min(0).max(36_500).default(30).describe("days for which images are kept"),
});
const rag = z.strictObject({
  kind: z.literal("rag"),
  ...traffic,
  contextTokens: z.int().min(0).max(10_000_000).default(4000).describe("retrieved tokens that each prompt carries"),
  documents: z.number().min(0).max(1e12),
  tokensPerDocument: z.number().min(1).max(1e9).default(1000),
  chunkTokens: z.number().min(1).max(1e6).default(512).describe("tokens behind one vector"),
  dimensions: z.int().min(1).max(100_000).default(1024),
  embeddingModel: text.describe("model that makes the vectors"),
  refreshesPerYear: z.number().min(0).max(1000).default(2).describe("times a year that all documents are embedded"),
});
const embedding = z.strictObject({
  kind: z.literal("embedding"),
  ...common,
  model: text.describe("model that reads the tokens"),
  tokensPerDay: z.number().min(0).max(1e16).default(0).describe("tokens that arrive in a day"),
  peak,
  documents: z.number().min(0).max(1e12).default(0).describe("documents that are embedded again and again"),
  tokensPerDocument: z.number().min(1).max(1e9).default(1000),
  refreshesPerYear: z.number().min(0).max(1000).default(2).describe("times a year that all documents are embedded"),
  growthPct: growth,
  spreadPct: spread,
});
const dataset = z.strictObject({
  kind: z.literal("dataset"),
  ...common,
  capacityTb: z.number().min(0).max(1e9),
  readGbPerS: z.number().min(0).max(1e6).default(0),
  writeGbPerS: z.number().min(0).max(1e6).default(0),
  clients: z.number().min(0).max(1e9).default(0).describe("readers at the same time"),
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
    .array(z.discriminatedUnion("kind", [project, team, endpoint, rag, multimodal, embedding, dataset]))
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
  /** Tokens per second that one accelerator reads without writing any. */
  embeddingTokensPerS(model: string): number | string;
  /** Storage of one run of training, and of the weights of a replica that starts. */
  trainingStorage(model: string, tokens: number): StorageNeed;
  servingStorage(model: string): StorageNeed;
  /** Power of an accelerator with its share of the server. */
  readonly kwPerAccelerator: number;
}

export interface SizedEntry {
  readonly name: string;
  readonly owner: string;
  readonly kind: DemandEntry["kind"];
  /** Expected accelerators by month if it happens. */
  readonly accelerators: readonly number[];
  readonly probabilityPct: number;
  /** Storage at the first month of the entry, and expected capacity by month, weighted with the probability. */
  readonly storage: StorageNeed;
  readonly storageTb: readonly number[];
}

export interface SizedDemand {
  readonly pool: string;
  /** Type of accelerator in which the demand is counted. */
  readonly accelerator: string;
  readonly start: string;
  readonly months: readonly string[];
  readonly p10: readonly number[];
  readonly p50: readonly number[];
  readonly p95: readonly number[];
  /** Expected demand beside accelerators. */
  readonly axes: DemandAxes;
  readonly entries: readonly SizedEntry[];
}

export type DemandAnswer =
  | { readonly kind: "sized"; readonly demand: SizedDemand }
  | { readonly kind: "impossible"; readonly entry: string; readonly reason: string };

export function sizeDemand(document: DemandDocument, sizer: WorkSizer): DemandAnswer {
  const entries: SizedEntry[] = [];
  const axes: Parameters<typeof axesOf>[0][number][] = [];
  for (const entry of document.entries) {
    const first = amountOf(document, entry, sizer);
    if (typeof first === "string") return { kind: "impossible", entry: entry.name, reason: first };
    const { name, owner, kind, probabilityPct } = entry;
    const growth = Array.from({ length: document.months }, (_, month) => growthAt(document, entry, month));
    const accelerators = growth.map((factor) => first * factor);
    const storage = storageOf(entry, sizer);
    const storageTb = growth.map((factor) => (probabilityPct / 100) * storage.capacityTb * factor);
    entries.push({ name, owner, kind, accelerators, probabilityPct, storage, storageTb });
    axes.push({ accelerators, probabilityPct, storage, growth, isTraining: kind === "team" || kind === "project" });
  }
  const start = monthNumber(document.start);
  return {
    kind: "sized",
    demand: {
      pool: document.pool,
      accelerator: document.accelerator,
      start: document.start,
      months: Array.from({ length: document.months }, (_, month) => monthName(start + month)),
      ...quantiles(document, entries),
      axes: axesOf(axes, document.months, sizer.kwPerAccelerator),
      entries,
    },
  };
}

/** Accelerators at the first month. */
function amountOf({ usefulPct }: DemandDocument, entry: DemandEntry, sizer: WorkSizer): number | string {
  switch (entry.kind) {
    case "team":
      return entry.accelerators;
    case "dataset":
      return 0;
    case "project": {
      const hours = sizer.trainingHours(entry.model, entry.tokens);
      return typeof hours === "string" ? hours : (hours * entry.runsPerYear) / HOURS_PER_YEAR / (usefulPct / 100);
    }
    case "embedding":
      // A refresh has no busiest hour: it is spread over the year.
      return embeddingAmount(
        entry.model,
        (entry.tokensPerDay * entry.peak) / SECONDS_PER_DAY + refreshTokensPerS(entry),
        sizer,
      );
    case "endpoint":
      return servingAmount(entry, entry.promptTokens, sizer);
    case "multimodal":
      return servingAmount(
        entry,
        Math.round(entry.promptTokens + entry.imagesPerRequest * entry.tokensPerImage),
        sizer,
      );
    case "rag": {
      const answers = servingAmount(entry, entry.promptTokens + entry.contextTokens, sizer);
      if (typeof answers === "string") return answers;
      const questions = requestsPerS(entry) * entry.promptTokens;
      const vectors = embeddingAmount(entry.embeddingModel, refreshTokensPerS(entry) + questions, sizer);
      return typeof vectors === "string" ? vectors : answers + vectors;
    }
  }
}

type Corpus = Extract<DemandEntry, { readonly documents: number }>;

/** Tokens per second of keeping the vectors of all documents up to date. */
function refreshTokensPerS({ documents, tokensPerDocument, refreshesPerYear }: Corpus): number {
  return (documents * tokensPerDocument * refreshesPerYear) / 365 / SECONDS_PER_DAY;
}

type Traffic = Extract<DemandEntry, { readonly users: number }>;

/** In the busiest hour. */
function requestsPerS({ users, requestsPerUserDay, peak: busiest }: Traffic): number {
  return (users * requestsPerUserDay * busiest) / SECONDS_PER_DAY;
}

function servingAmount(entry: Traffic, promptTokens: number, sizer: WorkSizer): number | string {
  const rate = requestsPerS(entry);
  const { outputTokens } = entry;
  return rate === 0 ? 0 : sizer.servingAccelerators(entry.model, { requestsPerS: rate, promptTokens, outputTokens });
}

function embeddingAmount(model: string, tokensPerS: number, sizer: WorkSizer): number | string {
  const each = sizer.embeddingTokensPerS(model);
  return typeof each === "string" ? each : tokensPerS / each;
}

/** A vector takes 4 bytes a dimension, and the graph over it about half as much again (HNSW with 32 links). */
const VECTOR_BYTES = 4 * 1.5;
const TEXT_BYTES_PER_TOKEN = 4;

function storageOf(entry: DemandEntry, sizer: WorkSizer): StorageNeed {
  switch (entry.kind) {
    case "team":
      return noStorage;
    case "dataset": {
      const { capacityTb, readGbPerS, writeGbPerS, clients } = entry;
      return { capacityTb, readGbPerS, writeGbPerS, clients };
    }
    case "project":
      return sizer.trainingStorage(entry.model, entry.tokens);
    case "embedding":
    case "endpoint":
      return sizer.servingStorage(entry.model);
    case "multimodal": {
      const weights = sizer.servingStorage(entry.model);
      const bytesPerS = (requestsPerS(entry) * entry.imagesPerRequest * entry.kbPerImage * 1000) / entry.peak;
      return {
        ...weights,
        capacityTb: weights.capacityTb + (bytesPerS * SECONDS_PER_DAY * entry.keptDays) / 1e12,
        writeGbPerS: weights.writeGbPerS + (bytesPerS * entry.peak) / 1e9,
      };
    }
    case "rag": {
      const weights = sizer.servingStorage(entry.model);
      const tokens = entry.documents * entry.tokensPerDocument;
      const vectors = (tokens / entry.chunkTokens) * entry.dimensions * VECTOR_BYTES;
      return { ...weights, capacityTb: weights.capacityTb + (vectors + tokens * TEXT_BYTES_PER_TOKEN) / 1e12 };
    }
  }
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
