/** Takes questions about the time to come. What plays the future takes longer, so it is answered apart from what tries the present. */
import type { Driver } from "../driver/driver.ts";
import { OutlookLane } from "./outlook-lane.ts";
import type { OutlookAnswers, OutlookQuestion } from "./outlook-question.ts";

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
    const outcome = await (isOfPresent ? this.#present : this.#future).ask(question, gone);
    if (outcome.kind === "failed") throw new Error(`looking ahead failed: ${outcome.message}`);
    // The thread answers each question with what its kind is answered with.
    return outcome.answer as OutlookAnswers[Kind];
  }

  async close(): Promise<void> {
    await Promise.all([this.#present.close(), this.#future.close()]);
  }
}
