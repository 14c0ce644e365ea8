import type { BatchingLimits, StepCosts } from "@headroom/perf";
import type { RoutingPolicy } from "@headroom/routing";

/** Replicas that are alike. */
export interface ReplicaGroup {
  readonly name: string;
  readonly count: number;
  readonly acceleratorsPerReplica: number;
  readonly costs: StepCosts;
  readonly limits: BatchingLimits;
  readonly zone: string;
}

/** A store of prefix pages outside the engines, which all replicas share (Mooncake, LMCache): least recently used pages go. */
export interface PageStore {
  readonly pageCount: number;
  /** From the store into an engine, for each page, ms. */
  readonly pageLoadMs: number;
}

/** Models or adapters that replicas load when a request needs one that they do not hold. */
export interface AdapterLoading {
  /** How many a replica holds; the least recently used one goes. */
  readonly slots: number;
  readonly loadMs: number;
  /** The replica does nothing else meanwhile (a base model), or goes on (a LoRA adapter). */
  readonly isExclusive: boolean;
}

/** How a replica comes up. */
export interface Start {
  /** Every replica is ready when the first request comes, or begins to start with it. */
  readonly kind: "warm" | "cold";
  readonly coldStartMs: number;
}

/** One way to serve the traffic. */
export interface ServingVariant {
  readonly name: string;
  readonly groups: readonly ReplicaGroup[];
  readonly router: RoutingPolicy;
  /** Seed of the router's draws. */
  readonly seed: number;
  readonly start: Start;
  readonly store: PageStore | undefined;
  readonly adapters: AdapterLoading | undefined;
  /** Steps are scheduled while the one before runs. */
  readonly isScheduledAhead: boolean;
  /** Before the engine: front end, tokenisation, network. */
  readonly frontEndMs: number;
  readonly slo: ServingSlo;
}

/** What a request is promised. */
export interface ServingSlo {
  readonly ttftMs: number;
  readonly tpotMs: number;
}
