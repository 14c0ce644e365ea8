/** A model under the name that clients use: the pools that serve it, in order, and the price of its tokens. */
import type { ModelConfig, PriceConfig } from "../config/schema.ts";
import type { TokenCounts } from "../json/usage.ts";
import type { OverflowReason } from "../replicas/overflow-policy.ts";
import type { OverflowTargets } from "../replicas/overflow-targets.ts";
import type { Pool } from "../replicas/pool.ts";

/** Why a request moves on to the next pool. */
export type FallbackReason = "unavailable" | "overloaded" | "failed" | "waking";

export interface PoolRoute {
  readonly pool: Pool;
  readonly upstreamModel: string;
  /** Whether the model is a LoRA adapter in this pool. */
  readonly isAdapter: boolean;
  readonly when: readonly (FallbackReason | "overflow")[];
  /** The overflow by which a request takes this route. Undefined for its own pools. */
  readonly overflow?: LeftBy;
}

/** The overflow by which a request left its pool: its subject, and why. */
export interface LeftBy {
  readonly name: string;
  readonly reason: OverflowReason;
}

export interface FallbackNeed {
  readonly reason: FallbackReason;
  readonly allowedRegions: readonly string[] | undefined;
  readonly nowMs: number;
}

/** Whether any route now accepts requests that fall back for this reason. */
export function hasFallback(routes: readonly PoolRoute[], { reason, allowedRegions, nowMs }: FallbackNeed): boolean {
  return routes.some(({ when, pool }) => when.includes(reason) && pool.hasAvailable(nowMs, allowedRegions));
}

/**
 * The default for `when`. It leaves out pools that are waking: by default a request waits until the pool is awake,
 * unless a later pool accepts it meanwhile.
 */
const usualReasons: readonly FallbackReason[] = ["unavailable", "overloaded", "failed"];

/** Weight of the newest request in the running ratio of tokens to bytes. */
const RATIO_WEIGHT = 0.05;
/** Initial estimate of one token per three bytes. Most text has fewer tokens. */
const INITIAL_TOKENS_PER_BYTE = 1 / 3;

interface RouteParts {
  readonly pools: ReadonlyMap<string, Pool>;
  readonly overflowTargets: ReadonlyMap<string, OverflowTargets>;
}

export class ModelRoute {
  readonly name: string;
  readonly config: ModelConfig;
  /** All pools, for prices and protocols. */
  readonly routes: readonly PoolRoute[];
  /** Pools that serve requests, and pools that get requests from the overflow of another pool. */
  readonly ownRoutes: readonly PoolRoute[];
  readonly overflowRoutes: readonly PoolRoute[];
  /** Sets of targets by the name that overflows use. */
  readonly overflowTargets: ReadonlyMap<string, OverflowTargets>;
  #ratio = INITIAL_TOKENS_PER_BYTE;
  #spread = 0;
  #isMeasured = false;

  /** `before` is the route of this name in the previous configuration. Its measurements are kept. */
  constructor(config: ModelConfig, { pools, overflowTargets }: RouteParts, before: ModelRoute | undefined) {
    this.name = config.name;
    this.config = config;
    this.overflowTargets = overflowTargets;
    this.routes = config.pools.map((route) => ({
      pool: pools.get(route.pool)!,
      upstreamModel: ("model" in route ? route.model : undefined) ?? config.name,
      isAdapter: "adapter" in route && route.adapter === true,
      when: ("when" in route ? route.when : undefined) ?? usualReasons,
    }));
    this.ownRoutes = this.routes.filter(({ when }) => when.some((reason) => reason !== "overflow"));
    this.overflowRoutes = this.routes.filter(({ when }) => when.includes("overflow"));
    if (before === undefined) return;
    this.#ratio = before.#ratio;
    this.#spread = before.#spread;
    this.#isMeasured = before.#isMeasured;
  }

  /**
   * Estimated number of prompt tokens in a number of bytes. It is the mean plus twice the mean deviation, so that
   * limits reserve enough.
   */
  reservedPromptTokens(bytes: number): number {
    return Math.ceil(bytes * (this.#ratio + 2 * this.#spread));
  }

  estimatedPromptTokens(bytes: number): number {
    return Math.ceil(bytes * this.#ratio);
  }

  learn(bytes: number, promptTokens: number): void {
    if (bytes < 16 || promptTokens < 1) return;
    // A text has at most one token per byte. Larger ratios come from images and must not raise the estimates for the
    // texts of other teams.
    const ratio = Math.min(1, promptTokens / bytes);
    if (!this.#isMeasured) {
      this.#isMeasured = true;
      this.#ratio = ratio;
      return;
    }
    const error = ratio - this.#ratio;
    this.#ratio += RATIO_WEIGHT * error;
    this.#spread += RATIO_WEIGHT * (Math.abs(error) - this.#spread);
  }

  priceAt(pool: Pool | undefined): PriceConfig | undefined {
    return pool?.price ?? this.config.price;
  }
}

/** Largest price of one request in nano-dollars: a million dollars. */
const NANO_USD_MAX = 1e15;

/**
 * Price in nano-dollars. USD per million tokens is the same number as micro-dollars per token, and a thousand times
 * that is nano-dollars per token.
 */
export function nanoUsdOf(
  price: PriceConfig | undefined,
  { promptTokens, completionTokens, cachedTokens }: TokenCounts,
): number {
  if (price === undefined) return 0;
  const cached = Math.min(cachedTokens, promptTokens);
  const perMillion =
    (promptTokens - cached) * price.input +
    cached * (price.cachedInput ?? price.input) +
    completionTokens * price.output;
  // No budget is as large as this bound, and sums of amounts stay exact.
  return Math.min(NANO_USD_MAX, Math.round(perMillion * 1000 + price.request * 1e9));
}
