/**
 * The number of replicas while nothing is known of the work of a request: it grows by half while too many requests are
 * late, and waits for each start and for the figures after it.
 */
import type { EndpointSample } from "../contract.ts";

const GROWTH = 1.5;
/** Figures of requests show a change of replicas after this time. */
const FIGURES_MS = 60_000;
/** Late requests above this multiple of the allowed share are too many. */
const BEYOND = 2;
/** Number of known requests below which their share says little. */
const REQUESTS_MIN = 10;

export class FirstReplicas {
  readonly #allowedShare: number;
  #known = 0;
  #missed = 0;
  #sinceMs: number | undefined;

  constructor(allowedShare: number) {
    this.#allowedShare = allowedShare;
  }

  replicas({ nowMs, met, missed, starting, coldStartMs }: EndpointSample, current: number): number {
    this.#sinceMs ??= nowMs - coldStartMs - FIGURES_MS;
    const decay = 0.9;
    this.#known = decay * this.#known + met + missed;
    this.#missed = decay * this.#missed + missed;
    if (starting > 0 || nowMs - this.#sinceMs < coldStartMs + FIGURES_MS) return current;
    if (this.#known < REQUESTS_MIN || this.#missed <= BEYOND * this.#allowedShare * this.#known) return current;
    this.#sinceMs = nowMs;
    return Math.max(1, Math.ceil(current * GROWTH));
  }
}
