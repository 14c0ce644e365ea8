/** Takes questions about the time to come in turn. The thread behind it starts with the first question. */
import { refuse } from "@headroom/protocol";
import type { Driver } from "../driver/driver.ts";
import { ThreadCalls } from "../journal/thread-calls.ts";
import type { OutlookAnswers, OutlookOutcome, OutlookQuestion, OutlookRequest } from "./outlook-question.ts";

/** Questions that may wait at once: each carries a snapshot, and takes up to seconds where much waits. */
const WAITING_MAX = 8;

export class OutlookDesk {
  readonly #driver: Driver;
  readonly #nowMs: () => number;
  #thread: ThreadCalls<OutlookRequest, OutlookOutcome> | null = null;
  #waitingCount = 0;
  #isClosed = false;

  constructor(driver: Driver, nowMs: () => number) {
    this.#driver = driver;
    this.#nowMs = nowMs;
  }

  async ask<Kind extends OutlookQuestion["kind"]>(
    question: OutlookQuestion & { readonly kind: Kind },
  ): Promise<OutlookAnswers[Kind]> {
    if (this.#isClosed) throw refuse("closing", "The control plane is closing.");
    if (this.#waitingCount >= WAITING_MAX)
      throw refuse(
        "overloaded",
        `${WAITING_MAX} questions about the time to come are waiting already; try again in a moment.`,
      );
    this.#waitingCount += 1;
    try {
      const snapshot = await this.#driver.read((engine) => engine.snapshot());
      const outcome = await this.#running().call({ question, snapshot, nowMs: this.#nowMs() });
      if (outcome.kind === "failed") throw new Error(`looking ahead failed: ${outcome.message}`);
      // The thread answers each question with what its kind is answered with.
      return outcome.answer as OutlookAnswers[Kind];
    } catch (error) {
      // Read again: the desk may have been closed while the answer was awaited.
      throw this.#wasClosed() ? refuse("closing", "The control plane is closing.") : error;
    } finally {
      this.#waitingCount -= 1;
    }
  }

  /** A thread that died is replaced for the next question. */
  #running(): ThreadCalls<OutlookRequest, OutlookOutcome> {
    if (this.#thread !== null) return this.#thread;
    const thread = new ThreadCalls<OutlookRequest, OutlookOutcome>(
      new URL("./outlook-thread.ts", import.meta.url),
      null,
    );
    this.#thread = thread;
    void thread.ended().then(() => {
      if (this.#thread === thread) this.#thread = null;
    });
    return thread;
  }

  #wasClosed(): boolean {
    return this.#isClosed;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.terminate();
  }
}
