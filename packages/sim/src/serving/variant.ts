import type { BatchingLimits, StepCosts } from "@headroom/perf";
import type { RoutingPolicy } from "@headroom/routing";

/** Identical replicas of a variant. */
export interface ReplicaGroup {
  readonly name: string;
  readonly count: number;
  readonly acceleratorsPerReplica: number;
  readonly costs: StepCosts;
  readonly limits: BatchingLimits;
  readonly zone: string;
}

/** A store of prefix pages outside the engines, shared by all replicas (Mooncake, LMCache), with LRU eviction. */
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
  /** True: loading blocks the replica (a base model). False: it does not (a LoRA adapter). */
  readonly isExclusive: boolean;
}

/** Start-up of a replica. */
export interface Start {
  /** `warm`: every replica is ready at the first request. `cold`: it begins to start with the first request. */
  readonly kind: "warm" | "cold";
  readonly coldStartMs: number;
}

/** One serving configuration. */
export interface ServingVariant {
  readonly name: string;
  readonly groups: readonly ReplicaGroup[];
  readonly router: RoutingPolicy;
  /** Seed of the router's draws. */
  readonly seed: number;
  readonly start: Start;
  readonly store: PageStore | undefined;
  readonly adapters: AdapterLoading | undefined;
  /** True: a step is scheduled while the previous one runs. */
  readonly isScheduledAhead: boolean;
  /** Delay in ms before the engine: front end, tokenisation, network. */
  readonly frontEndMs: number;
  readonly slo: ServingSlo;
}

/** Latency objectives of a request. */
export interface ServingSlo {
  readonly ttftMs: number;
  readonly tpotMs: number;
}
