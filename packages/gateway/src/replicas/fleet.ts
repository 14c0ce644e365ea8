/**
 * All pools and models of a configuration. When the configuration changes, unchanged replicas keep their connections.
 */
import type { UpstreamUrl } from "../config/quantities.ts";
import type { GatewayConfig, PoolConfig } from "../config/schema.ts";
import { ModelRoute } from "../exchange/model-route.ts";
import { Pool } from "./pool.ts";
import { poolHeaders } from "./pool-headers.ts";
import { Replica } from "./replica.ts";

/** Time in ms for which `isServing` is not computed again. */
const SERVING_MS = 100;

export class Fleet {
  readonly #pools = new Map<string, Pool>();
  /** Replicas removed from the configuration that still have requests. */
  readonly #leaving = new Set<Replica>();
  #models = new Map<string, ModelRoute>();
  #listed: readonly ModelRoute[] = [];
  readonly #seed: number;
  #isServing = false;
  #servingUntilMs = Number.NEGATIVE_INFINITY;

  constructor(config: GatewayConfig, seed: number) {
    this.#seed = seed;
    this.apply(config, 0);
  }

  get pools(): ReadonlyMap<string, Pool> {
    return this.#pools;
  }

  get models(): readonly ModelRoute[] {
    return this.#listed;
  }

  model(name: string): ModelRoute | undefined {
    return this.#models.get(name);
  }

  /**
   * Whether a replica of any pool takes requests, or would after a wake. Strangers may ask, so that the answer holds for
   * a moment.
   */
  isServing(nowMs: number): boolean {
    if (nowMs >= this.#servingUntilMs) {
      this.#isServing = [...this.#pools.values()].some((pool) => pool.wake !== undefined || pool.hasAvailable(nowMs));
      this.#servingUntilMs = nowMs + SERVING_MS;
    }
    return this.#isServing;
  }

  /** Applies a configuration. Throws, before anything has changed, if a credential cannot be read. */
  apply(config: GatewayConfig, nowMs: number): void {
    const headers = new Map(config.pools.map((each) => [each.name, poolHeaders(each)]));
    for (const pool of this.#pools.values()) {
      const next = config.pools.find((each) => each.name === pool.name);
      const isSame =
        next?.engine === pool.config.engine &&
        next.routing === pool.config.routing &&
        // Replicas of an endpoint that the pool no longer follows may be other work soon.
        next.endpoint === pool.config.endpoint;
      // Old replicas are removed before new ones are added, so that the router's capacity need not hold both.
      const discovered = [...pool.replicas.values()].filter((each) => each.isDiscovered).length;
      const isKept = isSame && next.replicas.length + discovered <= pool.capacity;
      if (isKept) continue;
      for (const replica of pool.replicas.values()) this.#release(pool, replica, nowMs);
      this.#pools.delete(pool.name);
    }
    for (const each of config.pools) {
      const pool = this.#pools.get(each.name);
      if (pool === undefined) this.#pools.set(each.name, new Pool(each, this.#seed));
      else this.#reconcile(pool, each, nowMs);
      this.#pools.get(each.name)!.headers = headers.get(each.name)!;
    }
    const overflowTargets = new Map(config.overflowTargets.map((each) => [each.name, each]));
    const models = new Map<string, ModelRoute>();
    this.#listed = config.models.map((each) => {
      const route = new ModelRoute(each, { pools: this.#pools, overflowTargets }, this.#models.get(each.name));
      for (const name of [each.name, ...each.aliases]) models.set(name, route);
      return route;
    });
    this.#models = models;
  }

  /** Called when a request has ended that left a pool by this overflow. */
  paid(overflowName: string, nanoUsd: number): void {
    for (const { overflow } of this.#pools.values()) {
      if (overflow?.policy.name !== overflowName) continue;
      overflow.nanoUsd += nanoUsd;
      return;
    }
  }

  /** Drops removed replicas whose last request has ended, or whose deadline has passed. */
  sweep(nowMs: number): void {
    for (const replica of this.#leaving) {
      if (replica.requestCount > 0 && nowMs < replica.drainDeadlineAtMs) continue;
      replica.connections.close();
      this.#leaving.delete(replica);
    }
  }

  /** Starts or ends the drain of a replica. Returns false if no replica has this name. */
  drain(poolName: string, replicaId: string, drain: { readonly isDraining: boolean; readonly nowMs: number }): boolean {
    const pool = this.#pools.get(poolName);
    const replica = pool?.replicas.get(replicaId);
    if (pool === undefined || replica === undefined) return false;
    replica.isDraining = drain.isDraining;
    replica.drainDeadlineAtMs = drain.isDraining ? drain.nowMs + pool.config.drainTimeout : Number.POSITIVE_INFINITY;
    pool.refresh(replica, drain.nowMs);
    return true;
  }

  /**
   * Makes these the discovered replicas of the pool. Replicas that are gone finish their requests and get no new ones.
   * Returns how many had no room.
   */
  setDiscovered(poolName: string, urls: readonly UpstreamUrl[], nowMs: number): number {
    const pool = this.#pools.get(poolName);
    if (pool === undefined) return 0;
    const fresh = new Map(urls.map((url) => new Replica({ url }, pool.config)).map((each) => [each.id, each]));
    for (const replica of pool.replicas.values()) {
      if (fresh.delete(replica.id) || !replica.isDiscovered) continue;
      this.#release(pool, replica, nowMs);
    }
    let refusedCount = 0;
    for (const replica of fresh.values()) {
      if (pool.replicas.size >= pool.capacity) {
        refusedCount++;
        continue;
      }
      replica.isDiscovered = true;
      pool.add(replica);
    }
    return refusedCount;
  }

  #reconcile(pool: Pool, next: PoolConfig, nowMs: number): void {
    pool.config = next;
    const fresh = new Map(next.replicas.map((each) => new Replica(each, next)).map((each) => [each.id, each]));
    for (const replica of pool.replicas.values()) {
      const same = fresh.get(replica.id);
      const isSame = same?.settings === replica.settings;
      if (isSame) fresh.delete(replica.id);
      else if (!replica.isDiscovered || replica.region !== (next.region ?? "")) this.#release(pool, replica, nowMs);
    }
    for (const replica of fresh.values()) pool.add(replica);
  }

  #release(pool: Pool, replica: Replica, nowMs: number): void {
    pool.remove(replica);
    replica.isDraining = true;
    replica.drainDeadlineAtMs = nowMs + pool.config.drainTimeout;
    this.#leaving.add(replica);
  }
}
