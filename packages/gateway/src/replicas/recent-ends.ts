/** Rate at which requests of a pool ended, over the last seconds. */

const SECONDS = 15;

export class RecentEnds {
  readonly #counts = new Uint32Array(SECONDS);
  #second = 0;

  add(nowMs: number): void {
    this.#forget(nowMs);
    this.#counts[this.#second % SECONDS]!++;
  }

  perSecond(nowMs: number): number {
    this.#forget(nowMs);
    let sum = 0;
    for (const count of this.#counts) sum += count;
    return sum / SECONDS;
  }

  #forget(nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    const passed = Math.min(SECONDS, second - this.#second);
    for (let each = 1; each <= passed; each++) this.#counts[(this.#second + each) % SECONDS] = 0;
    // After a jump by more than the window every place was cleared, whichever it is.
    this.#second = Math.max(this.#second, second);
  }
}
