/**
 * The loop that plays an engine forward on a virtual clock. Simulations of traces, forward runs of estimates and what-if timelines
 * all use it; they differ in the world around the engine (executor model and faults), in what arrives, and in when they stop. It
 * drives an engine as the live driver does, batch by batch, and decides nothing.
 */
import type { Effect, Engine, Input, Ready } from "@headroom/engine";
import type { EventQueue } from "../clock/event-queue.ts";

/** Executors, machines and their faults. Entries of the playout's queue stand for future reports. */
export interface PlayoutWorld {
  /** The queue's first entry is due: the input that comes of it; `null`: it is stale. The caller drops the entry. */
  observeNext(nowMs: number): Input | null;
  /** Performs what the engine asked for; answers what is reported at this very instant. */
  perform(effects: readonly Effect[], nowMs: number): readonly Input[];
  /** Nothing more comes of the entries in the queue unless something arrives. */
  readonly isAtRest: boolean;
}

/** Outside inputs in the order of time. */
export interface PlayoutArrivals {
  /** `Infinity`: nothing more arrives. */
  readonly nextAtMs: number;
  take(nowMs: number): Input;
}

export const noArrivals: PlayoutArrivals = {
  nextAtMs: Number.POSITIVE_INFINITY,
  take: () => ({ kind: "tick" }),
};

export interface PlayoutRound {
  readonly inputs: readonly Input[];
  /** The inputs from this position on arrived from outside. */
  readonly firstArrival: number;
  readonly ready: Ready;
}

export interface PlayoutOptions {
  readonly engine: Engine;
  readonly queue: EventQueue;
  readonly startAtMs: number;
  readonly world: PlayoutWorld;
  readonly arrivals: PlayoutArrivals;
  onRound(round: PlayoutRound): void;
  /**
   * Everything within this share of the time since the start is one batch, and reports come with the next batch. The number of
   * rounds then grows with the logarithm of the horizon. 0: exact.
   */
  readonly grain: number;
  /** Whether an instant at which all entries were stale is a round; else nothing happens at it. */
  readonly ticksWhenStale: boolean;
}

export interface PlayoutLimit {
  readonly untilMs: number;
  readonly maxRounds: number;
}

const NO_INPUTS: readonly Input[] = [];

export class Playout {
  readonly #options: PlayoutOptions;
  #nowMs: number;
  #roundCount = 0;
  /** Reports of the last coarse batch. */
  #reports: readonly Input[] = NO_INPUTS;

  constructor(options: PlayoutOptions) {
    this.#options = options;
    this.#nowMs = options.startAtMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Batches handed to the engine so far. */
  get roundCount(): number {
    return this.#roundCount;
  }

  /** When the next round is due, in ms; `Infinity`: nothing runs, nothing is to come, and time alone changes nothing. */
  get nextAtMs(): number {
    const { engine, queue, world, arrivals } = this.#options;
    const arrivesAtMs = arrivals.nextAtMs;
    const wakesAtMs = engine.nextWakeAtMs() ?? Number.POSITIVE_INFINITY;
    if (arrivesAtMs === Number.POSITIVE_INFINITY && wakesAtMs === Number.POSITIVE_INFINITY && world.isAtRest)
      return Number.POSITIVE_INFINITY;
    return Math.max(this.#nowMs, Math.min(queue.nextAtMs, arrivesAtMs, wakesAtMs));
  }

  /** The next round, at whatever time it is due. False: there is none. */
  step(): boolean {
    const atMs = this.nextAtMs;
    if (atMs === Number.POSITIVE_INFINITY) return false;
    this.#stepAt(atMs);
    return true;
  }

  /** Up to `maxRounds` steps that are due at or before `untilMs`: the caller yields, cancels or goes on between calls. True: no more are due. */
  advance({ untilMs, maxRounds }: PlayoutLimit): boolean {
    for (let round = 0; round < maxRounds; round++) {
      const atMs = this.nextAtMs;
      if (atMs > untilMs || atMs === Number.POSITIVE_INFINITY) return true;
      this.#stepAt(atMs);
    }
    return false;
  }

  /** The clock goes on without a round, never back. */
  passTo(atMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  /**
   * Passes inputs to the engine now. Reports of the same instant follow as further batches, until nothing is
   * reported, or with the next step where batches are coarse.
   */
  receive(inputs: readonly Input[], firstArrival: number = inputs.length): Ready {
    const { engine, world, grain } = this.#options;
    const nowMs = this.#nowMs;
    this.#roundCount++;
    const ready = engine.receive(inputs, nowMs);
    engine.advance();
    this.#options.onRound({ inputs, firstArrival, ready });
    const reports = world.perform(ready.effects, nowMs);
    if (reports.length === 0) return ready;
    if (grain > 0) this.#reports = [...this.#reports, ...reports];
    else this.receive(reports);
    return ready;
  }

  #stepAt(firstAtMs: number): void {
    const { engine, queue, world, arrivals, startAtMs, grain, ticksWhenStale } = this.#options;
    const untilMs = grain === 0 ? firstAtMs : firstAtMs + Math.floor((firstAtMs - startAtMs) * grain);
    this.#nowMs = firstAtMs;
    let inputs = this.#reports;
    this.#reports = NO_INPUTS;
    while (queue.nextAtMs <= untilMs) {
      if (queue.nextAtMs > this.#nowMs) this.#nowMs = queue.nextAtMs;
      const input = world.observeNext(this.#nowMs);
      queue.drop();
      if (input !== null) inputs = appended(inputs, input);
    }
    const firstArrival = inputs.length;
    for (let atMs = arrivals.nextAtMs; atMs <= untilMs; atMs = arrivals.nextAtMs) {
      if (atMs > this.#nowMs) this.#nowMs = atMs;
      inputs = appended(inputs, arrivals.take(this.#nowMs));
    }
    if (inputs.length > 0) {
      this.receive(inputs, firstArrival);
      return;
    }
    const wakeAtMs = ticksWhenStale ? firstAtMs : engine.nextWakeAtMs();
    if (wakeAtMs !== null && wakeAtMs <= firstAtMs) this.receive([{ kind: "tick" }]);
  }
}

/** Most rounds have one input. A list made with it has room for just that; pushing to an empty one makes room for seventeen. */
function appended(inputs: readonly Input[], input: Input): readonly Input[] {
  if (inputs.length === 0) return [input];
  (inputs as Input[]).push(input);
  return inputs;
}
