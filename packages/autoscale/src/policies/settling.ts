/** A rise that follows a fall within this time doubles the time for which replicas are held. */
export const REGRET_MS = 600_000;
const HOLD_MAX_MS = 300_000;

/** Replicas go up at once, and down when fewer were enough for the whole time of the hold. */
export class Settling {
  #replicas: number | undefined;
  #neededSinceMs: number | undefined;
  #neededMax = 0;
  #downMs = -Infinity;
  #holdMs = 0;
  /** Whether the last change was a rise, and when the direction turned to it. */
  #isUp = false;
  #upMs = -Infinity;

  /** The number that was settled on, or the one that the endpoint begins with. */
  current(first: number): number {
    this.#replicas ??= first;
    return this.#replicas;
  }

  /**
   * `isKnown`: the load follows a pattern, so it is known when it falls, and `shortMs` is held. `turnMs`: time
   * from a turn upwards to the next fall.
   */
  settle(
    needed: number,
    nowMs: number,
    hold: { readonly usualMs: number; readonly shortMs: number; readonly isKnown: boolean; readonly turnMs: number },
  ): number {
    const current = this.current(needed);
    this.#neededSinceMs ??= nowMs;
    // A clock that was set back must not hold replicas for as long.
    this.#neededSinceMs = Math.min(this.#neededSinceMs, nowMs);
    this.#upMs = Math.min(this.#upMs, nowMs);
    this.#downMs = Math.min(this.#downMs, nowMs);
    const holdMs = hold.isKnown ? hold.shortMs : Math.max(hold.usualMs, this.#holdMs);
    if (needed >= current) {
      if (needed > current && nowMs - this.#downMs < REGRET_MS) this.#holdMs = Math.min(HOLD_MAX_MS, 2 * holdMs);
      if (needed > current && !this.#isUp) [this.#isUp, this.#upMs] = [true, nowMs];
      return this.follow(needed, nowMs);
    }
    this.#neededMax = Math.max(this.#neededMax, needed);
    if (nowMs - this.#neededSinceMs < holdMs) return current;
    if (nowMs - this.#upMs < hold.turnMs) return current;
    const replicas = Math.max(1, this.#neededMax);
    if (replicas < current) {
      this.#downMs = nowMs;
      this.#isUp = false;
    }
    this.#holdMs /= 2;
    return this.follow(replicas, nowMs);
  }

  follow(replicas: number, nowMs: number): number {
    this.#replicas = replicas;
    this.#neededSinceMs = nowMs;
    this.#neededMax = 0;
    return replicas;
  }
}
