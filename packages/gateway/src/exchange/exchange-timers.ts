/** The timers of a request: the start of a hedge, and the deadline that the request states. */
import type { ApiError } from "../protocols/api-error.ts";
import type { Urgency } from "./urgency.ts";

export class ExchangeTimers {
  #hedge: NodeJS.Timeout | undefined;
  readonly #deadline: NodeJS.Timeout | undefined;

  /** `passed` is called at the deadline, whether the answer has begun or not. */
  constructor({ deadlineMs }: Urgency, passed: (error: ApiError) => void) {
    if (deadlineMs === undefined) return;
    const message = `No answer had begun within the deadline of ${deadlineMs} ms that the request states (\`x-headroom-deadline-ms\`).`;
    this.#deadline = setTimeout(() => passed({ kind: "deadlineExceeded", message }), deadlineMs);
  }

  /** Starts the timer of a hedge, once for each request. `afterMs` undefined: the pool makes none. */
  startHedge(afterMs: number | undefined, hedge: () => void): void {
    if (afterMs !== undefined && this.#hedge === undefined) this.#hedge = setTimeout(hedge, afterMs);
  }

  stopHedge(): void {
    clearTimeout(this.#hedge);
  }

  stop(): void {
    clearTimeout(this.#hedge);
    clearTimeout(this.#deadline);
  }
}
