import type { InferenceConstants } from "../constants-inference.ts";
import { stepTime } from "./forward.ts";
import type { StepTime } from "./forward.ts";
import { sequencesThatFit } from "./kv-cache.ts";
import type { BuiltReplica, Replica } from "./replica.ts";

/** Lengths of a request in tokens. */
export interface RequestShape {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Share of the prompt that is cached from earlier requests. */
  readonly prefixHitShare: number;
}

/** Mean number of tokens in the context of a decoding request: the whole prompt and, on average, half of the output. */
export function meanContext(request: RequestShape): number {
  return request.promptTokens + request.outputTokens / 2;
}

/**
 * Share of its output tokens for which a running request holds cache on average when the engine is full. It would be
 * 0.5 if requests were spread evenly over their output, and 1 if the engine reserved memory for each whole output.
 */
const keptOutputShare = 0.7;

/** Maximum number of running sequences. The cache and the engine's own limit bound it. */
export function batchLimit(replica: BuiltReplica, request: RequestShape): number {
  const held = request.promptTokens + request.outputTokens * keptOutputShare;
  const allowed = replica.engine.sequencesMax * replica.layout.attentionData;
  return Math.min(sequencesThatFit(replica, held), allowed);
}

export function decodeStep(replica: BuiltReplica, sequences: number, context: number, k: InferenceConstants): StepTime {
  return stepTime(
    replica,
    { decodeSequences: sequences, decodeContext: context, promptTokens: 0, promptContext: 0, promptsEnding: 0 },
    k,
  );
}

/**
 * Engine time of one prompt in ms, if every step is filled with prompt tokens up to the engine's limit. A short prompt
 * shares its step with other prompts; a long prompt takes several steps.
 */
export function promptMs(replica: BuiltReplica, request: RequestShape, k: InferenceConstants): number {
  const tokens = request.promptTokens * (1 - request.prefixHitShare);
  if (tokens <= 0) return 0;
  const filled = replica.engine.stepTokensMax * replica.layout.attentionData * replica.layout.pipeline;
  const work = {
    decodeSequences: 0,
    decodeContext: 0,
    promptTokens: filled,
    promptContext: request.promptTokens - tokens / 2,
    promptsEnding: filled / tokens,
  };
  return (stepTime(replica, work, k).totalMs * tokens) / filled;
}

/**
 * Time in ms from the start of a prompt to its first token. `decoding` is the number of running sequences that share
 * the steps. A prompt longer than a step's limit takes several steps.
 */
export function promptLatencyMs(
  replica: BuiltReplica,
  request: RequestShape,
  decoding: number,
  k: InferenceConstants,
): number {
  const tokens = Math.max(1, request.promptTokens * (1 - request.prefixHitShare));
  const steps = Math.ceil(tokens / replica.engine.stepTokensMax);
  const ranks = replica.layout.attentionData * replica.layout.pipeline;
  const work = {
    decodeSequences: decoding,
    decodeContext: meanContext(request),
    promptTokens: (tokens / steps) * ranks,
    promptContext: request.promptTokens - tokens / 2,
    promptsEnding: ranks / steps,
  };
  return steps * stepTime(replica, work, k).totalMs;
}

/** Time to the first token in ms. The parts add up to `totalMs`. */
export interface FirstToken {
  readonly frontEndMs: number;
  /** Time waiting for cache blocks. */
  readonly admissionMs: number;
  /** Time waiting for the steps before the prompt's first step, and for earlier prompts. */
  readonly queueMs: number;
  readonly promptMs: number;
  readonly totalMs: number;
}

export function firstTokenOf(parts: Omit<FirstToken, "totalMs">): FirstToken {
  return { ...parts, totalMs: parts.frontEndMs + parts.admissionMs + parts.queueMs + parts.promptMs };
}

/** The steady state of one engine under constant load. */
export interface SteadyState {
  readonly batch: number;
  /** Number of requests that wait for cache blocks. */
  readonly waiting: number;
  readonly ttftMs: number;
  readonly firstToken: FirstToken;
  /** Time per output token in ms. It is the sum of `stepMs` and `promptsMs`. */
  readonly tpotMs: number;
  readonly stepMs: number;
  /** Time waiting for the prompts of other requests. */
  readonly promptsMs: number;
  readonly outputTokensPerS: number;
}

/**
 * Share of the other requests' prompts for which a decoding request waits. If prompts share decoding steps, it waits
 * for all of them. If decoding stops for prompts, requests move in waves: after its first token a request waits only
 * for the prompts that come after its own, on average half of the wave.
 */
function promptWaitShare(replica: BuiltReplica): number {
  return replica.engine.isPromptMixed ? 1 : 0.5;
}

/**
 * Share of requests whose wait is that of a common start. A closed loop starts with all requests at once, and later
 * requests come one by one. Benchmark clients such as InferenceMAX and AIPerf send ten requests for each place in the
 * batch, so a tenth of them start together.
 */
export const firstWaveShare = 0.1;

/** The same share on disaggregated groups, whose published runs send about five requests for each place. */
export const firstWaveShareDisaggregated = 0.2;

/**
 * Number of decoding steps that pass before a request's prompt begins and until its first token is sent: the step that
 * is running when the request arrives, and the steps of further processes.
 */
export function firstTokenSteps({ engine }: Replica, k: InferenceConstants): number {
  return 1 + (engine.isRelayed ? k.relayedSteps : 0);
}

/**
 * Mean time in ms that a prompt waits for earlier prompts, by the M/D/1 queue (Pollaczek and Khinchine). `ownMs`: time
 * of a prompt. `busyShare`: share of time in which the engine is busy with prompts.
 */
export function promptWaitMs(ownMs: number, busyShare: number): number {
  return (busyShare * ownMs) / (2 * (1 - busyShare));
}

/**
 * Number of output tokens at which half of the requests that started together no longer end together. Clients that draw
 * lengths vary them by a share of the length, and delays of requests add up over their steps. SGLang's waits fall by a
 * fifth from 128 to 512 tokens on clients with equal lengths, and nearly vanish from 1,024 on with drawn lengths.
 */
const togetherTokens = 700;

/**
 * Share of the requests of a closed loop that end together with others, and whose successors therefore start together.
 * It falls with the length of the output.
 */
export function togetherShare({ outputTokens }: RequestShape): number {
  return 1 / (1 + (outputTokens / togetherTokens) ** 3);
}

/**
 * Time in ms that the prompts of other requests take in the steps around a request's own prompt, if `inFlight` requests
 * share an engine. A request starts when another one ends. If requests end together, their successors' prompts are in
 * the steps before and after each other.
 */
export function neighbourPromptsMs(
  replica: BuiltReplica,
  request: RequestShape,
  inFlight: number,
  k: InferenceConstants,
): number {
  const others = Math.max(0, inFlight - 1) / Math.max(1, inFlight);
  return togetherShare(request) * others * k.neighbourPrompts * promptLatencyMs(replica, request, 0, k);
}

/** The quantities of a closed loop that determine how long its prompts wait. */
interface PromptLoop {
  readonly batch: number;
  readonly ownMs: number;
  readonly request: RequestShape;
}

/**
 * Time in ms that a request of a closed loop waits for earlier prompts. Requests that start together wait for half of
 * the prompts of all others and, if prompts share decoding steps, for the decoding of those that have started. If
 * decoding stops for prompts, requests that end together also start together. All other requests wait only for prompts
 * that start at nearly the same time: while a prompt is computed, few requests end, so a closed loop builds no queue.
 */
function promptQueueMs(replica: BuiltReplica, firstWave: number, loop: PromptLoop, k: InferenceConstants): number {
  const { batch, ownMs, request } = loop;
  const othersMs = (batch - 1) * ownMs;
  const laterMs = neighbourPromptsMs(replica, request, batch, k);
  if (!replica.engine.isPromptMixed) {
    const together = togetherShare(request);
    const staggeredMs = (firstWave * othersMs) / 2 + (1 - firstWave) * Math.min(othersMs / 2, laterMs);
    return (together * othersMs) / 2 + (1 - together) * staggeredMs;
  }
  const promptsPerStep = Math.max(
    1,
    (replica.engine.stepTokensMax * replica.layout.attentionData) / request.promptTokens,
  );
  const decodingMs = decodeStep(replica, batch / 2, meanContext(request), k).totalMs / promptsPerStep;
  const waveMs = othersMs + (batch - 1) * decodingMs;
  return (firstWave * waveMs) / 2 + (1 - firstWave) * laterMs;
}

/** Steady state of a closed loop: `concurrency` requests are in flight, and when one ends, the next one starts. */
export function closedLoop(
  replica: BuiltReplica,
  request: RequestShape,
  concurrency: number,
  k: InferenceConstants,
): SteadyState {
  return closedRun(replica, request, { concurrency, firstWave: firstWaveShare }, k);
}

/**
 * A closed loop in which the share `firstWave` of the requests start together. Every running request waits for the
 * prompts that start during its life: (batch - 1) prompts.
 */
export function closedRun(
  replica: BuiltReplica,
  request: RequestShape,
  { concurrency, firstWave }: { readonly concurrency: number; readonly firstWave: number },
  k: InferenceConstants,
): SteadyState {
  const batch = Math.max(1, Math.min(concurrency, batchLimit(replica, request)));
  const step = decodeStep(replica, batch, meanContext(request), k).totalMs;
  const own = promptMs(replica, request, k);
  const promptsMs = (promptWaitShare(replica) * (batch - 1) * own) / request.outputTokens;
  const tpotMs = step + promptsMs;
  const perRequestMs = own + request.outputTokens * tpotMs;
  const waiting = Math.max(0, concurrency - batch);
  const firstToken = firstTokenOf({
    frontEndMs: k.requestOverheadMs,
    admissionMs: (waiting * perRequestMs) / batch,
    queueMs: firstTokenSteps(replica, k) * step + promptQueueMs(replica, firstWave, { batch, ownMs: own, request }, k),
    promptMs: promptLatencyMs(replica, request, replica.engine.isPromptMixed ? batch - 1 : 0, k),
  });
  return {
    batch,
    waiting,
    ttftMs: firstToken.totalMs,
    firstToken,
    tpotMs,
    stepMs: step,
    promptsMs,
    outputTokensPerS: (batch * request.outputTokens * 1000) / perRequestMs,
  };
}

/** One batch whose requests all start together and end together. */
export function staticBatch(
  replica: BuiltReplica,
  request: RequestShape,
  batch: number,
  k: InferenceConstants,
): SteadyState {
  const tpotMs = decodeStep(replica, batch, meanContext(request), k).totalMs;
  const promptsMs = batch * promptMs(replica, request, k);
  const alone = promptLatencyMs(replica, request, 0, k);
  const firstToken = firstTokenOf({
    frontEndMs: 0,
    admissionMs: 0,
    queueMs: Math.max(0, promptsMs - alone),
    promptMs: alone,
  });
  return {
    batch,
    waiting: 0,
    ttftMs: firstToken.totalMs,
    firstToken,
    tpotMs,
    stepMs: tpotMs,
    promptsMs: 0,
    outputTokensPerS: (batch * request.outputTokens * 1000) / (promptsMs + request.outputTokens * tpotMs),
  };
}

/**
 * Runs `requests` queued requests to their end. As many run at a time as fit. Because all have equal lengths, they run
 * in waves. The last wave is only partly filled but takes nearly as long as a full one.
 */
export function offlineRun(
  replica: BuiltReplica,
  request: RequestShape,
  requests: number,
  k: InferenceConstants,
): { readonly batch: number; readonly outputTokensPerS: number } {
  const batch = Math.max(1, Math.min(requests, batchLimit(replica, request)));
  const own = promptMs(replica, request, k);
  const waveMs = (size: number): number =>
    size * own + request.outputTokens * decodeStep(replica, size, meanContext(request), k).totalMs;
  const waves = Math.floor(requests / batch + 1e-9);
  const rest = requests - waves * batch;
  const totalMs = waves * waveMs(batch) + (rest >= 1 ? waveMs(rest) : 0);
  return { batch, outputTokensPerS: (1000 * requests * request.outputTokens) / totalMs };
}
