/**
 * The loop that plays an engine forward on a virtual clock. Simulations of traces, forward runs of estimates and
 * what-if timelines all use it. They differ in the world around the engine (executor model and faults), in the
 * arrivals, and in the condition that ends the run. The loop drives an engine as the live driver does, batch by batch,
 * and decides nothing.
 */
import type { Effect, Input } from "@headroom/model";
import type { Engine, Ready } from "@headroom/engine";
import type { EventQueue } from "../clock/event-queue.ts";
import { SimulatedQualifications } from "./simulated-qualifications.ts";

/** Executors, machines and their faults. Their future reports are entries of the playout's queue. */
export interface PlayoutWorld {
  /**
   * Returns the input of the queue's first entry, which is due; `null`: the entry is stale. The caller drops the entry.
   */
  observeNext(nowMs: number): Input | null;
  /** Performs the engine's effects and returns reports of the same instant. */
  perform(effects: readonly Effect[], nowMs: number): readonly Input[];
  /** True: the entries in the queue have no effect unless further input arrives. */
  readonly isAtRest: boolean;
}

/** Outside inputs in the order of time. */
export interface PlayoutArrivals {
  /** Time of the next arrival in ms; `Infinity`: none. */
  readonly nextAtMs: number;
  take(nowMs: number): Input;
}

export interface PlayoutRound {
  readonly inputs: readonly Input[];
  /** Index of the first input that arrived from outside. All inputs after this index also came from outside. */
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
   * Entries within this share of the time since the start form one batch, and reports come with the next batch. The
   * number of rounds then grows with the logarithm of the horizon. 0: every instant has its own batch.
   */
  readonly grain: number;
  /** Whether an instant at which all entries are stale gets a round. */
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
  /** Reports of executors that the last coarse batch caused. They are inputs of the next batch. */
  #reports: readonly Input[] = NO_INPUTS;

  /** Suites on nodes that have to qualify. */
  readonly #suites: SimulatedQualifications;

  constructor(options: PlayoutOptions) {
    this.#options = options;
    this.#nowMs = options.startAtMs;
    this.#suites = new SimulatedQualifications(options.engine, options.startAtMs);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Number of batches passed to the engine so far. */
  get roundCount(): number {
    return this.#roundCount;
  }

  /**
   * Time of the next round in ms; `Infinity`: nothing runs, no input is left, and the passing of time changes nothing.
   */
  get nextAtMs(): number {
    const { engine, queue, world, arrivals } = this.#options;
    const arrivesAtMs = arrivals.nextAtMs;
    const wakesAtMs = engine.nextWakeAtMs() ?? Number.POSITIVE_INFINITY;
    const suiteAtMs = this.#suites.nextAtMs;
    const firstAtMs = Math.min(arrivesAtMs, wakesAtMs, suiteAtMs);
    if (firstAtMs === Number.POSITIVE_INFINITY && world.isAtRest) return Number.POSITIVE_INFINITY;
    return Math.max(this.#nowMs, Math.min(queue.nextAtMs, firstAtMs));
  }

  /** Runs the next round. Returns false if there is none. */
  step(): boolean {
    const atMs = this.nextAtMs;
    if (atMs === Number.POSITIVE_INFINITY) return false;
    this.#stepAt(atMs);
    return true;
  }

  /**
   * Runs up to `maxRounds` rounds that are due at or before `untilMs`, so that the caller can yield or cancel between
   * calls. Returns true when no more rounds are due.
   */
  advance({ untilMs, maxRounds }: PlayoutLimit): boolean {
    for (let round = 0; round < maxRounds; round++) {
      const atMs = this.nextAtMs;
      if (atMs > untilMs || atMs === Number.POSITIVE_INFINITY) return true;
      this.#stepAt(atMs);
    }
    return false;
  }

  /** Advances the clock without a round; the clock never goes back. */
  passTo(atMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  /**
   * Passes inputs to the engine now. Reports of the same instant follow as further batches until there are no more
   * reports; with coarse batches the reports come with the next step.
   */
  receive(inputs: readonly Input[], firstArrival: number = inputs.length): Ready {
    const { engine, world, grain } = this.#options;
    const nowMs = this.#nowMs;
    this.#roundCount++;
    const ready = engine.receive(inputs, nowMs);
    engine.advance();
    this.#suites.heed(nowMs);
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
    for (const input of this.#suites.take(this.#nowMs)) inputs = appended(inputs, input);
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

/**
 * Most rounds have one input. This list is allocated with space for exactly one input; pushing to an empty list would
 * allocate space for seventeen.
 */
function appended(inputs: readonly Input[], input: Input): readonly Input[] {
  if (inputs.length === 0) return [input];
  (inputs as Input[]).push(input);
  return inputs;
}
