/** Messages that the gateway makes itself: the head of a batch line's request, and errors of its own state. */
import type { RequestHead } from "../http/request-head.ts";
import { errorBody, statusOf, type ApiError } from "../protocols/api-error.ts";
import { dialectOf } from "../protocols/endpoints.ts";

export const aloneHead: RequestHead = {
  method: "POST",
  target: "",
  minorVersion: 1,
  isKeepAlive: true,
  contentLength: 0,
  isExpectingContinue: false,
  key: "",
  contentType: "application/json",
  traceparent: "",
  tracestate: "",
  requestId: "",
  session: "",
  own: undefined,
  forwarded: "content-type: application/json\r\n",
};

export const filesFail: ApiError = { kind: "internal", message: "The files of batches cannot be read or written." };
export const usageFails: ApiError = {
  kind: "overloaded",
  message: "The gateway cannot record usage now and takes no requests. Try again later.",
  retryAfterMs: 5000,
};
export const bodiesFull: ApiError = {
  kind: "overloaded",
  message: "The gateway holds as many request bodies as it may.",
  retryAfterMs: 1000,
};

/** The answer to a request at `path` that is refused, for a request that no connection waits for. */
export function errorAnswer(
  path: string,
  error: ApiError,
): { readonly status: number; readonly body: string; readonly retryAfterMs: number | undefined } {
  return { status: statusOf(error), body: errorBody(dialectOf(path), error), retryAfterMs: error.retryAfterMs };
}

/** The kind of the error that answers a message which HTTP refuses with this status. */
export function kindOf(status: number): ApiError["kind"] {
  if (status === 408) return "timeout";
  if (status === 413) return "tooLarge";
  return status === 503 ? "overloaded" : "badRequest";
}
