/**
 * A small model of engines with continuous batching and chunked prefill behind a router, for the router's own
 * benchmarks. Each engine runs steps: a step decodes every running sequence and prefills up to `maxBatchedTokens`. Its
 * duration follows from the coefficients, times a factor that the router does not know. Prefix caches are LRU lists of
 * blocks.
 */
import { PrefixIndex } from "../src/index.ts";
import type {
  BatchLimits,
  Chosen,
  LatencyCoefficients,
  PrefixBlocks,
  Router,
  RoutingRequest,
  Ticket,
} from "../src/index.ts";

export interface EngineSetting {
  readonly id: string;
  readonly coefficients: LatencyCoefficients;
  readonly limits: BatchLimits;
  /** Tokens in the prefix cache. */
  readonly cacheTokens: number;
  readonly roundTripMs: number;
}

export interface Arrival {
  readonly atMs: number;
  readonly request: RoutingRequest;
  readonly outputTokens: number;
}

/** The outcome of one request. */
export interface Served {
  readonly arrival: Arrival;
  readonly replicaId: string;
  readonly decision: Chosen;
  cachedTokens: number;
  ttftMs: number;
  tpotMs: number;
}

interface Sequence {
  readonly served: Served;
  readonly ticket: Ticket;
  prefillLeft: number;
  outputLeft: number;
  contextTokens: number;
  firstTokenMs: number;
}

class Engine {
  readonly setting: EngineSetting;
  readonly #cache = new PrefixIndex(1 << 18, 1);
  readonly #matched = new Float64Array(1);
  readonly waiting: Sequence[] = [];
  readonly running: Sequence[] = [];
  kvTokens = 0;
  stepEndsMs = Infinity;
  busyMs = 0;

  constructor(setting: EngineSetting) {
    this.setting = setting;
    this.#cache.setCapacity(0, setting.cacheTokens);
  }

  /** Starts a step at `nowMs` if there is work. */
  begin(nowMs: number): void {
    const { limits, coefficients } = this.setting;
    this.#admit();
    if (this.running.length === 0) {
      this.stepEndsMs = Infinity;
      return;
    }
    let decoding = 0;
    for (const sequence of this.running) if (sequence.prefillLeft === 0) decoding += 1;
    let budget = Math.max(limits.maxBatchedTokens - decoding, 1);
    let prefilled = 0;
    for (const sequence of this.running) {
      if (sequence.prefillLeft === 0) continue;
      const part = Math.min(sequence.prefillLeft, budget);
      // A negative value states that the prefill ends in this step.
      sequence.prefillLeft = part === sequence.prefillLeft ? -1 : sequence.prefillLeft - part;
      budget -= part;
      prefilled += part;
      if (budget === 0) break;
    }
    const { stepMs, stepMsPerSequence, stepMsPerKvToken, prefillMsPerToken } = coefficients;
    const durationMs =
      stepMs + stepMsPerSequence * decoding + stepMsPerKvToken * this.kvTokens + prefillMsPerToken * prefilled;
    this.busyMs += durationMs;
    this.stepEndsMs = nowMs + durationMs;
  }

  #admit(): void {
    const { limits } = this.setting;
    while (this.waiting.length > 0 && this.running.length < limits.maxSequences) {
      const sequence = this.waiting[0] as Sequence;
      const { request } = sequence.served.arrival;
      const needed = request.promptTokens + sequence.outputLeft;
      if (this.running.length > 0 && this.kvTokens + needed > limits.kvCapacityTokens) return;
      this.waiting.shift();
      sequence.served.cachedTokens = this.#cached(request.prefix, request.promptTokens);
      sequence.prefillLeft = request.promptTokens - sequence.served.cachedTokens;
      sequence.contextTokens = needed;
      this.kvTokens += needed;
      this.running.push(sequence);
    }
  }

  #cached(prefix: PrefixBlocks | undefined, promptTokens: number): number {
    if (prefix === undefined) return 0;
    this.#cache.match(prefix, this.#matched);
    this.#cache.touch(0, prefix);
    return Math.min(this.#matched[0] as number, promptTokens - 1);
  }

  /** Ends the step: every decoding sequence gets one more token, and finished prefills get their first one. */
  end(router: Router, done: Served[]): void {
    const nowMs = this.stepEndsMs;
    const halfTripMs = this.setting.roundTripMs / 2;
    for (let index = this.running.length - 1; index >= 0; index -= 1) {
      const sequence = this.running[index] as Sequence;
      if (sequence.prefillLeft > 0) continue;
      if (sequence.prefillLeft < 0) {
        sequence.prefillLeft = 0;
        sequence.firstTokenMs = nowMs;
        sequence.served.ttftMs = nowMs + halfTripMs - sequence.served.arrival.atMs;
        router.firstToken(sequence.ticket, nowMs + halfTripMs);
      }
      router.tokens(sequence.ticket, 1, nowMs + halfTripMs);
      sequence.outputLeft -= 1;
      if (sequence.outputLeft > 0) continue;
      const decoded = sequence.served.arrival.outputTokens - 1;
      sequence.served.tpotMs = decoded === 0 ? 0 : (nowMs - sequence.firstTokenMs) / decoded;
      router.end(sequence.ticket, "completed", nowMs + halfTripMs);
      done.push(sequence.served);
      this.kvTokens -= sequence.contextTokens;
      this.running.splice(index, 1);
    }
    this.begin(nowMs);
  }
}

export interface Outcome {
  readonly served: readonly Served[];
  readonly busyMs: ReadonlyMap<string, number>;
  readonly endMs: number;
}

/** Sends the arrivals, which must be in order of time, through the router to its engines. */
export function serve(router: Router, settings: readonly EngineSetting[], arrivals: readonly Arrival[]): Outcome {
  const engines = settings.map((setting) => new Engine(setting));
  const byId = new Map(engines.map((engine) => [engine.setting.id, engine]));
  const served: Served[] = [];
  let endMs = 0;
  let next = 0;
  for (;;) {
    let first: Engine | undefined;
    for (const engine of engines) if (engine.stepEndsMs < (first?.stepEndsMs ?? Infinity)) first = engine;
    const arrival = arrivals[next];
    if (arrival === undefined && first === undefined) break;
    if (arrival === undefined || (first !== undefined && first.stepEndsMs <= arrival.atMs)) {
      endMs = (first as Engine).stepEndsMs;
      (first as Engine).end(router, served);
      continue;
    }
    next += 1;
    send(router, byId, arrival);
  }
  return { served, busyMs: new Map(engines.map((engine) => [engine.setting.id, engine.busyMs])), endMs };
}

function send(router: Router, engines: ReadonlyMap<string, Engine>, arrival: Arrival): void {
  const decision = router.choose(arrival.request, arrival.atMs);
  if (decision.kind !== "chosen") throw new Error("no replica");
  const ticket = router.start(decision, arrival.request, arrival.atMs);
  const engine = engines.get(decision.replicaId) as Engine;
  const served = { arrival, replicaId: decision.replicaId, decision, cachedTokens: 0, ttftMs: 0, tpotMs: 0 };
  const outputLeft = arrival.outputTokens;
  engine.waiting.push({ served, ticket, prefillLeft: 0, outputLeft, contextTokens: 0, firstTokenMs: 0 });
  if (engine.stepEndsMs === Infinity) engine.begin(arrival.atMs + engine.setting.coefficients.requestMs);
}
