import type { EndpointSample } from "../contract.ts";

const BEGINNING_MS = 900_000;
/** Number of requests after which what was seen says as much as the margin. */
const REQUESTS_KNOWN = 150;
/** Dispersion of arrivals above which they come in bursts; the largest one that becomes a margin. */
const DISPERSION_BURSTS = 3;
const DISPERSION_MAX = 6;

/** The next burst in times of the largest so far. */
const LARGER_BURST = 1.5;

/**
 * Load for which replicas are kept in the first quarter of an hour, when little is known. Where arrivals come in bursts, the load so far says little about the
 * next one, so the margin begins at their dispersion (variance over mean of the arrivals in a tick, 1 for independent ones) and
 * falls with the number of requests that were seen. Replicas for the highest load so far are kept.
 */
export class Beginning {
  #ticks = 0;
  #sum = 0;
  #squares = 0;
  #highest = 0;
  #isBursty = false;
  #firstMs: number | undefined;

  add({ arrivals, nowMs }: EndpointSample, load: number): void {
    this.#firstMs ??= nowMs;
    if (nowMs - this.#firstMs > BEGINNING_MS) return;
    this.#ticks += 1;
    this.#sum += arrivals;
    this.#squares += arrivals * arrivals;
    this.#highest = Math.max(this.#highest, load);
  }

  /** The load to keep replicas for; 0 where arrivals do not come in bursts. */
  load(nowMs: number): number {
    if (nowMs - (this.#firstMs ?? nowMs) > BEGINNING_MS || this.#sum === 0) return 0;
    const mean = this.#sum / this.#ticks;
    const dispersion = (this.#squares / this.#ticks - mean * mean) / mean;
    this.#isBursty ||= dispersion >= DISPERSION_BURSTS;
    if (!this.#isBursty) return 0;
    const margin =
      LARGER_BURST + (Math.min(DISPERSION_MAX, Math.max(1, dispersion)) - 1) * Math.exp(-this.#sum / REQUESTS_KNOWN);
    return this.#highest * margin;
  }
}
