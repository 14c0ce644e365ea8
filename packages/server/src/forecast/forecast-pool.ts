/**
 * Answers forecast questions one after another on a separate thread that starts with the first question. Principals
 * take turns: a principal with many questions delays another by one answer at most, and by `sharedAnswerMsMax` at most.
 * If a client has disconnected, or its question takes too long, the thread is ended with the question: a computing
 * thread receives no messages, so it would block later questions.
 */
import { refuse } from "@headroom/protocol";
import type { Driver } from "../driver/driver.ts";
import { ThreadCalls, isOutOfMemory } from "@headroom/platform";
import type {
  ForecastOutcome,
  ForecastQuestion,
  ForecastReply,
  ForecastRequest,
  QuestionOfState,
} from "./forecast-question.ts";

/** Maximum number of waiting questions of all principals. */
const WAITING_MAX = 16;
/** Maximum number of waiting questions of one principal. */
const WAITING_OF_PRINCIPAL_MAX = 4;
/** Heap in bytes above which the thread is ended after its answer, because V8 rarely returns a large heap. */
const HEAP_KEPT_BYTES_MAX = 512 * 1024 * 1024;

export interface ForecastPoolOptions {
  readonly driver: Pick<Driver, "read">;
  readonly nowMs: () => number;
  /** Maximum time in ms for an answer. A question that has waited longer than this is not started. */
  readonly answerMsMax: number;
  /** Time in ms after which an answer is abandoned if another principal is waiting. */
  readonly sharedAnswerMsMax: number;
  /** Maximum heap in MiB of an answer. */
  readonly heapMibMax: number;
}

/** A question that waits for its turn or is being answered. */
interface Turn {
  readonly actor: string;
  readonly begins: Promise<void>;
  begin(): void;
  giveUp: ((afterMs: number) => void) | null;
  limit?: NodeJS.Timeout;
}

type Thread = ThreadCalls<ForecastRequest, ForecastReply>;

export class ForecastPool {
  readonly #options: ForecastPoolOptions;
  #thread: Thread | null = null;
  #answering: Turn | null = null;
  /** Waiting questions by principal. The principal whose last answer is longest ago comes first. */
  readonly #waiting = new Map<string, Turn[]>();
  #waitingCount = 0;
  #isClosed = false;

  constructor(options: ForecastPoolOptions) {
    this.#options = options;
  }

  /** `actor`: the principal that asks. `gone`: aborts when its connection closes. */
  async ask(question: ForecastQuestion | QuestionOfState, actor: string, gone: AbortSignal): Promise<ForecastOutcome> {
    if (this.#isClosed) throw closing();
    const askedAtMs = performance.now();
    const turn = this.#enqueue(actor);
    try {
      await turn.begins;
      if (gone.aborted || performance.now() - askedAtMs > this.#options.answerMsMax)
        throw tooLong(this.#options.answerMsMax);
      return await this.#answer(question, gone, turn);
    } catch (error) {
      // The pool is checked again, because it can have been closed during the wait.
      throw this.#wasClosed() ? closing() : error;
    } finally {
      this.#answering = null;
      this.#next();
    }
  }

  #enqueue(actor: string): Turn {
    const own = this.#waiting.get(actor) ?? [];
    if (this.#waitingCount >= WAITING_MAX || own.length >= WAITING_OF_PRINCIPAL_MAX)
      throw refuse(
        "overloaded",
        own.length >= WAITING_OF_PRINCIPAL_MAX
          ? `You already have ${own.length} questions about the future waiting; try again in a moment.`
          : `${this.#waitingCount} questions about the future are already waiting; try again in a moment.`,
      );
    const { promise: begins, resolve: begin } = Promise.withResolvers<void>();
    const turn: Turn = { actor, begins, begin, giveUp: null };
    own.push(turn);
    this.#waiting.set(actor, own);
    this.#waitingCount += 1;
    if (this.#answering === null) this.#next();
    else this.#share();
    return turn;
  }

  /** Starts the first question of the principal whose last answer is longest ago. */
  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#answering !== null) return;
    const [actor, turns] = first;
    const turn = turns.shift();
    this.#waiting.delete(actor);
    if (turns.length > 0) this.#waiting.set(actor, turns);
    if (turn === undefined) return;
    this.#waitingCount -= 1;
    this.#answering = turn;
    turn.begin();
    this.#share();
  }

  /** Limits the answer in progress once another principal waits. */
  #share(): void {
    const turn = this.#answering;
    if (turn === null || turn.limit !== undefined) return;
    const isShared = [...this.#waiting.keys()].some((actor) => actor !== turn.actor);
    const { sharedAnswerMsMax } = this.#options;
    if (isShared) turn.limit = setTimeout(() => turn.giveUp?.(sharedAnswerMsMax), sharedAnswerMsMax);
  }

  async #answer(asked: ForecastQuestion | QuestionOfState, gone: AbortSignal, turn: Turn): Promise<ForecastOutcome> {
    const { driver, nowMs, answerMsMax } = this.#options;
    const { question, snapshot } = await driver.read((engine) => ({
      question: typeof asked === "function" ? asked(engine) : asked,
      snapshot: engine.snapshot(),
    }));
    if (this.#isClosed) throw closing();
    if (gone.aborted) throw tooLong(answerMsMax);
    const thread = this.#running();
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUp = (afterMs: number): void => {
      reject(tooLong(afterMs));
      this.#drop(thread);
      void thread.terminate();
    };
    turn.giveUp = giveUp;
    const limit = setTimeout(giveUp, answerMsMax, answerMsMax);
    const leave = (): void => giveUp(answerMsMax);
    gone.addEventListener("abort", leave, { once: true });
    try {
      const reply = await Promise.race([thread.call({ question, snapshot, nowMs: nowMs() }), promise]);
      if (reply.heapBytes > HEAP_KEPT_BYTES_MAX) {
        this.#drop(thread);
        void thread.terminate();
      }
      return reply.outcome;
    } catch (error) {
      throw isOutOfMemory(error) ? tooLarge(this.#options.heapMibMax) : error;
    } finally {
      clearTimeout(limit);
      clearTimeout(turn.limit);
      gone.removeEventListener("abort", leave);
    }
  }

  /** The thread. A thread that has ended is replaced for the next question. */
  #running(): Thread {
    if (this.#thread !== null) return this.#thread;
    const thread: Thread = new ThreadCalls(
      new URL("./forecast-thread.ts", import.meta.url),
      null,
      this.#options.heapMibMax,
    );
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

function tooLong(afterMs: number): Error {
  return refuse(
    "tookTooLong",
    `The forecast was cancelled after ${afterMs / 1000} s. Try again later, or when fewer workloads are waiting.`,
  );
}

function tooLarge(heapMibMax: number): Error {
  return refuse(
    "tookTooLong",
    `The forecast was cancelled: it needs more than ${heapMibMax} MiB of memory. Ask about fewer nodes, or a shorter time.`,
  );
}
