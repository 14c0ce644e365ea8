/** The contract of scaling policies: their observations and answers. A policy is asked once in each tick of the endpoint. */

/** The state of an endpoint at a tick. Counts of requests and tokens are those since the last tick. */
export interface EndpointSample {
  readonly nowMs: number;
  readonly tickMs: number;
  /** Replicas that take requests; replicas that are starting. Draining replicas are in neither number. */
  readonly ready: number;
  readonly starting: number;
  readonly arrivals: number;
  readonly arrivedPromptTokens: number;
  /** Requests that ended, and the output tokens that they had. */
  readonly ended: number;
  readonly endedOutputTokens: number;
  /** Requests that are waiting or running, those that wait for a first replica included. */
  readonly inFlight: number;
  /** Those of them that have no token yet, and their prompt tokens. */
  readonly waiting: number;
  readonly waitingPromptTokens: number;
  /** Requests whose fate is known since the last tick: within the objectives, or not. */
  readonly met: number;
  readonly missed: number;
  /** Mean time to the first token in ms of the requests that got it since the last tick; NaN if there is none. */
  readonly ttftMs: number;
  /** Latencies of the requests that ended in the last minute; `null`: there are none. */
  latencies?(): RecentLatencies | null;
  /** Time in ms that the last starts of a replica took. */
  readonly coldStartMs: number;
}

export interface RecentLatencies {
  readonly ttft: LatencyQuantiles;
  readonly tpot: LatencyQuantiles;
  /** Time in ms to the first token for each prompt token, below which a tenth of the requests were. */
  readonly promptTokenMs: number;
}

export interface LatencyQuantiles {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** Number of requests behind the figures. */
  readonly requests: number;
}

export interface ScaleDecision {
  /** Number of replicas that should be ready or starting. */
  readonly replicas: number;
  /** The numbers that decided. */
  readonly reason: string;
}

export interface Autoscaler {
  readonly name: string;
  decide(sample: EndpointSample): ScaleDecision;
}

/** Bounds of an endpoint: quota, budget and fleet are in `max`. */
export interface ReplicaBounds {
  readonly min: number;
  readonly max: number;
}

export function bounded(replicas: number, { min, max }: ReplicaBounds): number {
  // A policy whose arithmetic fails keeps the least rather than nothing or everything.
  if (!Number.isFinite(replicas)) return replicas === Infinity ? max : min;
  return Math.min(max, Math.max(min, Math.ceil(replicas)));
}
