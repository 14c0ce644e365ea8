/**
 * The contract of the router. It gets replicas and requests, returns decisions with their numbers, and gets feedback. A
 * router is synchronous and deterministic: time comes in as `nowMs`, randomness as `RouterOptions.draw`. The gateway
 * and the serving simulator run the same router. The options limit the size of every table. Units: milliseconds,
 * tokens. "Work" is milliseconds of accelerator time.
 */

/**
 * Cost of serving on one replica, as data. The package `perf` supplies the values, and the router corrects them by
 * measurements. One engine step that decodes B sequences with K resident tokens and prefills P tokens takes `stepMs +
 * stepMsPerSequence * B + stepMsPerKvToken * K + prefillMsPerToken * P`, plus `prefillMsPerTokenSquared * P * (tokens
 * before them)` for attention.
 */
export interface LatencyCoefficients {
  readonly stepMs: number;
  readonly stepMsPerSequence: number;
  readonly stepMsPerKvToken: number;
  readonly prefillMsPerToken: number;
  readonly prefillMsPerTokenSquared?: number | undefined;
  /** Fixed cost of a request in ms before its first step: tokenisation, scheduling. */
  readonly requestMs: number;
}

/** Limits of the engine's batch. vLLM: `max_num_seqs`, `max_num_batched_tokens`, GPU blocks times block size, `max_loras`. */
export interface BatchLimits {
  readonly maxSequences: number;
  readonly maxBatchedTokens: number;
  readonly kvCapacityTokens: number;
  readonly maxAdapters: number;
}

export interface ReplicaSpec {
  /** Unique id. Session affinity hashes it, so every gateway process must use the same id for the same replica. */
  readonly id: string;
  readonly zone?: string | undefined;
  readonly region?: string | undefined;
  /** Relative capacity, 1 by default. Affinity policies distribute requests in proportion to it. */
  readonly weight?: number | undefined;
  readonly latency?: LatencyCoefficients | undefined;
  readonly limits?: Partial<BatchLimits> | undefined;
  /**
   * Network round trip in ms from this router to the replica. Without it, zone and region determine the round trip
   * (`RouterOptions.roundTripMs`).
   */
  readonly roundTripMs?: number | undefined;
}

/**
 * A `ready` replica receives requests. A `draining` one finishes the requests that it has. Replicas in other states
 * receive none.
 */
export type ReplicaHealth = "ready" | "starting" | "draining" | "unhealthy";

/** State that a replica reports about itself (vLLM metrics, the Gateway API model-server protocol). */
export interface ReplicaMetrics {
  readonly runningRequests?: number | undefined;
  readonly waitingRequests?: number | undefined;
  /** Used share of the KV cache, 0 to 1. */
  readonly kvUsage?: number | undefined;
  /** Names of the LoRA adapters that are loaded. */
  readonly adapters?: readonly string[] | undefined;
  /** Number of adapters that can be loaded at a time. `ReplicaSpec.limits` comes before it, also for the next field. */
  readonly maxAdapters?: number | undefined;
  /** Size of the KV cache in tokens. */
  readonly kvCapacityTokens?: number | undefined;
}

/**
 * Hashes of a prompt's prefixes, shortest first: `hashes[i]` covers the prompt's first `endTokens[i]` tokens. Integers
 * below 2^53. `count` entries are valid, so that a caller can reuse its arrays. `PrefixHasher` makes them from bytes.
 */
export interface PrefixBlocks {
  readonly hashes: Float64Array;
  readonly endTokens: Float64Array;
  readonly count: number;
}

export interface Slo {
  /** Objective for the time to the first token in ms, network round trip included. */
  readonly ttftMs?: number | undefined;
  /** Objective for the mean time per output token after the first, in ms. */
  readonly tpotMs?: number | undefined;
}

export interface RoutingRequest {
  readonly promptTokens: number;
  /** Expected number of output tokens. Without it, the mean of recent requests is used. */
  readonly expectedOutputTokens?: number | undefined;
  readonly prefix?: PrefixBlocks | undefined;
  /** Hash (`hashText`) of the session, conversation or user. */
  readonly sessionHash?: number | undefined;
  readonly adapter?: string | undefined;
  /** Zone and region of the client. */
  readonly zone?: string | undefined;
  readonly region?: string | undefined;
  /** Regions that may process the request (data residency). Without this field, all regions. */
  readonly allowedRegions?: readonly string[] | undefined;
  readonly slo?: Slo | undefined;
  /** Id of the only replica that can serve the request, because it holds state that the request refers to. */
  readonly only?: string | undefined;
  /** Ids of replicas that have already failed this request. */
  readonly excluded?: readonly string[] | undefined;
}

export const routingPolicies = [
  "round-robin",
  "least-requests",
  "least-work",
  "power-of-two",
  "prefix",
  "session",
  "predicted-latency",
] as const;
export type RoutingPolicy = (typeof routingPolicies)[number];

export interface RouterOptions {
  readonly policy: RoutingPolicy;
  /** The next pseudo-random 32-bit unsigned integer. */
  readonly draw: () => number;
  /**
   * Maximum ratio of a replica's load to the mean load up to which affinity applies to it. Default 1.25. With Infinity,
   * affinity always applies.
   */
  readonly loadBound?: number | undefined;
  /** Round trips by distance between the client and a replica, for replicas without `ReplicaSpec.roundTripMs`. */
  readonly roundTripMs?: RoundTrips | undefined;
  /**
   * Requests stay in the client's zone (region) while the load per weight there is at most this multiple of the load
   * per weight of all replicas. Default 1.5.
   */
  readonly localityBound?: number | undefined;
  /** Time in ms that a replica takes to load an adapter. Default 500. */
  readonly adapterLoadMs?: number | undefined;
  /** Maximum number of entries of the prefix index over all replicas, about 40 bytes each. Default 262,144. */
  readonly maxPrefixEntries?: number | undefined;
  /** Maximum number of replicas. Default 256. */
  readonly maxReplicas?: number | undefined;
}

export interface RoundTrips {
  readonly sameZone: number;
  readonly sameRegion: number;
  readonly otherRegion: number;
}

/** The rule that selected the replica. */
export type DecisionGround =
  | "only candidate"
  | "round robin"
  | "least load"
  | "lesser of two"
  | "prefix"
  | "session"
  | "adapter"
  | "meets SLO"
  | "least latency";

/** A replica and the numbers that selected it. */
export interface Chosen {
  readonly kind: "chosen";
  readonly replicaId: string;
  readonly ground: DecisionGround;
  /** Number of replicas that could take the request. The next field is the number of known replicas. */
  readonly candidateCount: number;
  readonly replicaCount: number;
  /**
   * Load of the replica before this request, in the unit that the policy compares. The next field is the mean load of
   * the candidates.
   */
  readonly load: number;
  readonly meanLoad: number;
  /** Number of candidates with better affinity that were skipped because of the load bound. */
  readonly overBoundCount: number;
  /** Number of prompt tokens that the router expects in the replica's cache. */
  readonly cachedTokens: number;
  readonly predictedTtftMs: number | undefined;
  readonly predictedTpotMs: number | undefined;
  /** Number of candidates whose prediction meets the request's SLO. Undefined if the request has no SLO. */
  readonly sloCandidateCount: number | undefined;
  readonly roundTripMs: number;
  /** Slot of the replica, used by `start`. */
  readonly slot: number;
}

/** No replica can take the request. The counts state how many replicas each reason excludes. */
export interface Unavailable {
  readonly kind: "unavailable";
  readonly replicaCount: number;
  readonly excluded: {
    readonly starting: number;
    readonly draining: number;
    readonly unhealthy: number;
    readonly region: number;
    readonly alreadyTried: number;
    /** Replicas besides `RoutingRequest.only`. */
    readonly others: number;
  };
}

export type Decision = Chosen | Unavailable;

/** A request that the router counts as load on a replica. Callers only pass it on. */
export interface Ticket {
  readonly replicaId: string;
}

/** The numbers of one candidate. */
export interface CandidateReport {
  readonly replicaId: string;
  readonly runningRequests: number;
  readonly waitingRequests: number;
  readonly pendingPrefillTokens: number;
  readonly residentTokens: number;
  readonly workMs: number;
  readonly cachedTokens: number;
  readonly roundTripMs: number;
  readonly hasAdapter: boolean;
  readonly predictedTtftMs: number;
  readonly predictedTpotMs: number;
}

/** Times in ms of a replica as its requests measured them, for a request of mean lengths. */
export interface MeasuredTimes {
  /** Time per output token of a request alone. */
  readonly tokenMs: number;
  /** Time of the prompt of a request alone. */
  readonly promptMs: number;
  /** Accelerator time of a request in a usual batch. */
  readonly workMs: number;
}

export interface Router {
  /** Adds a replica as `ready`. If the id is known, replaces the replica's specification and keeps its state. */
  addReplica(spec: ReplicaSpec): void;
  /** Removes a replica. Calls with its tickets are still allowed and have no effect. */
  removeReplica(id: string): void;
  setHealth(id: string, health: ReplicaHealth): void;
  /** Clears the prefixes and adapters of a replica whose process restarted. */
  forgetCache(id: string): void;
  /**
   * Takes in metrics that the replica reported at `nowMs`. Requests in excess of the router's own count belong to other
   * routers.
   */
  observe(id: string, metrics: ReplicaMetrics, nowMs: number): void;
  /** Takes in a measured network round trip to the replica. The shortest of the last eight counts. */
  observeRoundTrip(id: string, roundTripMs: number): void;

  /** Selects a replica. It changes no load; call `start` when the request is sent. */
  choose(request: RoutingRequest, nowMs: number): Decision;
  /** All candidates with their numbers, for traces and to explain why a replica was chosen. */
  explain(request: RoutingRequest, nowMs: number): readonly CandidateReport[];

  start(decision: Chosen, request: RoutingRequest, nowMs: number): Ticket;
  firstToken(ticket: Ticket, nowMs: number): void;
  /** Reports that `count` more output tokens arrived. The first token is included. */
  tokens(ticket: Ticket, count: number, nowMs: number): void;
  /**
   * Ends a request in any phase. Ending it twice changes nothing. With `failed`, the router learns nothing about the
   * replica's speed.
   */
  end(ticket: Ticket, outcome: "completed" | "cancelled" | "failed", nowMs: number): void;

  /** Times of a replica for requests of mean lengths. Undefined for an unknown id, and before enough were measured. */
  measuredTimes(id: string): MeasuredTimes | undefined;
  /** A replica's coefficients after correction by measurements. Undefined for an unknown id. */
  coefficients(id: string): LatencyCoefficients | undefined;
  readonly replicaCount: number;
}
