/** Takes questions about the time to come. What plays the future takes longer, so it is answered apart from what tries the present. */
import type { Driver } from "../driver/driver.ts";
import { OutlookLane } from "./outlook-lane.ts";
import type { OutlookAnswers, OutlookOutcome, OutlookQuestion, QuestionOfState } from "./outlook-question.ts";

/** Ten times what the slowest question should take. */
const ANSWER_MS_MAX = 30_000;

export interface OutlookDeskOptions {
  readonly driver: Pick<Driver, "read">;
  readonly nowMs: () => number;
  readonly answerMsMax?: number;
}

export class OutlookDesk {
  /** What would start work now, and how to gather what is free. */
  readonly #present: OutlookLane;
  /** What forward runs tell. */
  readonly #future: OutlookLane;

  constructor({ driver, nowMs, answerMsMax = ANSWER_MS_MAX }: OutlookDeskOptions) {
    this.#present = new OutlookLane({ driver, nowMs, answerMsMax });
    this.#future = new OutlookLane({ driver, nowMs, answerMsMax });
  }

  /** `gone`: whoever asks has left, and the question is given up. */
  async ask<Kind extends OutlookQuestion["kind"]>(
    question: OutlookQuestion & { readonly kind: Kind },
    gone: AbortSignal,
  ): Promise<OutlookAnswers[Kind]> {
    const isOfPresent = question.kind === "changes" || question.kind === "defragmentation";
    return answerIn<Kind>(await (isOfPresent ? this.#present : this.#future).ask(question, gone));
  }

  /** A what-if, whose change is resolved on the state that it is played on. */
  async whatIf(
    question: QuestionOfState<OutlookQuestion & { readonly kind: "whatIf" }>,
    gone: AbortSignal,
  ): Promise<OutlookAnswers["whatIf"]> {
    return answerIn<"whatIf">(await this.#future.ask(question, gone));
  }

  async close(): Promise<void> {
    await Promise.all([this.#present.close(), this.#future.close()]);
  }
}

function answerIn<Kind extends OutlookQuestion["kind"]>(outcome: OutlookOutcome): OutlookAnswers[Kind] {
  if (outcome.kind === "failed") throw new Error(`looking ahead failed: ${outcome.message}`);
  // The thread answers each kind of question with its kind of answer.
  return outcome.answer as OutlookAnswers[Kind];
}
