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
import { admitsRules, type OverflowTarget } from "../replicas/overflow-targets.ts";
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
    const targets = this.#targetsOf(overflow, source.pool, nowMs);
    if (typeof targets === "string") {
      overflow.stays(targets);
      return false;
    }
    // Own capacity comes meanwhile, and takes the next requests.
    if (reason === "noReplica" && source.pool.wake !== undefined)
      this.#runtime.wake(source.pool, undefined, () => undefined);
    this.#pay(overflow, targets, (route) => {
      if (route === undefined) overflow.stays("budget");
      else {
        overflow.leaves(reason, route.pool.name);
        routes.leave({ ...route, overflow: { name: overflow.policy.name, reason } }, isLast);
      }
      proceed();
    });
    return true;
  }

  /** Whether the request has not left, and may now if the budget has room. */
  hasTarget(routes: RouteCursor): boolean {
    const { pool } = routes.own.find((route) => route.pool.overflow !== undefined) ?? {};
    if (this.#isOver || pool?.overflow === undefined) return false;
    const targets = this.#targetsOf(pool.overflow, pool, this.#runtime.now());
    if (typeof targets !== "string") return true;
    this.#isOver = true;
    pool.overflow.stays(targets);
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

  /** The routes to the targets that take the request now, in the order of choice, or why it stays. */
  #targetsOf(
    { policy, budget, isSpentKnown }: PoolOverflow,
    from: Pool,
    nowMs: number,
  ): readonly PoolRoute[] | StayReason {
    const { caller, head, model } = this.#request;
    const rules = dataRulesOf(caller, head.own);
    if (!mayLeave(policy, rules)) return "dataRule";
    const known = this.#known(policy, from);
    const allowed = known.filter(({ target }) => target === undefined || admitsRules(target, rules));
    if (allowed.length === 0) return known.length === 0 ? "target" : "dataRule";
    const chosen = this.#inOrder(allowed, policy);
    const isAble = ({ route: { pool } }: KnownTarget): boolean =>
      pool.requestCount < pool.config.concurrencyMax && pool.hasAvailable(nowMs, caller.allowedRegions);
    const able = chosen.filter(isAble);
    for (const each of chosen.slice(0, able[0] === undefined ? chosen.length : chosen.indexOf(able[0])))
      this.#wake(each, nowMs);
    if (able.length === 0) return "target";
    // Without a price the budget would never be used up.
    const priced = able.filter(({ route }) => budget === undefined || model.priceAt(route.pool) !== undefined);
    if (priced.length === 0) return "price";
    return budget === undefined || isSpentKnown ? priced.map(({ route }) => route) : "budget";
  }

  /** The routes of the model to the targets of the policy, with their places in the set that the policy names. */
  #known({ target }: OverflowPolicy, from: Pool): readonly KnownTarget[] {
    const { overflowRoutes, overflowTargets } = this.#request.model;
    const set = "pool" in target ? overflowTargets.get(target.pool) : undefined;
    const others = overflowRoutes.filter(({ pool }) => pool !== from);
    if (set === undefined) return others.filter(({ pool }) => isTarget(pool, target)).map((route) => ({ route }));
    return set.pools.flatMap((each) => {
      const route = others.find(({ pool }) => pool.name === each.pool);
      return route === undefined ? [] : [{ route, target: each }];
    });
  }

  /** By the most that the request can cost, if the set says so. A pool without a price is not free: it comes last. */
  #inOrder(targets: readonly KnownTarget[], { target }: OverflowPolicy): readonly KnownTarget[] {
    const { model } = this.#request;
    const choose = "pool" in target ? model.overflowTargets.get(target.pool)?.choose : undefined;
    if (choose !== "cheapest" || targets.length < 2) return targets;
    const cost = ({ route: { pool } }: KnownTarget): number =>
      model.priceAt(pool) === undefined ? Number.POSITIVE_INFINITY : priceOf(this.#request, pool);
    const costs = new Map(targets.map((each) => [each, cost(each)]));
    return targets.toSorted((a, b) => (costs.get(a)! === costs.get(b)! ? 0 : costs.get(a)! - costs.get(b)!));
  }

  /** Starts the first replica of a target that would come before the others, such as one on rented capacity. */
  #wake({ route: { pool }, target }: KnownTarget, nowMs: number): void {
    if (target?.wakes !== true || pool.wake === undefined || pool.hasAvailable(nowMs)) return;
    this.#runtime.wake(pool, undefined, () => undefined);
  }

  /** Reserves the most that the request can cost at the first target for which the budget has room. */
  #pay(overflow: PoolOverflow, targets: readonly PoolRoute[], done: (route: PoolRoute | undefined) => void): void {
    const { budget } = overflow;
    const [route, ...others] = targets;
    if (route === undefined || budget === undefined) return done(route);
    const nanoUsd = priceOf(this.#request, route.pool);
    // The ledger serves a request that is larger than a whole limit, if nothing else counts against it.
    if (nanoUsd > budget.limit) return this.#pay(overflow, others, done);
    const limits = { requests: undefined, tokens: undefined, money: budget };
    reserve(this.#runtime.limits, limits, { tokens: 0, nanoUsd }, (outcome) => {
      if (!(outcome instanceof Reservation)) return this.#pay(overflow, others, done);
      this.#limits.leave(outcome);
      done(route);
    });
  }
}

interface KnownTarget {
  readonly route: PoolRoute;
  /** Undefined: the policy names the pool itself. */
  readonly target?: OverflowTarget;
}

function isTarget({ name, config }: Pool, target: OverflowPolicy["target"]): boolean {
  if ("pool" in target) return name === target.pool;
  return config.endpoint !== undefined && endpointFullName(config.endpoint) === endpointFullName(target.endpoint);
}
