/** Answers questions to the performance model one at a time, on a thread that starts with the first question. */
import type { SizingAnswer, SizingQuestion } from "@headroom/perf";
import { refuse } from "@headroom/protocol";
import { ThreadCalls } from "@headroom/platform";

export type SizingOutcome =
  | { readonly kind: "answered"; readonly answer: SizingAnswer }
  | { readonly kind: "failed"; readonly message: string };

/**
 * Maximum number of waiting questions. At up to a second each, clients would give up before later ones are answered.
 */
const WAITING_MAX = 16;

export class SizingService {
  #thread: ThreadCalls<SizingQuestion, SizingOutcome> | null = null;
  #waitingCount = 0;
  #isClosed = false;

  async answer(question: SizingQuestion): Promise<SizingAnswer> {
    if (this.#isClosed) throw refuse("closing", "The control plane is closing.");
    if (this.#waitingCount >= WAITING_MAX) {
      throw refuse("overloaded", `${WAITING_MAX} sizing questions are waiting already; try again in a moment.`);
    }
    const thread = this.#running();
    this.#waitingCount += 1;
    try {
      const outcome = await thread.call(question);
      if (outcome.kind === "failed") throw new Error(`the performance model failed: ${outcome.message}`);
      return outcome.answer;
    } catch (error) {
      // The service is checked again, because it can have been closed during the wait.
      throw this.#wasClosed() ? refuse("closing", "The control plane is closing.") : error;
    } finally {
      this.#waitingCount -= 1;
    }
  }

  /** The thread. A thread that has ended (for example out of memory) is replaced for the next question. */
  #running(): ThreadCalls<SizingQuestion, SizingOutcome> {
    if (this.#thread !== null) return this.#thread;
    const thread = new ThreadCalls<SizingQuestion, SizingOutcome>(new URL("./sizing-thread.ts", import.meta.url), null);
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
