import type { InferenceConstants } from "../constants-inference.ts";
import {
  batchLimit,
  closedRun,
  decodeStep,
  firstTokenOf,
  firstTokenSteps,
  meanContext,
  promptLatencyMs,
  promptMs,
  promptWaitMs,
} from "./batching.ts";
import type { FirstToken, RequestShape, SteadyState } from "./batching.ts";
import type { BuiltReplica } from "./replica.ts";

/** An engine under requests that arrive at random (Poisson) at a given rate. */
export type OpenLoopState =
  | {
      readonly kind: "steady";
      readonly batch: number;
      readonly batchLimit: number;
      /** Request rate as a share of the largest rate that the engine can sustain. */
      readonly utilisation: number;
      readonly firstToken: FirstToken;
      readonly tpotMs: number;
      readonly outputTokensPerS: number;
    }
  | { readonly kind: "overloaded"; readonly requestsPerSMax: number };

/** Number of bisection steps of the search for a batch. They determine the batch to a millionth of a sequence. */
const searchSteps = 32;

/**
 * Time per token in ms with `batch` running sequences, while prompts take the share `promptShare` of the engine's time.
 * Decoding gets the rest of the time.
 */
function tokenMs(
  replica: BuiltReplica,
  request: RequestShape,
  load: { readonly batch: number; readonly promptShare: number },
  k: InferenceConstants,
): number {
  const step = decodeStep(replica, load.batch, meanContext(request), k).totalMs;
  return step / Math.max(1e-9, 1 - load.promptShare);
}

/**
 * Function that returns the number of requests per second that the engine finishes with a given number of running
 * requests. It is Little's law, with the time of the prompts included.
 */
function finishedPerS(replica: BuiltReplica, request: RequestShape, k: InferenceConstants): (batch: number) => number {
  const promptsMs = promptMs(replica, request, k);
  const context = meanContext(request);
  return (batch) => {
    const stepMs = decodeStep(replica, batch, context, k).totalMs;
    return (1000 * batch) / (request.outputTokens * stepMs + batch * promptsMs);
  };
}

/** Maximum request rate of a replica. At this rate as many sequences run as fit. */
export function requestsPerSMax(replica: BuiltReplica, request: RequestShape, k: InferenceConstants): number {
  const decodeBound = finishedPerS(replica, request, k)(batchLimit(replica, request));
  const own = promptMs(replica, request, k);
  return own > 0 ? Math.min(decodeBound, 1000 / own) : decodeBound;
}

/**
 * Mean number of requests that wait for one of `places` places of which `busy` are occupied on average (Sakasegawa,
 * Annals of the Institute of Statistical Mathematics 29, 1977). The formula is exact for one place. For many places it
 * differs by a few percent from Erlang's C formula.
 */
function waitingForPlace(places: number, busy: number): number {
  const utilisation = Math.min(busy / places, 1 - 1e-9);
  return utilisation ** Math.sqrt(2 * (places + 1)) / (1 - utilisation);
}

/**
 * Longest wait among a share of the requests, as a multiple of the mean wait, if waits have an exponential distribution
 * (Kleinrock, Queueing Systems I, 1975, §5).
 */
export function waitingTail(share: number): number {
  return Math.max(1, -Math.log(1 - share));
}

/**
 * The steady state at a request rate. The batch follows from Little's law. Prompts queue for the engine by M/D/1
 * (Pollaczek and Khinchine), after the steps that are running. If the cache is full, requests also wait for a place in
 * the batch.
 */
export function openLoop(
  replica: BuiltReplica,
  request: RequestShape,
  requestsPerS: number,
  k: InferenceConstants,
): OpenLoopState {
  const limit = batchLimit(replica, request);
  const most = limit >= 1 ? requestsPerSMax(replica, request, k) : 0;
  if (requestsPerS >= most) return { kind: "overloaded", requestsPerSMax: most };
  let low = 0;
  let high = limit;
  const finished = finishedPerS(replica, request, k);
  for (let index = 0; index < searchSteps; index += 1) {
    const middle = (low + high) / 2;
    if (finished(middle) < requestsPerS) low = middle;
    else high = middle;
  }
  const batch = high;
  const promptShare = (requestsPerS * promptMs(replica, request, k)) / 1000;
  const tpotMs = tokenMs(replica, request, { batch, promptShare }, k);
  const own = promptLatencyMs(replica, request, batch, k);
  const stepMs = decodeStep(replica, batch, meanContext(request), k).totalMs;
  const queueMs = promptWaitMs(own, promptShare) + firstTokenSteps(replica, k) * stepMs;
  const admissionMs = (1000 * waitingForPlace(limit, batch)) / requestsPerS;
  return {
    kind: "steady",
    batch,
    batchLimit: limit,
    utilisation: requestsPerS / most,
    firstToken: firstTokenOf({ frontEndMs: k.requestOverheadMs, admissionMs, queueMs, promptMs: own }),
    tpotMs,
    outputTokensPerS: requestsPerS * request.outputTokens,
  };
}

/**
 * A run of `requests` requests that arrive at a rate. At most `most` of them run at a time. The number of running
 * requests is its mean from the first arrival to the last end (Little's law). If this number would exceed the places,
 * later requests wait in a queue that grows at a constant rate (a fluid queue).
 */
export function finiteRun(
  replica: BuiltReplica,
  request: RequestShape,
  run: { readonly requestsPerS: number; readonly requests: number; readonly most: number },
  k: InferenceConstants,
): SteadyState {
  const { requests } = run;
  const arrivalsMs = (1000 * requests) / run.requestsPerS;
  const places = Math.max(1, Math.min(run.most, batchLimit(replica, request)));
  const at = (batch: number): SteadyState => closedRun(replica, request, { concurrency: batch, firstWave: 0 }, k);
  const lifeMs = ({ batch, outputTokensPerS }: SteadyState): number =>
    (1000 * batch * request.outputTokens) / outputTokensPerS;
  const running = (life: number): number => (requests * life) / (arrivalsMs + life);
  const full = at(places);
  if (running(lifeMs(full)) >= places) {
    const growthMs = Math.max(0, lifeMs(full) / places - arrivalsMs / requests);
    const admissionMs = (Math.max(0, requests - places) ** 2 / (2 * requests)) * growthMs;
    const firstToken = firstTokenOf({ ...full.firstToken, admissionMs });
    return { ...full, firstToken, ttftMs: firstToken.totalMs };
  }
  let [low, high] = [Math.min(1, places), places];
  for (let index = 0; index < searchSteps; index += 1) {
    const middle = (low + high) / 2;
    if (running(lifeMs(at(middle))) > middle) low = middle;
    else high = middle;
  }
  const state = at(high);
  const outputTokensPerS = (1000 * requests * request.outputTokens) / (arrivalsMs + lifeMs(state));
  return { ...state, outputTokensPerS };
}

/** Latencies that the share `share` of the requests does not exceed. */
export interface LatencyQuantile {
  readonly ttftMs: number;
  readonly tpotMs: number;
}

/**
 * Quantiles of the time to the first token and the time per token in a steady state. Waits have an exponential tail.
 * The number of requests that run at the same time has a Poisson distribution around its mean, as in a system of many
 * servers.
 */
export function latencyQuantile(
  replica: BuiltReplica,
  request: RequestShape,
  load: { readonly requestsPerS: number; readonly share: number },
  k: InferenceConstants,
): LatencyQuantile | undefined {
  const state = openLoop(replica, request, load.requestsPerS, k);
  if (state.kind === "overloaded") return undefined;
  const promptShare = (load.requestsPerS * promptMs(replica, request, k)) / 1000;
  const batch = Math.min(state.batchLimit, state.batch + normalQuantile(load.share) * Math.sqrt(state.batch));
  const tail = waitingTail(load.share);
  const { admissionMs, queueMs, promptMs: ownMs, frontEndMs } = state.firstToken;
  const tpotMs = tokenMs(replica, request, { batch: Math.max(state.batch, batch), promptShare }, k);
  return { ttftMs: (admissionMs + queueMs) * tail + ownMs + frontEndMs, tpotMs };
}

/**
 * Quantile of the normal distribution, for shares of at least one half (Abramowitz and Stegun 26.2.23, error below
 * 4.5e-4).
 */
function normalQuantile(share: number): number {
  if (share <= 0.5) return 0;
  const t = Math.sqrt(-2 * Math.log(1 - share));
  const above = 2.515517 + t * (0.802853 + t * 0.010328);
  const below = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
  return t - above / below;
}
