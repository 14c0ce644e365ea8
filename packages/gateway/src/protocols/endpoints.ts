/** The paths that the gateway serves, and the operation of each. */
import type { Dialect } from "./api-error.ts";

/** Operations. The names are those of OpenTelemetry's `gen_ai.operation.name` if there is one. */
export type Operation =
  | "chat"
  | "text_completion"
  | "embeddings"
  | "responses"
  | "stored_response"
  | "messages"
  | "count_tokens"
  | "infer"
  | "rerank"
  | "score";

export interface Endpoint {
  readonly operation: Operation;
  readonly dialect: Dialect;
  /** The path at the upstream. For `infer` it is the request's own path. */
  readonly path: string;
  /** Whether an answer has output tokens that a limit should reserve. */
  readonly isGenerating: boolean;
  /**
   * The operation that the client requested, if the request was translated. Errors in its streams have the format of
   * that operation.
   */
  readonly errorOperation?: Operation;
}

function endpoint(operation: Operation, path: string, dialect: Dialect = "openai"): Endpoint {
  return {
    operation,
    dialect,
    path,
    isGenerating:
      operation === "chat" || operation === "text_completion" || operation === "responses" || operation === "messages",
  };
}

const byPath: ReadonlyMap<string, Endpoint> = new Map(
  [
    endpoint("chat", "/v1/chat/completions"),
    endpoint("text_completion", "/v1/completions"),
    endpoint("embeddings", "/v1/embeddings"),
    endpoint("responses", "/v1/responses"),
    endpoint("rerank", "/v1/rerank"),
    endpoint("score", "/v1/score"),
    endpoint("messages", "/v1/messages", "anthropic"),
    endpoint("count_tokens", "/v1/messages/count_tokens", "anthropic"),
  ].map((each) => [each.path, each]),
);

/** The path of a request's target, without its query. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

export function endpointAt(path: string): Endpoint | undefined {
  return byPath.get(path);
}

/** Whether lines of a batch may have the path. A count of tokens is answered at once and costs nothing. */
export function isBatchPath(path: string): boolean {
  const operation = endpointAt(path)?.operation;
  return operation !== undefined && operation !== "count_tokens";
}

/**
 * Paths of KServe v2 inference. The version must not be `..`: a lenient server would then reach another model's path.
 */
const inferPattern = /^\/v2\/models\/([^/]{1,256})(?:\/versions\/\w[\w.-]{0,63})?\/infer$/;

/** The model in the path of a KServe v2 request. */
export function inferModelAt(path: string): string | undefined {
  const name = inferPattern.exec(path)?.[1];
  if (name === undefined) return undefined;
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}

/** The same path with the name that the model has at the replica. */
export function inferPathOf(path: string, model: string): string {
  const end = path.indexOf("/", "/v2/models/".length);
  return `/v2/models/${encodeURIComponent(model)}${path.slice(end)}`;
}

/** The protocol that determines the error format of a path. */
export function dialectOf(path: string): Dialect {
  if (path.startsWith("/v1/messages")) return "anthropic";
  return path === "/v2" || path.startsWith("/v2/") ? "kserve" : "openai";
}
