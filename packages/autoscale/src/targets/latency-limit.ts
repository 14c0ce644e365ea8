/**
 * The requests per second that one replica bears within a target of latency, learnt from the endpoint itself. Latencies
 * are not proportional to the load, so a rule that multiplies replicas by measured ÷ target oscillates; a learnt limit
 * turns latencies into a load. Arrivals measure it: requests in progress pile up while there are too few replicas.
 */

/** Latencies are quantiles over this time, so a change of replicas shows in them only after it. */
const SETTLING_MS = 60_000;
/** One step changes the number of replicas by at most this factor. */
const STEP_MAX = 2;
/** Below this share of the target an unknown limit is tried with one replica fewer. */
const COMFORT = 0.5;
/** A load is proven if its latency stays below this share of the target. */
const PROVEN = 0.8;

interface LatencySample {
  readonly nowMs: number;
  readonly ready: number;
  /** Requests per second for each ready replica, on the mean of the time for which the latencies hold. */
  readonly perReplica: number;
  /** Measured ÷ target. */
  readonly ratio: number;
}

export class LatencyLimit {
  #limit = Infinity;
  #ready = -1;
  #settledAtMs = -Infinity;

  /** Latencies before a time without readings say nothing about the time after it. */
  pause(): void {
    this.#ready = -1;
  }

  /** Number of replicas that keep the latency within its target, a real number. */
  needed({ nowMs, ready, perReplica, ratio }: LatencySample): number {
    if (ready !== this.#ready) {
      // The first latencies of an endpoint count at once: it may begin with far too few replicas.
      this.#settledAtMs = this.#ready < 0 ? nowMs : nowMs + SETTLING_MS;
      this.#ready = ready;
    }
    if (ready === 0) return 0;
    if (nowMs >= this.#settledAtMs) this.#learn(nowMs, perReplica, ratio);
    if (this.#limit === Infinity) return ratio < COMFORT ? ready - 1 : ready;
    const needed = (ready * perReplica) / this.#limit;
    // Requests that wait still have to be served when no new ones come.
    return ratio > 1 ? Math.max(ready, needed) : needed;
  }

  #learn(nowMs: number, perReplica: number, ratio: number): void {
    if (ratio > 1 && perReplica > 0) {
      this.#limit = Math.min(this.#limit, perReplica / Math.min(STEP_MAX, ratio));
      // One step in each window of the quantiles.
      this.#settledAtMs = nowMs + SETTLING_MS;
    } else if (this.#limit !== Infinity && ratio < PROVEN) this.#limit = Math.max(this.#limit, perReplica);
  }
}
