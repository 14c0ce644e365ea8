/** The thread that reads ranges (`range-thread.ts`), as the control plane calls it. It starts with the first request. */
import type { Worker } from "node:worker_threads";
import { startThread } from "@headroom/platform";
import type { ConnectionTarget, RangeHead } from "./range-connection.ts";

export type RangeRequest =
  | { readonly kind: "ask"; readonly id: number; readonly target: ConnectionTarget; readonly text: string }
  /** Writes the body into the open file, from the position on. */
  | { readonly kind: "copy"; readonly id: number; readonly fd: number; readonly at: number }
  | { readonly kind: "end"; readonly id: number };

/** After `done` and `failed`, and a head that is followed by no body, nothing more is said of a request. */
export type RangeNews =
  /** `head` is null: the answer has no plain length. `text`: the whole body of an answer that is no success. */
  | { readonly kind: "head"; readonly id: number; readonly head: RangeHead | null; readonly text: string | null }
  | { readonly kind: "bytes"; readonly id: number; readonly count: number }
  | { readonly kind: "done"; readonly id: number }
  | {
      readonly kind: "failed";
      readonly id: number;
      readonly isOfFile: boolean;
      readonly code: string | null;
      readonly message: string;
    };

/** The file did not take the bytes. `cause` is the error of the system. */
export class FileRefusal extends Error {}

interface Asked {
  readonly head: PromiseWithResolvers<{ readonly head: RangeHead | null; readonly text: string | null }>;
  /** Bytes that were written and not yielded. */
  bytes: number;
  /** Nothing more is written. */
  isOver: boolean;
  error: Error | null;
  /** Resolves with the next news. */
  changed: PromiseWithResolvers<void>;
}

export class RangeReader {
  #thread: Worker | null = null;
  #isClosing = false;
  #ids = 0;
  readonly #asked = new Map<number, Asked>();

  /** The head of an answer, and the body if it is one, which has to be copied or ended. */
  async ask(
    target: ConnectionTarget,
    text: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly head: RangeHead | null; readonly body: RangeBytes | string }> {
    signal?.throwIfAborted();
    const thread = (this.#thread ??= this.#start());
    thread.ref();
    const id = ++this.#ids;
    const changed = Promise.withResolvers<void>();
    const asked: Asked = { head: Promise.withResolvers(), bytes: 0, isOver: false, error: null, changed };
    this.#asked.set(id, asked);
    const send = (request: RangeRequest): void => (this.#thread === thread ? thread.postMessage(request) : undefined);
    send({ kind: "ask", id, target, text });
    const abort = (): void => send({ kind: "end", id });
    signal?.addEventListener("abort", abort, { once: true });
    const off = (): void => signal?.removeEventListener("abort", abort);
    try {
      const answer = await asked.head.promise;
      if (answer.text !== null) off();
      return { head: answer.head, body: answer.text ?? new RangeBytes(id, { asked, send, off, signal }) };
    } catch (error) {
      off();
      signal?.throwIfAborted();
      throw error;
    }
  }

  /** Keeps the process until the thread has ended. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#thread?.terminate();
  }

  #start(): Worker {
    const thread = startThread(new URL("./range-thread.ts", import.meta.url), null);
    let failure: Error | null = null;
    thread.on("message", (news: RangeNews) => this.#hear(news));
    thread.on("error", (error) => (failure = error instanceof Error ? error : new Error(String(error))));
    thread.once("exit", () => {
      this.#thread = null;
      const message = failure?.message ?? "the thread ended";
      for (const id of this.#asked.keys())
        this.#hear({ kind: "failed", id, isOfFile: false, code: "ECONNRESET", message });
    });
    return thread;
  }

  #hear(news: RangeNews): void {
    const asked = this.#asked.get(news.id);
    if (asked === undefined) return;
    if (news.kind === "head") asked.head.resolve(news);
    else if (news.kind === "bytes") asked.bytes += news.count;
    else asked.isOver = true;
    if (news.kind === "failed") {
      const error = Object.assign(new Error(news.message), news.code === null ? {} : { code: news.code });
      asked.error = news.isOfFile ? new FileRefusal(news.message, { cause: error }) : error;
      asked.head.reject(asked.error);
    }
    if (asked.isOver || (news.kind === "head" && news.text !== null)) this.#asked.delete(news.id);
    if (this.#asked.size === 0 && !this.#isClosing) this.#thread?.unref();
    const { changed } = asked;
    asked.changed = Promise.withResolvers();
    changed.resolve();
  }
}

interface RangeCalls {
  readonly asked: Asked;
  readonly send: (request: RangeRequest) => void;
  /** Stops listening to the signal. */
  readonly off: () => void;
  readonly signal: AbortSignal | undefined;
}

/** The body of an answer, which the thread writes into a file. */
export class RangeBytes {
  readonly #id: number;
  readonly #calls: RangeCalls;

  constructor(id: number, calls: RangeCalls) {
    this.#id = id;
    this.#calls = calls;
  }

  /** Yields the numbers of bytes that were written. When it has ended, also early, the thread no longer writes. */
  async *copyTo(fd: number, at: number): AsyncGenerator<number> {
    const { asked, send, signal } = this.#calls;
    send({ kind: "copy", id: this.#id, fd, at });
    try {
      for (;;) {
        const { bytes } = asked;
        asked.bytes = 0;
        if (bytes > 0) yield bytes;
        else if (asked.isOver) break;
        else await asked.changed.promise;
      }
      signal?.throwIfAborted();
      if (asked.error !== null) throw asked.error;
    } finally {
      await this.end();
    }
  }

  async end(): Promise<void> {
    const { asked, send, off } = this.#calls;
    off();
    if (!asked.isOver) send({ kind: "end", id: this.#id });
    while (!asked.isOver) await asked.changed.promise;
  }
}
