/**
 * A worker thread that answers requests in the order in which they were sent. When the thread ends unexpectedly, all
 * unanswered requests are rejected.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "./start-thread.ts";

interface Owed<Answer> {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export class ThreadCalls<Request, Answer> {
  readonly #worker: Worker;
  readonly #owed: Owed<Answer>[] = [];
  readonly #ended: Promise<void>;
  #failure: Error | null = null;
  #keepsProcess = true;

  constructor(url: URL, data: unknown, heapMibMax?: number) {
    this.#worker = startThread(url, data, heapMibMax);
    this.#worker.on("message", (answer: Answer) => {
      this.#owed.shift()?.resolve(answer);
      if (!this.#keepsProcess && this.#owed.length === 0) this.#worker.unref();
    });
    this.#worker.on("error", (error) => {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    });
    this.#ended = new Promise((resolve) => {
      this.#worker.once("exit", (code) => {
        this.#fail(new Error(`the thread ended with code ${code}`));
        resolve();
      });
    });
  }

  /** The process may end while the thread has no request to answer. */
  unrefIdle(): void {
    this.#keepsProcess = false;
    if (this.#owed.length === 0) this.#worker.unref();
  }

  /** The first message of the thread, before any request. */
  first(): Promise<Answer> {
    return this.#expect();
  }

  call(request: Request): Promise<Answer> {
    const answer = this.#expect();
    if (this.#failure === null) this.#worker.postMessage(request);
    return answer;
  }

  #expect(): Promise<Answer> {
    if (!this.#keepsProcess) this.#worker.ref();
    return new Promise((resolve, reject) => {
      if (this.#failure === null) this.#owed.push({ resolve, reject });
      else reject(this.#failure);
    });
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const owed of this.#owed.splice(0)) owed.reject(this.#failure);
  }

  /** Resolves when the thread has ended. */
  ended(): Promise<void> {
    return this.#ended;
  }

  /** Keeps the process until the thread has ended: an answer that still comes would let the process end before. */
  async terminate(): Promise<void> {
    this.#keepsProcess = true;
    this.#worker.ref();
    await this.#worker.terminate();
  }
}

/** Whether a thread has ended because its heap was full. */
export const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";
