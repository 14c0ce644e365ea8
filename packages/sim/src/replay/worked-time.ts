/** Progress of an attempt in workers times ms: an elastic gang with fewer workers progresses more slowly. */
import type { Event } from "@headroom/model";

export class WorkedTime {
  #workers: number;
  #sinceMs: number | null;
  #workerMs = 0;

  /** `sinceMs`: start of the run; `null`: the attempt does not run yet. */
  constructor(workers: number, sinceMs: number | null) {
    this.#workers = workers;
    this.#sinceMs = sinceMs;
  }

  get hasBegun(): boolean {
    return this.#sinceMs !== null;
  }

  until(atMs: number): number {
    const sinceMs = this.#sinceMs ?? atMs;
    return this.#workerMs + Math.max(0, atMs - sinceMs) * this.#workers;
  }

  /** Updates the progress after an event of this attempt. */
  follow(event: Event): void {
    if (event.kind === "attemptStarted") this.#sinceMs = event.atMs;
    else if (event.kind === "gangGrown") this.#resize(this.#workers + event.workers.length, event.atMs);
    else if (event.kind === "gangShrinkRequested") this.#resize(event.workers, event.atMs);
    else if (event.kind === "joinFailed") this.#resize(Math.min(this.#workers, event.workers), event.atMs);
  }

  #resize(workers: number, atMs: number): void {
    this.#workerMs = this.until(atMs);
    if (this.#sinceMs !== null) this.#sinceMs = atMs;
    this.#workers = workers;
  }
}
