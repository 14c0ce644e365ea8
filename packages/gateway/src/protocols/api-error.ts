/** Refusals and failures in the format of each protocol's SDK. */

export type Dialect = "openai" | "anthropic" | "kserve";

export type ErrorKind =
  | "badRequest"
  | "unauthenticated"
  | "forbidden"
  | "regionForbidden"
  | "notFound"
  | "modelNotFound"
  | "methodNotAllowed"
  | "timeout"
  | "tooLarge"
  | "rateLimited"
  | "budgetExhausted"
  | "internal"
  | "upstreamFailed"
  | "overloaded"
  | "upstreamTimeout"
  | "deadlineExceeded";

export interface ApiError {
  readonly kind: ErrorKind;
  readonly message: string;
  /** Path of the field of the request that is refused. OpenAI's errors have it. */
  readonly field?: string | undefined;
  /** Code that replaces the code of the error's kind. */
  readonly code?: string | undefined;
  /** Time in ms after which a retry may succeed. */
  readonly retryAfterMs?: number | undefined;
  /** Status that replaces the status of the error's kind, for example for HTTP framing errors (431, 417, 501). */
  readonly status?: number | undefined;
}

interface KindShape {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  /** Anthropic's `error.type`. */
  readonly anthropic: string;
}

const shapes: Readonly<Record<ErrorKind, KindShape>> = {
  badRequest: { status: 400, type: "invalid_request_error", code: null, anthropic: "invalid_request_error" },
  unauthenticated: {
    status: 401,
    type: "invalid_request_error",
    code: "invalid_api_key",
    anthropic: "authentication_error",
  },
  forbidden: { status: 403, type: "invalid_request_error", code: "model_not_allowed", anthropic: "permission_error" },
  regionForbidden: {
    status: 403,
    type: "invalid_request_error",
    code: "region_not_allowed",
    anthropic: "permission_error",
  },
  notFound: { status: 404, type: "invalid_request_error", code: "unknown_url", anthropic: "not_found_error" },
  modelNotFound: { status: 404, type: "invalid_request_error", code: "model_not_found", anthropic: "not_found_error" },
  methodNotAllowed: {
    status: 405,
    type: "invalid_request_error",
    code: "method_not_supported",
    anthropic: "invalid_request_error",
  },
  timeout: { status: 408, type: "invalid_request_error", code: "request_timeout", anthropic: "invalid_request_error" },
  tooLarge: { status: 413, type: "invalid_request_error", code: "request_too_large", anthropic: "request_too_large" },
  rateLimited: { status: 429, type: "rate_limit_error", code: "rate_limit_exceeded", anthropic: "rate_limit_error" },
  budgetExhausted: {
    status: 429,
    type: "insufficient_quota",
    code: "insufficient_quota",
    anthropic: "rate_limit_error",
  },
  internal: { status: 500, type: "server_error", code: "internal_error", anthropic: "api_error" },
  upstreamFailed: { status: 502, type: "server_error", code: "upstream_error", anthropic: "api_error" },
  overloaded: { status: 503, type: "server_error", code: "overloaded", anthropic: "overloaded_error" },
  upstreamTimeout: { status: 504, type: "server_error", code: "upstream_timeout", anthropic: "api_error" },
  deadlineExceeded: { status: 504, type: "server_error", code: "deadline_exceeded", anthropic: "timeout_error" },
};

export function statusOf(error: ApiError): number {
  return error.status ?? shapes[error.kind].status;
}

/** The JSON body of an error response. */
export function errorBody(dialect: Dialect, error: ApiError): string {
  const { type, code, anthropic } = shapes[error.kind];
  switch (dialect) {
    case "openai":
      return JSON.stringify({
        error: { message: error.message, type, param: error.field ?? null, code: error.code ?? code },
      });
    case "anthropic":
      return JSON.stringify({ type: "error", error: { type: anthropic, message: error.message } });
    case "kserve":
      return JSON.stringify({ error: error.message });
  }
}

/** The event that ends a stream that failed after its first byte. */
export function errorEvent(dialect: Dialect, operation: string, error: ApiError): string {
  const body = errorBody(dialect, error);
  if (dialect === "anthropic") return `event: error\ndata: ${body}\n\n`;
  if (operation === "responses") {
    const { code } = shapes[error.kind];
    return `event: error\ndata: ${JSON.stringify({ type: "error", code, message: error.message, param: null })}\n\n`;
  }
  return `data: ${body}\n\n`;
}
