import type { InferenceConstants } from "../constants-inference.ts";
import { batchLimit, decodeStep, firstTokenOf, meanContext, promptLatencyMs, promptMs } from "./batching.ts";
import type { FirstToken, RequestShape } from "./batching.ts";
import type { BuiltReplica } from "./replica.ts";

/** An engine under requests that arrive at random (Poisson) at a given rate. */
export type OpenLoopState =
  | {
      readonly kind: "steady";
      readonly batch: number;
      readonly batchLimit: number;
      /** Share of the largest sustainable batch that runs on average. */
      readonly utilisation: number;
      readonly firstToken: FirstToken;
      readonly tpotMs: number;
      readonly outputTokensPerS: number;
    }
  | { readonly kind: "overloaded"; readonly requestsPerSMax: number };

/** Halvings of the search for a batch: to a millionth of a sequence. */
const searchSteps = 32;

/**
 * Time per token with `batch` sequences running while prompts take `promptShare` of the engine's time: decoding gets what
 * the prompts leave.
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

/** Requests per second that the engine finishes by the number that runs: Little's law with the prompts' share. */
function finishedPerS(replica: BuiltReplica, request: RequestShape, k: InferenceConstants): (batch: number) => number {
  const promptsMs = promptMs(replica, request, k);
  const context = meanContext(request);
  return (batch) => {
    const stepMs = decodeStep(replica, batch, context, k).totalMs;
    return (1000 * batch) / (request.outputTokens * stepMs + batch * promptsMs);
  };
}

/** Requests per second that a replica can take at most, every sequence that fits running. */
export function requestsPerSMax(replica: BuiltReplica, request: RequestShape, k: InferenceConstants): number {
  const decodeBound = finishedPerS(replica, request, k)(batchLimit(replica, request));
  const own = promptMs(replica, request, k);
  return own > 0 ? Math.min(decodeBound, 1000 / own) : decodeBound;
}

/**
 * Mean number that waits for a free place of `places` at `busy` mean occupied ones (Sakasegawa, Annals of the Institute of
 * Statistical Mathematics 29, 1977): exact for one server, within a few percent of Erlang's C formula for many.
 */
function waitingForPlace(places: number, busy: number): number {
  const utilisation = Math.min(busy / places, 1 - 1e-9);
  return utilisation ** Math.sqrt(2 * (places + 1)) / (1 - utilisation);
}

/** Mean wait for the prompts before one's own as in M/D/1 (Pollaczek and Khinchine): own time, share that is busy. */
export function promptWaitMs(ownMs: number, busyShare: number): number {
  return (busyShare * ownMs) / (2 * (1 - busyShare));
}

/** How many mean waits lie below the wait of a promised share: exponential (Kleinrock, Queueing Systems I, 1975, §5). */
export function waitingTail(share: number): number {
  return Math.max(1, -Math.log(1 - share));
}

/**
 * The steady state at a request rate. The batch follows from Little's law; prompts queue for the engine as in M/D/1
 * (Pollaczek and Khinchine), behind the steps under way; a full cache lets requests wait for a place.
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
  const queueMs = promptWaitMs(own, promptShare) + k.firstTokenSteps * stepMs;
  const admissionMs = (1000 * waitingForPlace(limit, batch)) / requestsPerS;
  return {
    kind: "steady",
    batch,
    batchLimit: limit,
    utilisation: requestsPerS / most,
    firstToken: firstTokenOf({ frontEndMs: k.frontEndMs, admissionMs, queueMs, promptMs: own }),
    tpotMs,
    outputTokensPerS: requestsPerS * request.outputTokens,
  };
}

/** Latencies that `share` of the requests stay below. */
export interface LatencyQuantile {
  readonly ttftMs: number;
  readonly tpotMs: number;
}

/**
 * Quantiles of the two latencies in a steady state. Waiting has an exponential tail, and the number that runs beside a request is Poisson about its mean, as in a system of many servers.
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

/** Quantile of the normal distribution for shares of a half and more (Abramowitz and Stegun 26.2.23, error below 4.5e-4). */
function normalQuantile(share: number): number {
  if (share <= 0.5) return 0;
  const t = Math.sqrt(-2 * Math.log(1 - share));
  const above = 2.515517 + t * (0.802853 + t * 0.010328);
  const below = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
  return t - above / below;
}
