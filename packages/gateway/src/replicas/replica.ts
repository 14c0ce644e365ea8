/** One upstream server: its address, connections, health and last reported load. */
import { hash } from "node:crypto";
import type { PoolConfig, ReplicaConfig } from "../config/schema.ts";
import type { UpstreamUrl } from "../config/quantities.ts";
import { UpstreamPool } from "../http/upstream-pool.ts";
import { Breaker } from "./breaker.ts";
import { engines } from "./engines.ts";

/**
 * Health of a replica. It is `unknown` until the first probe. Requests may be sent already, so that the gateway's start
 * need not wait for a probe.
 */
export type ReplicaHealth = "unknown" | "healthy" | "unhealthy" | "draining";

/** Load according to the replica's own metrics. A field is undefined if the replica does not report it. */
export interface ReportedLoad {
  readonly queued: number | undefined;
  readonly running: number | undefined;
  /** Used share of the KV cache, 0 to 1. */
  readonly kvUsage: number | undefined;
  /** Adapters that are loaded, or will be, because requests wait for them. */
  readonly loraAdapters: readonly string[];
  /** Number of adapters that can be loaded at a time. */
  readonly maxAdapters: number | undefined;
  readonly kvCapacityTokens: number | undefined;
}

const noLoad: ReportedLoad = {
  queued: undefined,
  running: undefined,
  kvUsage: undefined,
  loraAdapters: [],
  maxAdapters: undefined,
  kvCapacityTokens: undefined,
};

/** 48 bits: two of 4096 replicas have the same tag with a chance of 3 in 100 million. */
export const TAG_LENGTH = 12;
const IDLE_CONNECTIONS_MAX = 1024;
/** Half-life in ms of the counts of successes and failures from which outliers are found. */
const FADE_MS = 10_000;

export function replicaIdOf(config: ReplicaConfig): string {
  return ("id" in config ? config.id : undefined) ?? `${config.url.host}:${config.url.port}${config.url.basePath}`;
}

export class Replica {
  readonly id: string;
  readonly url: UpstreamUrl;
  readonly zone: string;
  /** The replica's region, or else that of its pool. Empty if neither states one. */
  readonly region: string;
  /** Names the replica in the ids of responses that it stores. All gateways with one configuration use the same. */
  readonly tag: string;
  readonly weight: number;
  readonly config: ReplicaConfig;
  readonly connections: UpstreamPool;
  /** The settings as text. If a new configuration changes them, the replica is replaced. */
  readonly settings: string;
  readonly breaker: Breaker;
  /** The `Host` header line for the replica. */
  readonly hostLine: string;
  health: ReplicaHealth = "unknown";
  /**
   * Whether the replica drains, because of the configuration, a request to the admin address, or its removal from the
   * configuration.
   */
  isDraining = false;
  /**
   * Whether a wake command or the endpoint of the pool added the replica at run time. A new configuration does not
   * remove such a replica while the pool follows the same endpoint.
   */
  isDiscovered = false;
  drainDeadlineAtMs = Number.POSITIVE_INFINITY;
  ejectedUntilMs = 0;
  /** Start of the last probe that has ended. Infinity if the replica is not probed. */
  probedAtMs = 0;
  /** End of the time for which the replica itself asked for no requests. */
  backOffUntilMs = 0;
  requestCount = 0;
  load: ReportedLoad = noLoad;
  #successes = 0;
  #failures = 0;
  #fadedAtMs = 0;

  constructor(config: ReplicaConfig, pool: PoolConfig) {
    this.config = config;
    this.settings = JSON.stringify([config, pool.connectTimeout, pool.breaker, pool.region]);
    this.url = config.url;
    this.id = replicaIdOf(config);
    this.zone = ("zone" in config ? config.zone : undefined) ?? "";
    this.region = ("region" in config ? config.region : undefined) ?? pool.region ?? "";
    this.tag = hash("sha256", `${pool.name}\n${this.id}`).slice(0, TAG_LENGTH);
    this.weight = ("weight" in config ? config.weight : undefined) ?? 1;
    this.isDraining = "isDraining" in config && config.isDraining === true;
    this.connections = new UpstreamPool(this.url, pool.connectTimeout, IDLE_CONNECTIONS_MAX);
    this.breaker = new Breaker({ failureCount: pool.breaker.failures, openForMs: pool.breaker.openFor });
    const isProbed = engines[pool.engine].probePath !== undefined || pool.probe.path !== undefined;
    if (!isProbed) this.probedAtMs = Number.POSITIVE_INFINITY;
    if (!isProbed) this.health = "healthy";
    // If the pool can be woken, its replicas count as asleep until a probe succeeds.
    else if (pool.wake?.command !== undefined) this.health = "unhealthy";
    const isDefaultPort = this.url.port === (this.url.isTls ? 443 : 80);
    const host = this.url.host.includes(":") ? `[${this.url.host}]` : this.url.host;
    this.hostLine = `host: ${isDefaultPort ? host : `${host}:${this.url.port}`}\r\n`;
  }

  /** Whether new requests may be sent to the replica. */
  isAvailable(nowMs: number): boolean {
    return nowMs >= this.backOffUntilMs && this.isUsable(nowMs);
  }

  /** Whether new requests may be sent to the replica, unless it asked for none. */
  isUsable(nowMs: number): boolean {
    return (
      !this.isDraining &&
      (this.health === "healthy" || this.health === "unknown") &&
      nowMs >= this.ejectedUntilMs &&
      this.breaker.admits(nowMs)
    );
  }

  succeeded(nowMs: number): void {
    this.#fade(nowMs);
    this.#successes++;
    this.breaker.succeeded();
  }

  failed(nowMs: number): void {
    this.#fade(nowMs);
    this.#failures++;
    this.breaker.failed(nowMs);
  }

  /** Recently ended requests and the share of them that failed. */
  failureRate(nowMs: number): { readonly count: number; readonly share: number } {
    this.#fade(nowMs);
    const count = this.#successes + this.#failures;
    return { count, share: count === 0 ? 0 : this.#failures / count };
  }

  #fade(nowMs: number): void {
    const halvings = Math.floor((nowMs - this.#fadedAtMs) / FADE_MS);
    if (halvings <= 0) return;
    const factor = halvings > 30 ? 0 : 2 ** -halvings;
    this.#successes *= factor;
    this.#failures *= factor;
    this.#fadedAtMs = nowMs;
  }
}
