/**
 * Answers that cost seconds and much memory: each is computed on a thread of its own that ends with the answer, one at a time,
 * with bounds on time, memory and waiting requests.
 */
import { ThreadCalls, isOutOfMemory } from "@headroom/platform";
import { refuse } from "@headroom/protocol";

interface OneAtATimeOptions {
  readonly thread: URL;
  readonly heapMibMax: number;
  readonly answerMsMax: number;
  /** Requests that wait for the one in work. Clients would give up before later ones are answered. */
  readonly waitingMax: number;
  /** Plural of the answers in refusals: "2 plans are being computed already". */
  readonly name: string;
  /** Advice to a client whose answer takes too much time or memory. */
  readonly advice: string;
}

export class OneAtATime<Request, Answer> {
  readonly #options: OneAtATimeOptions;
  /** Settles when the request in work has ended. */
  #last: Promise<unknown> = Promise.resolve();
  #pendingCount = 0;
  readonly #closing = new AbortController();

  constructor(options: OneAtATimeOptions) {
    this.#options = options;
  }

  /** `gone` aborts when the client has gone. Rejects with the problems `overloaded`, `tookTooLong` and `closing`. */
  async call(request: Request, gone: AbortSignal): Promise<Answer> {
    const { waitingMax, name } = this.#options;
    if (this.#closing.signal.aborted) throw closing();
    if (this.#pendingCount > waitingMax)
      throw refuse("overloaded", `${this.#pendingCount} ${name} are being computed already; try again in a minute.`);
    this.#pendingCount += 1;
    const turn = this.#last.then(() => this.#answer(request, gone));
    this.#last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.#pendingCount -= 1;
    }
  }

  async #answer(request: Request, gone: AbortSignal): Promise<Answer> {
    const { thread: url, heapMibMax, answerMsMax } = this.#options;
    const stop = AbortSignal.any([gone, this.#closing.signal, AbortSignal.timeout(answerMsMax)]);
    const refusal = (): Error => (this.#closing.signal.aborted ? closing() : this.#tooMuch(`${answerMsMax / 1000} s`));
    if (stop.aborted) throw refusal();
    const thread = new ThreadCalls<Request, Answer>(url, null, heapMibMax);
    const end = (): void => void thread.terminate();
    stop.addEventListener("abort", end, { once: true });
    try {
      return await thread.call(request);
    } catch (error) {
      if (stop.aborted) throw refusal();
      throw isOutOfMemory(error) ? this.#tooMuch(`${heapMibMax} MiB of memory`) : error;
    } finally {
      stop.removeEventListener("abort", end);
      await thread.terminate();
    }
  }

  #tooMuch(bound: string): Error {
    return refuse("tookTooLong", `The answer was cancelled: it needs more than ${bound}. ${this.#options.advice}`);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#last;
  }
}

const closing = (): Error => refuse("closing", "The control plane is closing.");
