/**
 * The numbers of replicas that rules come to once falls are held, as `settling.ts` holds those of the endpoint: fewer only when
 * fewer were enough for the time of a start, and not soon after a rise. A rule that rises for little pays for the whole hold.
 */
export class HeldNumbers {
  /** By rule, the number of replicas. */
  readonly numbers: Float64Array;
  readonly #fewerBins: Uint32Array;
  readonly #fewerMost: Float64Array;
  /** Bins since the direction turned upwards; the number falls freely after a fall. */
  readonly #risenBins: Float64Array;

  constructor(count: number) {
    this.numbers = new Float64Array(count).fill(1);
    this.#fewerBins = new Uint32Array(count);
    this.#fewerMost = new Float64Array(count);
    this.#risenBins = new Float64Array(count).fill(Infinity);
  }

  /** Ends a bin. `wanted`: by rule. `holdBins`: time for which fewer must be enough. `turnBins`: from a turn upwards to the next fall. */
  closeBin(wanted: Float64Array, holdBins: number, turnBins: number): void {
    for (let rule = 0; rule < wanted.length; rule += 1) {
      const [next, current] = [wanted[rule] ?? 0, this.numbers[rule] ?? 0];
      const risen = (this.#risenBins[rule] ?? 0) + 1;
      this.#risenBins[rule] = risen;
      if (next >= current) {
        if (next > current && risen === Infinity) this.#risenBins[rule] = 0;
        this.#follow(rule, next);
        continue;
      }
      this.#fewerBins[rule] = (this.#fewerBins[rule] ?? 0) + 1;
      this.#fewerMost[rule] = Math.max(this.#fewerMost[rule] ?? 0, next);
      if ((this.#fewerBins[rule] ?? 0) < holdBins || risen < turnBins) continue;
      this.#risenBins[rule] = Infinity;
      this.#follow(rule, this.#fewerMost[rule] ?? next);
    }
  }

  #follow(rule: number, replicas: number): void {
    this.numbers[rule] = replicas;
    this.#fewerBins[rule] = 0;
    this.#fewerMost[rule] = 0;
  }
}
