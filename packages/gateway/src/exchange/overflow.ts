/**
 * The way of a request out of its saturated pool: conditions, data rules, budget, and the target's route. A request that may
 * not leave, or that the target does not serve, goes on as if there were no overflow.
 */
import { reserve, Reservation, type RequestLimits } from "../limits/account.ts";
import type { Operation } from "../protocols/endpoints.ts";
import { endpointFullName } from "../replicas/endpoint-name.ts";
import {
  dataRulesOf,
  mayLeave,
  type OverflowPolicy,
  type OverflowReason,
  type StayReason,
} from "../replicas/overflow-policy.ts";
import type { PoolOverflow } from "../replicas/pool-overflow.ts";
import type { Pool } from "../replicas/pool.ts";
import type { PoolRoute } from "./model-route.ts";
import type { RouteCursor } from "./route-cursor.ts";
import type { ExchangeRequest, Runtime } from "./runtime.ts";
import { priceOf } from "./settlement.ts";

/** Replicas keep the state of stored responses, and an estimate is as good as a count of tokens. */
const stayingOperations: ReadonlySet<Operation> = new Set(["responses", "stored_response", "count_tokens"]);

export class OverflowTurn {
  readonly #runtime: Runtime;
  readonly #request: ExchangeRequest;
  readonly #limits: RequestLimits;
  #isOver = false;

  constructor(runtime: Runtime, request: ExchangeRequest, limits: RequestLimits) {
    this.#runtime = runtime;
    this.#request = request;
    this.#limits = limits;
  }

  /** `undefined`: requests of this kind never leave. */
  static of(runtime: Runtime, request: ExchangeRequest, limits: RequestLimits): OverflowTurn | undefined {
    const { model, endpoint, holder } = request;
    if (model.overflowRoutes.length === 0 || holder !== undefined) return undefined;
    return stayingOperations.has(endpoint.operation) ? undefined : new OverflowTurn(runtime, request, limits);
  }

  /**
   * Whether the request leaves its pools, if it did not leave before. Then `routes` leads to the target, and `proceed` is called,
   * also if the budget has no room: at once, or when the coordinator of the limits has answered. `isLast`: the own pools were
   * tried.
   */
  leaves(routes: RouteCursor, isLast: boolean, proceed: () => void): boolean {
    if (this.#isOver) return false;
    const nowMs = this.#runtime.now();
    const source = routes.own.find(({ pool }) => pool.overflow !== undefined);
    const overflow = source?.pool.overflow;
    if (source === undefined || overflow === undefined) return false;
    const reason = this.#reasonOf(source.pool, routes, { isLast, nowMs });
    if (reason === undefined) return false;
    this.#isOver = true;
    const route = this.#targetOf(overflow, source.pool, nowMs);
    if (typeof route === "string") {
      overflow.stays(route);
      return false;
    }
    // Own capacity comes meanwhile, and takes the next requests.
    if (reason === "noReplica" && source.pool.wake !== undefined)
      this.#runtime.wake(source.pool, undefined, () => undefined);
    const away = { ...route, overflow: { name: overflow.policy.name, reason } };
    this.#pay(overflow, route, (isPaid) => {
      if (isPaid) overflow.leaves(reason);
      else overflow.stays("budget");
      if (isPaid) routes.leave(away, isLast);
      proceed();
    });
    return true;
  }

  /** Whether the request has not left, and may now if the budget has room. */
  hasTarget(routes: RouteCursor): boolean {
    const { pool } = routes.own.find((route) => route.pool.overflow !== undefined) ?? {};
    if (this.#isOver || pool?.overflow === undefined) return false;
    const route = this.#targetOf(pool.overflow, pool, this.#runtime.now());
    if (typeof route !== "string") return true;
    this.#isOver = true;
    pool.overflow.stays(route);
    return false;
  }

  #reasonOf(
    pool: Pool,
    routes: RouteCursor,
    { isLast, nowMs }: { readonly isLast: boolean; readonly nowMs: number },
  ): OverflowReason | undefined {
    if (isLast) return routes.reason === "failed" ? "failed" : "noReplica";
    const reason = pool.overflowReason(nowMs, this.#request.caller.allowedRegions);
    // Another pool of the operator comes before the overflow: one before this pool, and one after it if this pool has no replica.
    return reason === undefined || routes.hasOther(pool, reason === "noReplica", nowMs) ? undefined : reason;
  }

  /** The route to the target, or why the request stays. */
  #targetOf({ policy, budget, isSpentKnown }: PoolOverflow, from: Pool, nowMs: number): PoolRoute | StayReason {
    const { caller, head, model } = this.#request;
    const { target } = policy;
    if (!mayLeave(policy, dataRulesOf(caller, head.own))) return "dataRule";
    const route = model.overflowRoutes.find(
      ({ pool }) =>
        pool !== from &&
        isTarget(pool, target) &&
        pool.requestCount < pool.config.concurrencyMax &&
        pool.hasAvailable(nowMs, caller.allowedRegions),
    );
    if (route === undefined) return "target";
    // Without a price the budget would never be used up.
    if (budget !== undefined && model.priceAt(route.pool) === undefined) return "price";
    return budget === undefined || isSpentKnown ? route : "budget";
  }

  /** Reserves the most that the request can cost at the target. */
  #pay({ budget }: PoolOverflow, route: PoolRoute, done: (isPaid: boolean) => void): void {
    if (budget === undefined) return done(true);
    const nanoUsd = priceOf(this.#request, route.pool);
    // The ledger serves a request that is larger than a whole limit, if nothing else counts against it.
    if (nanoUsd > budget.limit) return done(false);
    const limits = { requests: undefined, tokens: undefined, money: budget };
    reserve(this.#runtime.limits, limits, { tokens: 0, nanoUsd }, (outcome) => {
      if (outcome instanceof Reservation) this.#limits.leave(outcome);
      done(outcome instanceof Reservation);
    });
  }
}

function isTarget({ name, config }: Pool, target: OverflowPolicy["target"]): boolean {
  if ("pool" in target) return name === target.pool;
  return config.endpoint !== undefined && endpointFullName(config.endpoint) === endpointFullName(target.endpoint);
}
