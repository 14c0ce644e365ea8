/**
 * The mean of a load over the last seconds, and the load to expect when a start that begins now is ready, by the line
 * through the last two windows. The line counts only where the load rises clearly: noise must not start replicas.
 */

/** Standard deviations, of independent requests, by which a rise must exceed their noise. */
const SIGNIFICANCE = 3;
const RISE_MIN = 1.25;
/** The expected load is at most this factor above the present one: a line does not go on for ever. */
const AHEAD_MAX = 2;

export class LoadTrend {
  readonly #windowMs: number;
  readonly #requestsPerUnit: number;
  #samples: { readonly atMs: number; readonly value: number }[] = [];

  /** `requestsPerUnit`: the number of requests behind a load of 1, for their noise. */
  constructor(windowMs: number, requestsPerUnit: number) {
    this.#windowMs = windowMs;
    this.#requestsPerUnit = requestsPerUnit;
  }

  clear(): void {
    this.#samples = [];
  }

  add(atMs: number, value: number): void {
    this.#samples.push({ atMs, value });
    const first = this.#samples.findIndex((each) => each.atMs > atMs - 2 * this.#windowMs);
    if (first > 0) this.#samples.splice(0, first);
  }

  at(aheadMs: number): { readonly level: number; readonly ahead: number } {
    const newest = this.#samples.at(-1)?.atMs ?? 0;
    const recent = this.#samples.filter(({ atMs }) => atMs > newest - this.#windowMs);
    const before = this.#samples.filter(({ atMs }) => atMs <= newest - this.#windowMs);
    const level = mean(recent);
    const isLong = before.length >= 3 && recent.length >= 3;
    const noise = SIGNIFICANCE * Math.sqrt((level + mean(before)) / this.#requestsPerUnit);
    if (!isLong || level < RISE_MIN * mean(before) || level - mean(before) < noise) return { level, ahead: level };
    const perMs = (level - mean(before)) / this.#windowMs;
    return { level, ahead: Math.min(AHEAD_MAX * level, level + perMs * aheadMs) };
  }
}

const mean = (samples: readonly { readonly value: number }[]): number =>
  samples.reduce((sum, { value }) => sum + value, 0) / Math.max(1, samples.length);
