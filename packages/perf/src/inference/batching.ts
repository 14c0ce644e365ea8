import { frontEndMs, type InferenceConstants } from "../constants-inference.ts";
import { stepTime } from "./forward.ts";
import type { StepTime } from "./forward.ts";
import { sequencesThatFit } from "./kv-cache.ts";
import type { BuiltReplica, Replica } from "./replica.ts";

/** Lengths of a request, tokens. */
export interface RequestShape {
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Share of the prompt that is cached from earlier requests. */
  readonly prefixHitShare: number;
}

/** Mean context of a decoding request: the whole prompt and, on average, half of its output. */
export function meanContext(request: RequestShape): number {
  return request.promptTokens + request.outputTokens / 2;
}

/**
 * Share of the output tokens that a running request occupies on average when the engine is full: 0.5 if outputs were
 * spread evenly over their progress, 1 if the engine reserved memory for each whole output.
 */
const keptOutputShare = 0.7;

/** Maximum number of running sequences, bounded by the cache and by the engine's limit. */
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
 * Engine time of one prompt in ms, if steps are filled with prompt tokens up to the engine's limit: a short prompt
 * shares its step with others, a long one takes several steps.
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
 * Time in ms from the start of a prompt to its first token, on an engine with `decoding` running sequences in the same
 * steps. A prompt longer than a step's limit takes several steps.
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

/** Time to the first token in ms; the parts add up to `totalMs`. */
export interface FirstToken {
  readonly frontEndMs: number;
  /** Wait for cache blocks. */
  readonly admissionMs: number;
  /** Wait for the steps before the prompt's first step, and for earlier prompts. */
  readonly queueMs: number;
  readonly promptMs: number;
  readonly totalMs: number;
}

export function firstTokenOf(parts: Omit<FirstToken, "totalMs">): FirstToken {
  return { ...parts, totalMs: parts.frontEndMs + parts.admissionMs + parts.queueMs + parts.promptMs };
}

/** A steady state of one engine. */
export interface SteadyState {
  readonly batch: number;
  /** Number of requests that wait for cache blocks. */
  readonly waiting: number;
  readonly ttftMs: number;
  readonly firstToken: FirstToken;
  /** Time per output token in ms; `stepMs` and `promptsMs` add up to it. */
  readonly tpotMs: number;
  readonly stepMs: number;
  /** Wait for the prompts of other requests. */
  readonly promptsMs: number;
  readonly outputTokensPerS: number;
}

/**
 * Share of other requests' prompts that a decoding request waits for: all of them if prompts share decoding steps. If
 * decoding stops for prompts, requests move in waves, and a request waits after its first token for the half of the
 * wave behind it.
 */
function promptWaitShare(replica: BuiltReplica): number {
  return replica.engine.isPromptMixed ? 1 : 0.5;
}

/**
 * Share of the initial wait that remains in the mean. A closed loop starts with all requests at once, and later
 * requests come one by one: with ten requests per place, as the benchmark clients of InferenceMAX and AIPerf send, a
 * tenth remains.
 */
export const firstWaveShare = 0.1;

/** Steps that pass before a request's prompt begins and until its token is sent. */
export function firstTokenSteps({ engine }: Replica, k: InferenceConstants): number {
  return k.firstTokenSteps * (engine.isRelayed ? k.relayedStepFactor : 1);
}

/**
 * Mean wait in ms for earlier prompts by M/D/1 (Pollaczek and Khinchine). `ownMs`: time of a prompt; `busyShare`: share
 * of time that the engine is busy with prompts.
 */
export function promptWaitMs(ownMs: number, busyShare: number): number {
  return (busyShare * ownMs) / (2 * (1 - busyShare));
}

/**
 * Spread of the lengths of requests that benchmark clients draw, as a share of the length. Requests that start together end
 * within this share of the steps of an output.
 */
const lengthSpread = 0.1;

/**
 * Prompts of other requests in the steps around a request's prompt, ms, if `inFlight` requests share an engine. A
 * request follows one that has just ended, so its neighbours' prompts lie next to its own: in every step if more requests
 * end than there are steps to end in.
 */
export function neighbourPromptsMs(
  replica: BuiltReplica,
  request: RequestShape,
  inFlight: number,
  k: InferenceConstants,
): number {
  const others = Math.max(0, inFlight - 1);
  const share = Math.min(others / Math.max(1, inFlight), others / (lengthSpread * request.outputTokens));
  return share * k.neighbourPrompts * promptLatencyMs(replica, request, 0, k);
}

/** A closed loop from the view of its prompts. */
interface PromptLoop {
  readonly batch: number;
  readonly ownMs: number;
  readonly perRequestMs: number;
  readonly request: RequestShape;
}

/**
 * Wait of a closed loop's request for earlier prompts, ms. Requests that start together wait for half of all others' prompts and
 * for the decoding of those that started; if decoding stops for prompts, they also end and return together. Later ones
 * queue as in an open loop, beside their neighbours' prompts.
 */
function promptQueueMs(replica: BuiltReplica, firstWave: number, loop: PromptLoop, k: InferenceConstants): number {
  const { batch, ownMs, request } = loop;
  const othersMs = (batch - 1) * ownMs;
  if (!replica.engine.isPromptMixed) return othersMs / 2;
  const promptsPerStep = Math.max(
    1,
    (replica.engine.stepTokensMax * replica.layout.attentionData) / request.promptTokens,
  );
  const decodingMs = decodeStep(replica, batch / 2, meanContext(request), k).totalMs / promptsPerStep;
  const waveMs = othersMs + (batch - 1) * decodingMs;
  const busyShare = Math.min(0.99, othersMs / loop.perRequestMs);
  const laterMs =
    Math.min(othersMs / 2, promptWaitMs(ownMs, busyShare)) + neighbourPromptsMs(replica, request, batch, k);
  return (firstWave * waveMs) / 2 + (1 - firstWave) * laterMs;
}

/** Keeps `concurrency` requests in flight for long; the next one follows when one ends. */
export function closedLoop(
  replica: BuiltReplica,
  request: RequestShape,
  concurrency: number,
  k: InferenceConstants,
): SteadyState {
  return closedRun(replica, request, { concurrency, firstWave: firstWaveShare }, k);
}

/**
 * A closed loop of which `firstWave` is the share of requests that start together. Every running request waits for the
 * prompts of those that start meanwhile: (batch - 1) prompts per lifetime of a request.
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
    frontEndMs,
    admissionMs: (waiting * perRequestMs) / batch,
    queueMs:
      firstTokenSteps(replica, k) * step +
      promptQueueMs(replica, firstWave, { batch, ownMs: own, perRequestMs, request }, k),
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

/** Runs one batch whose requests all start together and end together. */
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
 * Runs `requests` queued requests to their end, as many at a time as fit. Equal lengths keep them in waves, and the
 * last, partial wave costs nearly as much as a full one.
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
