import type { EndpointSample } from "../contract.ts";

const BEGINNING_MS = 900_000;

/**
 * A margin for the first quarter of an hour. Where arrivals come in bursts, the highest load so far says little about the next one, so
 * the margin begins at the root of their dispersion: variance over mean of the arrivals in a tick, 1 for independent ones.
 */
export class Beginning {
  #ticks = 0;
  #sum = 0;
  #squares = 0;
  #firstMs: number | undefined;

  add({ arrivals, nowMs }: EndpointSample): void {
    this.#firstMs ??= nowMs;
    if (nowMs - this.#firstMs > BEGINNING_MS) return;
    this.#ticks += 1;
    this.#sum += arrivals;
    this.#squares += arrivals * arrivals;
  }

  /** Factor on the load, at least 1. */
  margin(nowMs: number): number {
    const left = 1 - (nowMs - (this.#firstMs ?? nowMs)) / BEGINNING_MS;
    if (left <= 0 || this.#sum === 0) return 1;
    const mean = this.#sum / this.#ticks;
    const dispersion = (this.#squares / this.#ticks - mean * mean) / mean;
    return 1 + (Math.sqrt(Math.max(1, dispersion)) - 1) * left;
  }
}
