/**
 * Requests of gateways as lines of a bill, from the records of their usage files. A model with a price document of source `tokens`
 * is bought from a provider and costs what the document says. Other requests are served by the fleet, whose accelerators are in
 * the bill already: their tokens and the amount that the gateway charged are shown, and cost nothing further.
 */
import { DAY_MS } from "@headroom/model";
import { z } from "zod";
import type { BillingRange } from "../bill/charges.ts";
import { instantOf } from "../prices/amounts.ts";
import type { PriceBook, TokenPrice } from "../prices/price-documents.ts";
import type { MeteredLine, MeteredPart } from "./metered-line.ts";

const count = z.number().int().nonnegative();

/** The fields of a usage record that a bill needs (docs/reference/gateway.md). */
export const gatewayRecord = z.object({
  id: z.string(),
  atMs: z.number().int(),
  team: z.string(),
  model: z.string(),
  pool: z.string(),
  outcome: z.enum(["completed", "aborted", "failed", "open"]),
  promptTokens: count,
  completionTokens: count,
  cachedTokens: count,
  nanoUsd: z.number(),
});

export type GatewayRecord = Readonly<z.output<typeof gatewayRecord>>;

interface Sum {
  readonly dayMs: number;
  readonly team: string;
  readonly model: string;
  readonly pool: string;
  requests: number;
  prompt: number;
  cached: number;
  output: number;
  nanoUsd: number;
}

const NANO_PER_MICRO = 1_000;

export class GatewayUsage {
  readonly #sums = new Map<string, Sum>();
  /** Streams in progress of the gateway that is read; a later record of the same id replaces one. */
  readonly #open = new Map<string, GatewayRecord>();

  add(record: GatewayRecord): void {
    this.#open.delete(record.id);
    if (record.outcome === "open") this.#open.set(record.id, record);
    else this.#count(record);
  }

  /** The process that wrote the records has ended: no further record comes of its streams, and the last one counts. */
  endProcess(): void {
    for (const record of this.#open.values()) this.#count(record);
    this.#open.clear();
  }

  /** The gateway runs: its streams in progress are left out. */
  leaveOpen(): void {
    this.#open.clear();
  }

  #count({ atMs, team, model, pool, ...record }: GatewayRecord): void {
    const dayMs = Math.floor(atMs / DAY_MS) * DAY_MS;
    const key = JSON.stringify([dayMs, team, model, pool]);
    let sum = this.#sums.get(key);
    if (sum === undefined) {
      sum = { dayMs, team, model, pool, requests: 0, prompt: 0, cached: 0, output: 0, nanoUsd: 0 };
      this.#sums.set(key, sum);
    }
    sum.requests++;
    sum.prompt += record.promptTokens;
    sum.cached += record.cachedTokens;
    sum.output += record.completionTokens;
    sum.nanoUsd += record.nanoUsd;
  }

  /** Lines of the days that begin in the range, and of the day in which it begins. */
  lines({ fromMs, toMs }: BillingRange, { tokens }: Pick<PriceBook, "tokens">): readonly MeteredLine[] {
    const firstMs = Math.floor(fromMs / DAY_MS) * DAY_MS;
    return [...this.#sums.values()]
      .filter(({ dayMs }) => dayMs >= firstMs && dayMs < toMs)
      .map((sum) => lineOf(sum, priceAt(tokens, sum)));
  }
}

function lineOf(sum: Sum, price: TokenPrice | null): MeteredLine {
  const parts = partsOf(sum, price);
  return {
    dayMs: sum.dayMs,
    service: "tokens",
    team: sum.team,
    subject: sum.model,
    place: sum.pool,
    quantity: sum.prompt + sum.output,
    requestCount: sum.requests,
    price: price?.name ?? "",
    provider: price?.provider ?? "",
    microUsd: parts.reduce((total, { microUsd }) => total + microUsd, 0),
    chargedMicroUsd: Math.round(sum.nanoUsd / NANO_PER_MICRO),
    parts,
  };
}

/**
 * Dollars for a million tokens are micro-dollars for one. Cached tokens are part of the prompt. Costs are rounded together, so
 * that the parts add up to the rounded cost of all.
 */
function partsOf({ prompt, cached, output }: Sum, price: TokenPrice | null): readonly MeteredPart[] {
  const input = price?.perMillionInput ?? 0;
  const meters = [
    { meter: "Input Tokens", quantity: Math.max(0, prompt - cached), unitPrice: input },
    { meter: "Cached Input Tokens", quantity: cached, unitPrice: price?.perMillionCachedInput ?? input },
    { meter: "Output Tokens", quantity: output, unitPrice: price?.perMillionOutput ?? 0 },
  ] as const;
  let [exact, rounded] = [0, 0];
  return meters.map((part) => {
    exact += part.quantity * part.unitPrice;
    const microUsd = Math.round(exact) - rounded;
    rounded += microUsd;
    return { ...part, microUsd };
  });
}

/** The newest price of the model that has begun by the day. A price of the pool goes before one of all pools. */
function priceAt(prices: readonly TokenPrice[], { model, pool, dayMs }: Sum): TokenPrice | null {
  let found: TokenPrice | null = null;
  for (const price of prices) {
    const isValid =
      price.model === model &&
      (price.pool === undefined || price.pool === pool) &&
      instantOf(price.from) <= dayMs &&
      (price.until === undefined || instantOf(price.until) > dayMs);
    if (isValid && (found === null || rankOf(price) >= rankOf(found))) found = price;
  }
  return found;
}

/** Orders prices: those of a pool last, then by their start. */
const rankOf = ({ pool, from }: TokenPrice): number => instantOf(from) + (pool === undefined ? 0 : 1e15);
