/**
 * The way of a request through its model's pools. It visits only pools that may serve the request: those with a replica
 * in the caller's regions, and for a request that continues a stored response only the pool that holds it.
 */
import type { UpstreamFailureKind } from "../http/upstream-connection.ts";
import type { ApiError } from "../protocols/api-error.ts";
import type { Attempt } from "./attempt.ts";
import type { AttemptStart } from "./attempt-message.ts";
import { hasFallback, type FallbackReason, type PoolRoute } from "./model-route.ts";
import type { Pool } from "../replicas/pool.ts";
import { routingRequestOf } from "./routing-request.ts";
import type { ExchangeRequest, Runtime } from "./runtime.ts";

export class RouteCursor {
  readonly #request: ExchangeRequest;
  #routes: readonly PoolRoute[];
  #index = 0;
  /** Whether the present pool is the target of an overflow, and the request's own pools come after it. */
  #isAway = false;
  /** Replicas of the current pool that were tried. */
  tried: string[] = [];
  /** Number of attempts in the current pool. */
  attemptCount = 0;
  /** Why the request left the pools before. */
  reason: FallbackReason | undefined;

  constructor(request: ExchangeRequest) {
    this.#request = request;
    this.#routes = usableRoutes(request);
  }

  /** The reason for which no pool may serve the request, whatever the state of its replicas. */
  get forbidden(): ApiError | undefined {
    if (this.#routes.length > 0) return undefined;
    const { model, caller } = this.#request;
    const regions = caller.allowedRegions?.join(", ") ?? "";
    return {
      kind: "regionForbidden",
      message: `No replica of ${model.name} that could serve this request lies in the regions that this key may use: ${regions}.`,
    };
  }

  get hasLater(): boolean {
    return this.#index + 1 < this.#routes.length;
  }

  /**
   * The first pool, from the current one on, that admits the request. `when` limits what comes from other pools, not a
   * pool's own retries.
   */
  admitting(): PoolRoute | undefined {
    for (; this.#index < this.#routes.length; this.advance()) {
      const route = this.#routes[this.#index]!;
      const { config, requestCount } = route.pool;
      if (this.tried.length === 0 && this.reason !== undefined && !route.when.includes(this.reason)) continue;
      if (this.attemptCount >= config.attempts) continue;
      if (requestCount < config.concurrencyMax) return route;
      this.reason = "overloaded";
    }
    return undefined;
  }

  advance(): void {
    this.#index++;
    this.restart();
    if (!this.#isAway) return;
    // The failure of the other side is no reason to skip an own pool.
    this.#isAway = false;
    this.reason = undefined;
  }

  /** The request's own pools, before it leaves them. */
  get own(): readonly PoolRoute[] {
    return this.#routes;
  }

  /** Whether the request can return to its own pools. */
  get mayReturn(): boolean {
    return this.#isAway && this.hasLater;
  }

  /** Whether another attempt may end better than this one: at another replica, or in a later pool. */
  hasAlternative({ pool, route, replica }: Attempt, reason: FallbackReason, runtime: Runtime): boolean {
    const nowMs = runtime.now();
    if (this.attemptCount < pool.config.attempts) {
      const request = routingRequestOf(this.#request, route, [...this.tried, replica.id], runtime);
      if (pool.choose(request, nowMs) !== undefined && runtime.retries.take()) return true;
    }
    this.attemptCount = pool.config.attempts;
    return this.mayReturn || this.hasFallback(reason, nowMs);
  }

  /** The replica of the pool that the router chooses among those that were not tried. Undefined if none takes the request. */
  placed(route: PoolRoute, runtime: Runtime): AttemptStart | undefined {
    const nowMs = runtime.now();
    const request = routingRequestOf(this.#request, route, this.tried, runtime);
    const placement = route.pool.choose(request, nowMs);
    return placement === undefined ? undefined : { placement, request, nowMs };
  }

  /** Sends the request to the target of an overflow. `isLast`: its own pools were tried. */
  leave(route: PoolRoute, isLast: boolean): void {
    this.#routes = isLast ? [route] : [route, ...this.#routes];
    this.#index = 0;
    this.restart();
    this.reason = undefined;
    this.#isAway = true;
  }

  /** The request begins again in the current pool; `failed`: the replica that failed it. */
  again(failed: string | undefined): void {
    this.reason = failed === undefined ? undefined : "failed";
    this.tried = failed === undefined ? [] : [...this.tried, failed];
  }

  /** Forgets the attempts in the current pool. */
  restart(): void {
    this.tried = [];
    this.attemptCount = 0;
  }

  /** Whether the request may wake the pool. A count of tokens is not worth the start of a model: it is estimated. */
  mayWake({ pool }: PoolRoute): boolean {
    return pool.wake !== undefined && this.#request.endpoint.operation !== "count_tokens";
  }

  /**
   * Wakes the pool if it has no replica and can be woken. Returns the function that ends the wait of the held request, which goes on
   * with `ready`, or `elsewhere` if it does not wait: a later pool takes it while this one wakes, or too many wait.
   */
  wake(
    route: PoolRoute,
    runtime: Runtime,
    ready: (error: ApiError | undefined) => void,
  ): (() => void) | "elsewhere" | undefined {
    const nowMs = runtime.now();
    const { caller, bodyBytes } = this.#request;
    if (route.pool.hasAvailable(nowMs, caller.allowedRegions) || !this.mayWake(route)) return undefined;
    const hasSubstitute = this.hasFallback("waking", nowMs);
    const held = runtime.wake(route.pool, hasSubstitute ? undefined : bodyBytes, ready);
    if (held !== undefined && !hasSubstitute) return held;
    this.reason = hasSubstitute ? "waking" : "overloaded";
    return "elsewhere";
  }

  /** Whether a later pool now accepts requests that fall back for this reason. */
  hasFallback(reason: FallbackReason, nowMs: number): boolean {
    const { allowedRegions } = this.#request.caller;
    return hasFallback(this.#routes.slice(this.#index + 1), { reason, allowedRegions, nowMs });
  }

  /** Whether another pool takes the request now: one before `pool`, and with `isAfter` also one after it. */
  hasOther(pool: Pool, isAfter: boolean, nowMs: number): boolean {
    const { allowedRegions } = this.#request.caller;
    const at = this.#routes.findIndex((route) => route.pool === pool);
    const end = isAfter || at < this.#index ? this.#routes.length : at;
    return this.#routes.slice(this.#index, end).some((route, offset) => {
      const { config, requestCount } = route.pool;
      if (route.pool === pool || requestCount >= config.concurrencyMax) return false;
      const isPresent = offset === 0 && (this.tried.length > 0 || this.reason === undefined);
      if (isPresent ? this.attemptCount >= config.attempts : !route.when.includes(this.reason ?? "unavailable"))
        return false;
      return route.pool.hasAvailable(nowMs, allowedRegions);
    });
  }

  /** Whether the pool takes no request now because its replicas asked for none. */
  isBackingOff({ pool }: PoolRoute, nowMs: number): boolean {
    const { allowedRegions } = this.#request.caller;
    return !pool.hasAvailable(nowMs, allowedRegions) && pool.backOffEndMs(nowMs, allowedRegions) !== undefined;
  }

  /** Time in ms until the first replica takes requests that asked for none. Undefined if none has. */
  backOffLeftMs(nowMs: number): number | undefined {
    const { allowedRegions } = this.#request.caller;
    const ends = this.#routes.flatMap(({ pool }) => pool.backOffEndMs(nowMs, allowedRegions) ?? []);
    return ends.length === 0 ? undefined : Math.ceil(Math.min(...ends) - nowMs);
  }

  /** Why the last replica did not serve the request. */
  failed(kind: UpstreamFailureKind, nowMs: number): ApiError {
    return {
      kind: kind === "timeout" ? "upstreamTimeout" : "upstreamFailed",
      message: "The model server failed before it answered. Try again.",
      retryAfterMs: this.backOffLeftMs(nowMs),
    };
  }

  /** Why no replica can serve the request now. */
  unavailable(runtime: Runtime): ApiError {
    const { model, holder, endpoint } = this.#request;
    const { operation } = endpoint;
    const message =
      holder === undefined
        ? `No replica of ${model.name} can take the request now.`
        : operation === "responses"
          ? "The replica that holds the previous response cannot take the request now. Try again, or send the conversation as `input`."
          : "The replica that holds the response cannot take the request now. Try again later.";
    const retryAfterMs =
      this.backOffLeftMs(runtime.now()) ?? Math.max(...this.#routes.map(({ pool }) => runtime.wakeRetryMs(pool)));
    return { kind: this.reason === "failed" ? "upstreamFailed" : "overloaded", message, retryAfterMs };
  }
}

function usableRoutes({ model, caller, holder }: ExchangeRequest): readonly PoolRoute[] {
  const { allowedRegions } = caller;
  if (allowedRegions === undefined && holder === undefined) return model.ownRoutes;
  return model.ownRoutes.filter(
    ({ pool }) =>
      (holder === undefined || pool === holder.pool) && (allowedRegions === undefined || pool.mayLieIn(allowedRegions)),
  );
}
