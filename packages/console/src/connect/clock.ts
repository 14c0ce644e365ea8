/**
 * The control plane's clock as the console shows it. Live it is this machine's; in the demo it is the simulation's, which
 * runs at its own rate, so every "waiting for" goes through here and never through `Date.now()`.
 */
export interface ClockReading {
  readonly nowMs: number;
  /** Simulated milliseconds that pass in one real one; 0: paused. */
  readonly rate: number;
}

export class Clock {
  #reading: ClockReading;
  #readAtMs: number;
  readonly #localMs: () => number;
  readonly #listeners = new Set<() => void>();

  constructor(reading: ClockReading, localMs: () => number) {
    this.#reading = reading;
    this.#localMs = localMs;
    this.#readAtMs = localMs();
  }

  get rate(): number {
    return this.#reading.rate;
  }

  nowMs(): number {
    return this.#reading.nowMs + (this.#localMs() - this.#readAtMs) * this.#reading.rate;
  }

  /** Called with what the control plane says; between two readings time goes on at the last known rate. */
  set(reading: ClockReading): void {
    this.#reading = reading;
    this.#readAtMs = this.#localMs();
    for (const listener of this.#listeners) listener();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
