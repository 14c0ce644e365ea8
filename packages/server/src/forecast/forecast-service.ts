/** Takes questions about the time to come. What plays the future takes longer, so it is answered apart from what tries the present. */
import type { Driver } from "../driver/driver.ts";
import { ForecastPool } from "./forecast-pool.ts";
import type { ForecastAnswers, ForecastOutcome, ForecastQuestion, QuestionOfState } from "./forecast-question.ts";

/** Ten times what the slowest question should take. */
const ANSWER_MS_MAX = 30_000;

export interface ForecastServiceOptions {
  readonly driver: Pick<Driver, "read">;
  readonly nowMs: () => number;
  readonly answerMsMax?: number;
}

export class ForecastService {
  /** What would start work now, and how to gather what is free. */
  readonly #present: ForecastPool;
  /** What forward runs tell. */
  readonly #future: ForecastPool;

  constructor({ driver, nowMs, answerMsMax = ANSWER_MS_MAX }: ForecastServiceOptions) {
    this.#present = new ForecastPool({ driver, nowMs, answerMsMax });
    this.#future = new ForecastPool({ driver, nowMs, answerMsMax });
  }

  /** `gone`: whoever asks has left, and the question is given up. */
  async ask<Kind extends ForecastQuestion["kind"]>(
    question: ForecastQuestion & { readonly kind: Kind },
    actor: string,
    gone: AbortSignal,
  ): Promise<ForecastAnswers[Kind]> {
    const isOfPresent = question.kind === "changes" || question.kind === "defragmentation";
    return answerIn<Kind>(await (isOfPresent ? this.#present : this.#future).ask(question, actor, gone));
  }

  /** A what-if, whose change is resolved on the state that it is played on. */
  async whatIf(
    question: QuestionOfState<ForecastQuestion & { readonly kind: "whatIf" }>,
    actor: string,
    gone: AbortSignal,
  ): Promise<ForecastAnswers["whatIf"]> {
    return answerIn<"whatIf">(await this.#future.ask(question, actor, gone));
  }

  async close(): Promise<void> {
    await Promise.all([this.#present.close(), this.#future.close()]);
  }
}

function answerIn<Kind extends ForecastQuestion["kind"]>(outcome: ForecastOutcome): ForecastAnswers[Kind] {
  if (outcome.kind === "failed") throw new Error(`looking ahead failed: ${outcome.message}`);
  // The thread answers each kind of question with its kind of answer.
  return outcome.answer as ForecastAnswers[Kind];
}
