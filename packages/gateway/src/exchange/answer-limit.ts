/** Errors of answers that exceed the memory that the gateway may hold for them. */
import type { AnswerLimit } from "../http/memory-budget.ts";
import type { ApiError } from "../protocols/api-error.ts";

export function answerLimitError(limit: AnswerLimit, answerBytesMax: number): ApiError {
  return limit === "answer"
    ? {
        kind: "upstreamFailed",
        message: `The model server's answer is larger than the ${answerBytesMax} bytes that the gateway holds of one.`,
      }
    : {
        kind: "overloaded",
        message: "The gateway holds as many bytes of answers as it may. Try again later.",
        retryAfterMs: 1000,
      };
}
