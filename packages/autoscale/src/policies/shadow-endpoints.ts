/**
 * Plays many rules at once on the traffic that came, each on an endpoint of its own: a queue of work that its replicas
 * serve, with the same cold start. So each rule has a measured share of late requests and a measured cost, whether it
 * decides or not. Replicas that are starting are given up first, so those that serve are the fewest wanted in the time of
 * a start.
 */
/** Rules are judged on the last part of the time since the beginning: forecasts learn, and traffic changes. */
const MEMORY_SHARE = 0.33;
const MEMORY_MIN_S = 3600;
const MEMORY_MAX_S = 604_800;

/** Starts after which a start takes its time. */
const FIRST_STARTS = 3;

export class ShadowEndpoints {
  readonly count: number;
  readonly #toleranceS: number;
  readonly #factors: readonly number[];
  /** By rule: work in s of one replica that waits, replicas that serve, replicas that are held. */
  readonly #backlog: Float64Array;
  readonly #ready: Float64Array;
  readonly #held: Float64Array;
  /** Wanted numbers of the last bins, by rule in rows. */
  #ring: Float64Array;
  /** The least of them, by rule. */
  readonly #least: Float64Array;
  #rows = 0;
  #row = 0;
  /** Late requests of the present block, and decayed sums over blocks of them, of their squares, and of the cost. */
  readonly #blockLate: Float64Array;
  readonly #late: Float64Array;
  readonly #lateSquares: Float64Array;
  readonly #cost: Float64Array;
  #requests = 0;
  #elapsedS = 0;
  #isBegun = false;

  /** `factors`: by rule, the work that the traffic is, in times of what was measured. */
  constructor(factors: readonly number[], toleranceS: number) {
    const count = factors.length;
    this.count = count;
    this.#factors = factors;
    this.#toleranceS = toleranceS;
    const zeros = (): Float64Array => new Float64Array(count);
    this.#backlog = zeros();
    this.#ready = zeros().fill(1);
    this.#held = zeros().fill(1);
    this.#blockLate = zeros();
    this.#late = zeros();
    this.#lateSquares = zeros();
    this.#cost = zeros();
    this.#ring = new Float64Array(0);
    this.#least = zeros();
  }

  /** Requests that came, with decay. */
  get requests(): number {
    return this.#requests;
  }

  /** Serves the work in s of one replica that came with `arrivals` requests in `seconds`. */
  serve(measuredS: number, arrivals: number, seconds: number): void {
    this.#requests += arrivals;
    this.#elapsedS += seconds;
    // Traffic before the first number is the endpoint's own beginning: no rule could have prevented its waits.
    if (!this.#isBegun) return;
    for (let rule = 0; rule < this.count; rule += 1) {
      const workS = measuredS * (this.#factors[rule] ?? 1);
      const ready = this.#ready[rule] ?? 0;
      const before = this.#backlog[rule] ?? 0;
      const waits = before + workS;
      if (arrivals > 0) {
        const bound = this.#toleranceS * ready;
        // Requests of a tick come evenly; those that find more work than the tolerance before them are late.
        const lateShare =
          before >= bound
            ? 1
            : waits - seconds * ready <= bound
              ? 0
              : Math.min(1, (waits - seconds * ready - bound) / workS);
        this.#blockLate[rule] = (this.#blockLate[rule] ?? 0) + lateShare * arrivals;
      }
      this.#backlog[rule] = Math.max(0, waits - seconds * ready);
      this.#cost[rule] = (this.#cost[rule] ?? 0) + seconds * (this.#held[rule] ?? 0);
    }
  }

  /** The numbers of replicas that the rules want from now on; a start is ready after `ahead` bins. */
  want(wanted: Float64Array, ahead: number, binS: number): void {
    this.#isBegun = true;
    if (this.#rows !== ahead + 1) {
      this.#rows = ahead + 1;
      this.#row = 0;
      this.#ring = new Float64Array(this.#rows * this.count);
      for (let row = 0; row < this.#rows; row += 1) this.#ring.set(this.#held, row * this.count);
      this.#least.set(this.#held);
    }
    const from = this.#row * this.count;
    for (let rule = 0; rule < this.count; rule += 1) {
      const [next, least, dropped] = [wanted[rule] ?? 0, this.#least[rule] ?? 0, this.#ring[from + rule] ?? 0];
      this.#ring[from + rule] = next;
      if (next <= least) this.#least[rule] = next;
      else if (dropped <= least) this.#least[rule] = this.#leastOf(rule);
    }
    this.#row = (this.#row + 1) % this.#rows;
    this.#held.set(wanted);
    // The endpoint's very first starts say nothing about a rule: whatever it wants then is there.
    this.#ready.set(this.#elapsedS < FIRST_STARTS * ahead * binS ? wanted : this.#least);
  }

  #leastOf(rule: number): number {
    let least = Infinity;
    for (let at = rule; at < this.#ring.length; at += this.count) least = Math.min(least, this.#ring[at] ?? Infinity);
    return least;
  }

  /**
   * Ends a block of `seconds`: late requests of one block come together, so blocks are the samples. Returns the share of
   * the sums so far that is kept.
   */
  closeBlock(seconds: number): number {
    const memoryS = Math.min(MEMORY_MAX_S, Math.max(MEMORY_MIN_S, this.#elapsedS * MEMORY_SHARE));
    const kept = Math.exp(-seconds / memoryS);
    this.#requests *= kept;
    for (let rule = 0; rule < this.count; rule += 1) {
      const late = this.#blockLate[rule] ?? 0;
      this.#late[rule] = kept * ((this.#late[rule] ?? 0) + late);
      this.#lateSquares[rule] = kept * kept * ((this.#lateSquares[rule] ?? 0) + late * late);
      this.#cost[rule] = kept * (this.#cost[rule] ?? 0);
      this.#blockLate[rule] = 0;
    }
    return kept;
  }

  /** Share of late requests, plus `deviations` standard deviations of their sum over blocks. */
  lateShare(rule: number, deviations: number): number {
    const late = (this.#late[rule] ?? 0) + deviations * Math.sqrt(this.#lateSquares[rule] ?? 0);
    return late / Math.max(1, this.#requests);
  }

  /** Sets the replicas that serve, for endpoints that follow the real one. */
  follow(ready: number): void {
    this.#isBegun = true;
    this.#ready.fill(ready);
    this.#held.fill(ready);
  }

  cost(rule: number): number {
    return this.#cost[rule] ?? 0;
  }
}
