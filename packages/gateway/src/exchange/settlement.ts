/** A request's reservation, its refusal by a limit, and its final usage. */
import type { UpstreamFailureKind } from "../http/upstream-connection.ts";
import type { TokenCounts } from "../json/usage.ts";
import type { Denial, Need } from "../limits/account.ts";
import { errorBody, errorEvent, statusOf, type ApiError } from "../protocols/api-error.ts";
import type { Pool } from "../replicas/pool.ts";
import type { UsageOutcome, UsageRecord } from "../usage/record.ts";
import type { Attempt } from "./attempt.ts";
import type { RequestPeek } from "../json/peek.ts";
import { nanoUsdOf, type LeftBy, type ModelRoute, type PoolRoute } from "./model-route.ts";
import type { ExchangeRequest } from "./runtime.ts";

export function needOf(request: ExchangeRequest): Need {
  const { model, endpoint } = request;
  if (!isPriced(endpoint)) return { tokens: 0, nanoUsd: 0 };
  const counts = mostTokensOf(request);
  return {
    tokens: counts.promptTokens + counts.completionTokens,
    // Any of the pools may serve the request.
    nanoUsd: Math.max(...model.routes.map(({ pool }) => nanoUsdOf(model.priceAt(pool), counts))),
  };
}

/** The most that the request can cost at the pool. */
export function priceOf(request: ExchangeRequest, pool: Pool): number {
  return nanoUsdOf(request.model.priceAt(pool), mostTokensOf(request));
}

function mostTokensOf({ model, peek, bodyBytes, endpoint }: ExchangeRequest): TokenCounts {
  const promptTokens = model.reservedPromptTokens(bodyBytes);
  const completionTokens = endpoint.isGenerating ? outputTokensOf(model, peek) * peek.choiceCount : 0;
  return { promptTokens, completionTokens, cachedTokens: 0 };
}

/** The most output tokens of one choice: what the client states, else what the gateway sets. */
function outputTokensOf({ config }: ModelRoute, { outputTokensMax, outputTokensMin }: RequestPeek): number {
  return Math.max(outputTokensMax ?? config.outputTokensReserved, outputTokensMin);
}

/**
 * The maximum of output tokens that the gateway writes into a request whose client states none: what the limits of its
 * team, or the budget of an overflow, reserve for it. Undefined if the client states one, or no limit depends on it.
 */
export function addedMaximumOf(
  { model, peek, caller, endpoint }: ExchangeRequest,
  { overflow }: Pick<PoolRoute, "overflow">,
): number | undefined {
  const { tokens, money } = caller.limits;
  const isLimited = tokens !== undefined || money !== undefined || overflow !== undefined;
  const isOpen = endpoint.isGenerating && peek.outputTokensMax === undefined;
  return isLimited && isOpen ? outputTokensOf(model, peek) : undefined;
}

/** The tokens of a stored response were counted when it was made, and a count of tokens makes none. */
function isPriced({ operation }: ExchangeRequest["endpoint"]): boolean {
  return operation !== "stored_response" && operation !== "count_tokens";
}

export function limitError({ definition, retryAtMs }: Denial, nowMs: number): ApiError {
  const { kind, limit, period } = definition;
  const retryAfterMs = Math.max(1, Math.ceil(retryAtMs - nowMs));
  const seconds = Math.ceil(retryAfterMs / 1000);
  if (kind === "money") {
    const message = `The budget of ${limit / 1e9} USD a ${period ?? "period"} is used up. It starts again in ${seconds} s.`;
    return { kind: "budgetExhausted", message, retryAfterMs };
  }
  const message = `The limit of ${limit} ${kind} a minute is reached. Try again in ${seconds} s.`;
  return { kind: "rateLimited", message, retryAfterMs };
}

/** Header lines that describe the operator's account at a provider, and the provider's server. */
const accountLines =
  /^(?:server|(?:openai|anthropic)-(?:organization|project)[^:]*|(?:x|anthropic)-ratelimit-[^:]*):.*\r\n/gim;

export function headersOf({ head, pool, route }: Pick<Attempt, "head" | "pool" | "route">, id: string): string {
  const forwarded = head?.forwarded ?? "";
  const shown = (head?.status ?? 0) < 400 ? forwarded : pool.headers.withoutSecretLines(forwarded);
  const overflow = route.overflow === undefined ? "" : `x-headroom-overflow: ${route.overflow.reason}\r\n`;
  return `${pool.traits.isProvider ? shown.replaceAll(accountLines, "") : shown}${overflow}x-request-id: ${id}\r\n`;
}

/** The gateway's own answer to a request that it refuses. */
export function refusalOf(
  { id, endpoint }: ExchangeRequest,
  error: ApiError,
): { readonly status: number; readonly headers: string; readonly body: Buffer } {
  return {
    status: statusOf(error),
    headers: refusalHeaders(id, error),
    body: Buffer.from(errorBody(endpoint.dialect, error)),
  };
}

export function refusalHeaders(id: string, error: ApiError): string {
  return `content-type: application/json\r\nx-request-id: ${id}\r\n${retryHeaders(error)}`;
}

function retryHeaders({ retryAfterMs }: ApiError): string {
  if (retryAfterMs === undefined) return "";
  return `retry-after: ${Math.ceil(retryAfterMs / 1000)}\r\nretry-after-ms: ${retryAfterMs}\r\n`;
}

/** The time that the headers of a response state, from the gateway or from a replica. */
export function retryAfterIn(headers: string): number | undefined {
  const [, unit, value] = /^retry-after(-ms)?: *(\d{1,9})\r$/im.exec(headers) ?? [];
  return value === undefined ? undefined : Number(value) * (unit === undefined ? 1000 : 1);
}

export interface Outcome {
  readonly outcome: UsageOutcome;
  readonly status: number;
  readonly atMs: number;
  /** Token counts reported by the replica, if any. */
  readonly reported: TokenCounts | undefined;
  /** Number of received events with output. */
  readonly counted: number;
  /** Number of received bytes of an answer that is no stream and is forwarded in parts. Its replica has made all of it. */
  readonly answerBytes: number;
  /**
   * Output tokens of a replica that failed before another one continued: the second replica reports them as part of its
   * prompt.
   */
  readonly continuedTokens: number;
  readonly pool: Pool | undefined;
  /** The overflow by which the request went to the pool. */
  readonly overflow: LeftBy | undefined;
}

export function usageRecordOf(request: ExchangeRequest, end: Outcome): Omit<UsageRecord, "seq"> {
  const { caller, model, endpoint, id, bodyBytes } = request;
  const { outcome, continuedTokens, pool } = end;
  const counted = end.counted === 0 ? estimatedOutput(request, end) : end.counted;
  const reported = isPriced(endpoint) ? end.reported : undefined;
  const isServed = isPriced(endpoint) && (outcome !== "failed" || end.counted > 0);
  const counts =
    reported === undefined
      ? unreported(request, isServed, counted)
      : {
          promptTokens: Math.max(0, reported.promptTokens - continuedTokens),
          completionTokens: Math.max(
            reported.completionTokens + continuedTokens,
            outcome === "completed" ? 0 : end.counted,
          ),
          cachedTokens: reported.cachedTokens,
        };
  if (reported !== undefined && outcome === "completed") model.learn(bodyBytes, counts.promptTokens);
  return {
    id,
    atMs: Math.round(end.atMs),
    team: caller.team,
    key: caller.key,
    model: model.name,
    pool: pool?.name ?? "",
    operation: endpoint.operation,
    outcome,
    status: end.status,
    ...counts,
    isPromptEstimated: reported === undefined && isServed,
    nanoUsd: isServed ? nanoUsdOf(model.priceAt(pool), counts) : 0,
    ...(end.overflow === undefined ? {} : { overflow: end.overflow.name, overflowReason: end.overflow.reason }),
  };
}

/** Output of a large answer that is no stream and was cut off before its usage: what its bytes may hold. */
function estimatedOutput({ model, peek, endpoint }: ExchangeRequest, { answerBytes, status }: Outcome): number {
  if (!endpoint.isGenerating || answerBytes === 0 || (status >= 400 && status !== 499)) return 0;
  const allowed = peek.outputTokensMax === undefined ? Number.POSITIVE_INFINITY : outputTokensOf(model, peek);
  return Math.min(model.estimatedPromptTokens(answerBytes), allowed * Math.max(1, peek.choiceCount));
}

function unreported({ model, bodyBytes }: ExchangeRequest, isServed: boolean, counted: number): TokenCounts {
  return {
    promptTokens: isServed ? model.estimatedPromptTokens(bodyBytes) : 0,
    completionTokens: counted,
    cachedTokens: 0,
  };
}

/** Why a response ended before its end. `detail` is for the operator. */
export interface StreamBreak {
  readonly kind: UpstreamFailureKind | "tooLarge";
  readonly detail: string;
}

/** Text for clients. It omits the failure's detail, which can hold internal addresses. */
const brokenTexts: Readonly<Record<StreamBreak["kind"], string>> = {
  connect: "no connection to it was possible",
  closed: "the connection to it closed",
  malformed: "its response was not valid",
  truncated: "its response ended too early",
  timeout: "it did not answer in time",
  tooLarge: "its answer is larger than the gateway can hold",
};

/** The event that ends a stream whose model server failed after its first byte. */
export function brokenStreamEvent(
  { dialect, operation, errorOperation = operation }: ExchangeRequest["endpoint"],
  kind: StreamBreak["kind"],
): Buffer {
  const message = `The model server failed while it answered: ${brokenTexts[kind]}.`;
  return Buffer.from(errorEvent(dialect, errorOperation, { kind: "upstreamFailed", message }));
}
