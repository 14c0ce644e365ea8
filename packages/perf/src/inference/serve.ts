import { fittedInference } from "../constants-inference.ts";
import type { InferenceConstants } from "../constants-inference.ts";
import { ignorance } from "./abstention.ts";
import type { Ignorance } from "./abstention.ts";
import { batchLimit, closedLoop, decodeStep, meanContext, staticBatch } from "./batching.ts";
import type { FirstToken, RequestShape } from "./batching.ts";
import { servingEvidenceFor, servingKindOf } from "./evidence.ts";
import type { ServingEvidenceReading } from "./evidence.ts";
import { obstacles } from "./feasibility.ts";
import type { Obstacle } from "./feasibility.ts";
import type { StepTime } from "./forward.ts";
import { interval80, intervalWidth } from "./interval.ts";
import type { Interval } from "./interval.ts";
import { servingMemory } from "./kv-cache.ts";
import type { ServingMemory } from "./kv-cache.ts";
import { openLoop } from "./queueing.ts";
import { buildReplica } from "./replica.ts";
import type { BuiltReplica, Replica } from "./replica.ts";

/** Load on a replica, in one of three forms. */
export type ServingLoad =
  /** A constant number of requests in flight: when a request ends, a new one replaces it. */
  | { readonly kind: "concurrency"; readonly requests: number }
  /** Requests that arrive at random with a given mean rate. */
  | { readonly kind: "rate"; readonly requestsPerS: number }
  /** One batch of requests that start together and end together. */
  | { readonly kind: "batch"; readonly sequences: number };

export type ServingAnswer =
  | ({ readonly kind: "prediction" } & ServingPrediction)
  /** The rate exceeds what the replica can sustain, so queues grow without end. */
  | { readonly kind: "overloaded"; readonly requestsPerSMax: number; readonly memory: ServingMemory }
  | { readonly kind: "impossible"; readonly obstacles: readonly Obstacle[] }
  | { readonly kind: "unknown"; readonly reasons: readonly Ignorance[] };

export interface ServingPrediction {
  readonly memory: ServingMemory;
  readonly batch: number;
  readonly batchLimit: number;
  readonly firstToken: FirstToken;
  readonly tpotMs: number;
  /** Range that contains four of five measurements of the time per token. */
  readonly tpotInterval: Interval;
  readonly ttftInterval: Interval;
  /** Distance of this replica from measured replicas. */
  readonly evidence: ServingEvidenceReading;
  readonly outputTokensPerS: number;
  /** The time of a decoding step at this batch, by cause. */
  readonly step: StepTime;
}

interface LoadedState {
  readonly batch: number;
  readonly firstToken: FirstToken;
  readonly tpotMs: number;
  readonly outputTokensPerS: number;
}

function underLoad(
  replica: BuiltReplica,
  request: RequestShape,
  load: ServingLoad,
  k: InferenceConstants,
): LoadedState | { readonly requestsPerSMax: number } {
  switch (load.kind) {
    case "concurrency":
      return closedLoop(replica, request, load.requests, k);
    case "batch":
      return staticBatch(replica, request, load.sequences, k);
    case "rate":
      return openLoop(replica, request, load.requestsPerS, k);
  }
}

function loadObstacle(load: ServingLoad, limit: number): Obstacle | undefined {
  const amount = load.kind === "rate" ? load.requestsPerS : load.kind === "batch" ? load.sequences : load.requests;
  if (!(amount > 0)) return { kind: "count", message: `a load of ${amount} is none` };
  if (load.kind !== "batch" || load.sequences <= limit) return undefined;
  return { kind: "cache", message: `${load.sequences} sequences do not fit together; ${Math.floor(limit)} do` };
}

/**
 * Predicts the latencies, rates, memory and cost shares of a replica under a load. If no prediction is possible,
 * returns the reason.
 */
export function serve(
  replica: Replica,
  request: RequestShape,
  load: ServingLoad,
  k: InferenceConstants = fittedInference,
): ServingAnswer {
  const found = obstacles(replica, request);
  if (found.length > 0) return { kind: "impossible", obstacles: found };
  const unknown = ignorance(replica);
  if (unknown.length > 0) return { kind: "unknown", reasons: unknown };
  const built = buildReplica(replica);
  const limit = batchLimit(built, request);
  const tooMuch = loadObstacle(load, limit);
  if (tooMuch !== undefined) return { kind: "impossible", obstacles: [tooMuch] };
  const memory = servingMemory(built);
  const state = underLoad(built, request, load, k);
  if ("requestsPerSMax" in state) return { kind: "overloaded", requestsPerSMax: state.requestsPerSMax, memory };
  const evidence = servingEvidenceFor(servingKindOf(built));
  return {
    kind: "prediction",
    memory,
    batch: state.batch,
    batchLimit: limit,
    firstToken: state.firstToken,
    tpotMs: state.tpotMs,
    tpotInterval: interval80(state.tpotMs, intervalWidth(built, "step", evidence, k)),
    ttftInterval: interval80(state.firstToken.totalMs, intervalWidth(built, "firstToken", evidence, k)),
    evidence,
    outputTokensPerS: state.outputTokensPerS,
    step: decodeStep(built, state.batch, meanContext(request), k),
  };
}
