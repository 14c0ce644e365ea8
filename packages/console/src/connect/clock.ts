/**
 * The control plane's clock in the console. On a live control plane it is this machine's clock; in the demo it is the
 * simulation's clock, which runs at its own rate. Durations such as "waiting for" use this clock and never
 * `Date.now()`.
 */
export interface ClockReading {
  readonly nowMs: number;
  /** Simulated milliseconds per real millisecond; 0: paused. */
  readonly rate: number;
}

export class Clock {
  #reading: ClockReading;
  #readAtMs: number;
  /** Local time at which the clock was stopped; `null`: the clock runs. */
  #stoppedAtMs: number | null = null;
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
    return this.#reading.nowMs + ((this.#stoppedAtMs ?? this.#localMs()) - this.#readAtMs) * this.#reading.rate;
  }

  /** Called with each reading of the control plane's clock. Between two readings, time runs at the last known rate. */
  set(reading: ClockReading): void {
    this.#reading = reading;
    this.#readAtMs = this.#localMs();
    for (const listener of this.#listeners) listener();
  }

  /**
   * While the control plane cannot be reached, clocks and durations on screen stand still. Afterwards the clock is
   * right again.
   */
  setStopped(isStopped: boolean): void {
    if (isStopped === (this.#stoppedAtMs !== null)) return;
    this.#stoppedAtMs = isStopped ? this.#localMs() : null;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
