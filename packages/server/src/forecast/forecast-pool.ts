/**
 * Questions about the time to come that are answered one after the other on a thread of their own, which starts with the first
 * of them. One whose client has left, or that takes too long, is given up, and its thread with it: a thread that computes
 * hears nothing, so that those who wait behind it could not be answered otherwise.
 */
import { refuse } from "@headroom/protocol";
import type { Driver } from "../driver/driver.ts";
import { ThreadCalls } from "@headroom/platform";
import type { ForecastOutcome, ForecastQuestion, ForecastRequest, QuestionOfState } from "./forecast-question.ts";

/** Questions that may wait at once. */
const WAITING_MAX = 8;

export interface ForecastPoolOptions {
  readonly driver: Pick<Driver, "read">;
  readonly nowMs: () => number;
  /** What takes longer is given up, and what has waited longer for its turn is not begun. */
  readonly answerMsMax: number;
}

type Thread = ThreadCalls<ForecastRequest, ForecastOutcome>;

export class ForecastPool {
  readonly #options: ForecastPoolOptions;
  #thread: Thread | null = null;
  #waitingCount = 0;
  /** Resolves when the question that was asked last is done with. */
  #last: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ForecastPoolOptions) {
    this.#options = options;
  }

  /** `gone`: whoever asks has left. */
  async ask(question: ForecastQuestion | QuestionOfState, gone: AbortSignal): Promise<ForecastOutcome> {
    if (this.#isClosed) throw closing();
    if (this.#waitingCount >= WAITING_MAX)
      throw refuse(
        "overloaded",
        `${WAITING_MAX} questions about the time to come are waiting already; try again in a moment.`,
      );
    this.#waitingCount += 1;
    const askedAtMs = performance.now();
    const turn = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await turn;
      if (gone.aborted || performance.now() - askedAtMs > this.#options.answerMsMax) throw this.#tooLong();
      return await this.#answer(question, gone);
    } catch (error) {
      // Read again: the lane may have been closed while the answer was awaited.
      throw this.#wasClosed() ? closing() : error;
    } finally {
      this.#waitingCount -= 1;
      resolve();
    }
  }

  async #answer(asked: ForecastQuestion | QuestionOfState, gone: AbortSignal): Promise<ForecastOutcome> {
    const { driver, nowMs, answerMsMax } = this.#options;
    const { question, snapshot } = await driver.read((engine) => ({
      question: typeof asked === "function" ? asked(engine) : asked,
      snapshot: engine.snapshot(),
    }));
    if (this.#isClosed) throw closing();
    if (gone.aborted) throw this.#tooLong();
    const thread = this.#running();
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => {
      reject(this.#tooLong());
      this.#drop(thread);
      void thread.terminate();
    };
    const limit = setTimeout(giveUp, answerMsMax);
    gone.addEventListener("abort", giveUp, { once: true });
    try {
      return await Promise.race([thread.call({ question, snapshot, nowMs: nowMs() }), promise]);
    } finally {
      clearTimeout(limit);
      gone.removeEventListener("abort", giveUp);
    }
  }

  #tooLong(): Error {
    const seconds = this.#options.answerMsMax / 1000;
    return refuse("tookTooLong", `Looking ahead was given up after ${seconds} s. Try again later, or when less waits.`);
  }

  /** A thread that died is replaced for the next question. */
  #running(): Thread {
    if (this.#thread !== null) return this.#thread;
    const thread: Thread = new ThreadCalls(new URL("./forecast-thread.ts", import.meta.url), null);
    this.#thread = thread;
    void thread.ended().then(() => this.#drop(thread));
    return thread;
  }

  #drop(thread: Thread): void {
    if (this.#thread === thread) this.#thread = null;
  }

  #wasClosed(): boolean {
    return this.#isClosed;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.terminate();
  }
}

const closing = (): Error => refuse("closing", "The control plane is closing.");
