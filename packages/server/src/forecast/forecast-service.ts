/**
 * Accepts forecast questions. Simulations of the future take longer than counterfactual runs on the present state, so
 * each kind has a pool of its own.
 */
import type { Driver } from "../driver/driver.ts";
import { ForecastPool } from "./forecast-pool.ts";
import type { ForecastAnswers, ForecastOutcome, ForecastQuestion, QuestionOfState } from "./forecast-question.ts";

/** Time in ms after which a question is cancelled: ten times the expected time of the slowest question. */
const ANSWER_MS_MAX = 30_000;
/** Time in ms after which an answer is abandoned if another principal is waiting. */
const SHARED_ANSWER_MS_MAX = 3_000;
/** Heap in MiB that one question may use. The nodes that a what-if may add cost some 600 MiB of it. */
const HEAP_MIB_MAX = 2_048;

export interface ForecastServiceOptions {
  readonly driver: Pick<Driver, "read">;
  readonly nowMs: () => number;
  readonly answerMsMax?: number;
  readonly sharedAnswerMsMax?: number;
  readonly heapMibMax?: number;
}

const PRESENT: ReadonlySet<ForecastQuestion["kind"]> = new Set(["changes", "defragmentation", "orderAdvice"]);

export class ForecastService {
  /** Questions about the present state: changes and orders that would start work, and defragmentation. */
  readonly #present: ForecastPool;
  /** Questions of the autoscaler, which users must not delay. */
  readonly #room: ForecastPool;
  /** Questions about the future: start estimates and what-ifs. */
  readonly #future: ForecastPool;

  constructor({
    driver,
    nowMs,
    answerMsMax = ANSWER_MS_MAX,
    sharedAnswerMsMax = SHARED_ANSWER_MS_MAX,
    heapMibMax = HEAP_MIB_MAX,
  }: ForecastServiceOptions) {
    const options = { driver, nowMs, answerMsMax, sharedAnswerMsMax, heapMibMax };
    this.#present = new ForecastPool(options);
    this.#room = new ForecastPool(options);
    this.#future = new ForecastPool(options);
  }

  /** `gone`: aborts when the client disconnects. The question is then abandoned. */
  async ask<Kind extends ForecastQuestion["kind"]>(
    question: ForecastQuestion & { readonly kind: Kind },
    actor: string,
    gone: AbortSignal,
  ): Promise<ForecastAnswers[Kind]> {
    if (question.kind === "makesRoom") return answerIn<Kind>(await this.#room.ask(question, actor, gone));
    const isOfPresent = PRESENT.has(question.kind);
    return answerIn<Kind>(await (isOfPresent ? this.#present : this.#future).ask(question, actor, gone));
  }

  /** Answers a what-if whose change depends on the simulated state. */
  async whatIf(
    question: QuestionOfState<ForecastQuestion & { readonly kind: "whatIf" }>,
    actor: string,
    gone: AbortSignal,
  ): Promise<ForecastAnswers["whatIf"]> {
    return answerIn<"whatIf">(await this.#future.ask(question, actor, gone));
  }

  async close(): Promise<void> {
    await Promise.all([this.#present.close(), this.#room.close(), this.#future.close()]);
  }
}

function answerIn<Kind extends ForecastQuestion["kind"]>(outcome: ForecastOutcome): ForecastAnswers[Kind] {
  if (outcome.kind === "failed") throw new Error(`the forecast failed: ${outcome.message}`);
  // The cast is safe: the type of an answer depends only on the kind of its question.
  return outcome.answer as ForecastAnswers[Kind];
}
