import type { BatchingLimits, StepCosts } from "@headroom/perf";
import type { RoutingPolicy } from "@headroom/routing";
import type { ServingSlo } from "./request-trace.ts";

/** A group of identical replicas of a variant. */
export interface ReplicaGroup {
  readonly name: string;
  readonly count: number;
  readonly acceleratorsPerReplica: number;
  readonly costs: StepCosts;
  readonly limits: BatchingLimits;
  readonly zone: string;
}

/**
 * A store of prefix pages outside the engines that all replicas share (Mooncake, LMCache). The least recently used page
 * is evicted.
 */
export interface PageStore {
  readonly pageCount: number;
  /** Time in ms to load one page from the store into an engine. */
  readonly pageLoadMs: number;
}

/** Models or adapters that a replica loads on demand. */
export interface AdapterLoading {
  /** Number of models or adapters that a replica can hold; the least recently used one is evicted. */
  readonly slots: number;
  readonly loadMs: number;
  /** True: the replica serves no request during a load (a base model). False: it does (a LoRA adapter). */
  readonly isExclusive: boolean;
}

/** Start-up of a replica. */
export interface Start {
  /**
   * `warm`: every replica is ready at the first request. `cold`: every replica begins to start when the first request
   * arrives.
   */
  readonly kind: "warm" | "cold";
  readonly coldStartMs: number;
}

/** One serving configuration. */
export interface ServingVariant {
  readonly name: string;
  readonly groups: readonly ReplicaGroup[];
  readonly router: RoutingPolicy;
  /** Seed of the router's random choices. */
  readonly seed: number;
  readonly start: Start;
  readonly store: PageStore | undefined;
  readonly adapters: AdapterLoading | undefined;
  /** True: the engine schedules a step while the previous one runs. */
  readonly isScheduledAhead: boolean;
  /** Delay in ms of a request before it reaches the engine: front end, tokenisation, network. */
  readonly frontEndMs: number;
  /** Objectives of requests that have none of their own. */
  readonly slo: ServingSlo;
}
