/** Functions and data of the gateway that an exchange uses. */
import type { Chosen, PrefixBlocks, Slo } from "@headroom/routing";
import type { Caller } from "../access/teams.ts";
import type { MemoryBudget } from "../http/memory-budget.ts";
import type { RequestHead } from "../http/request-head.ts";
import type { RequestPeek } from "../json/peek.ts";
import type { LimitSource, ReservedAmount } from "../limits/account.ts";
import type { ApiError } from "../protocols/api-error.ts";
import type { Endpoint } from "../protocols/endpoints.ts";
import type { Pool } from "../replicas/pool.ts";
import type { UsageRecord } from "../usage/record.ts";
import type { UsageWriter } from "../usage/usage-log.ts";
import type { AttemptNote } from "./attempt-note.ts";
import type { Exchange } from "./exchange.ts";
import type { ModelRoute } from "./model-route.ts";
import type { Urgency } from "./urgency.ts";

/** The replica that holds a stored response, and the id that it gave to the response. */
export interface ResponseHolder {
  readonly pool: Pool;
  readonly replicaId: string;
  readonly responseId: string;
}

export interface ExchangeRequest {
  readonly id: string;
  readonly method: string;
  /** Path of the request at the upstream. */
  readonly path: string;
  readonly endpoint: Endpoint;
  readonly head: RequestHead;
  readonly traceparent: string;
  /** Header lines of the client's `tracestate`. Empty if its `traceparent` is not valid. */
  readonly tracestate: string;
  readonly caller: Caller;
  readonly model: ModelRoute;
  readonly peek: RequestPeek;
  /** The replica that holds the response that this request continues (`previous_response_id`). */
  readonly holder: ResponseHolder | undefined;
  /** Body of the request, kept for further attempts. Emptied when no further attempt is possible. */
  body: Buffer;
  readonly bodyBytes: number;
  /** Whether it is a line of a batch. */
  readonly isBatch: boolean;
  readonly urgency: Urgency;
}

/** The fields of a request that the access log and traces need. */
export interface LoggedRequest {
  readonly head: Pick<RequestHead, "requestId" | "traceparent">;
  readonly traceparent: string;
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
  readonly bodyBytes: number;
}

export interface ExchangeSummary {
  readonly record: Omit<UsageRecord, "seq">;
  readonly startedAtMs: number;
  /** Time of the first byte, or 0 before it. */
  readonly firstByteAtMs: number;
  readonly endedAtMs: number;
  readonly replicaId: string;
  /** The router's decision for the replica that answered. */
  readonly decision: Chosen | undefined;
  /** The requests that were sent to replicas, with retries and hedges. */
  readonly attempts: readonly AttemptNote[];
  /** Amounts of the limits that the request reserved. */
  readonly reserved: readonly ReservedAmount[];
  /** The error, if the gateway answered with one of its own. */
  readonly refusal: ApiError | undefined;
  readonly isStream: boolean;
  /** Undefined for a request that was refused before its headers were read. */
  readonly urgency: Urgency | undefined;
}

export interface UsageSink {
  append(record: Omit<UsageRecord, "seq">, writer: UsageWriter | undefined): void;
}

/** Retries and hedges that the gateway may still make. */
export interface RetryBudget {
  take(): boolean;
}

export interface Runtime {
  readonly limits: LimitSource;
  readonly usage: UsageSink;
  readonly retries: RetryBudget;
  readonly responseBufferBytes: number;
  /** Maximum size in bytes of an answer that must be held as a whole. */
  readonly answerBytesMax: number;
  /** Memory for answers, and parts of answers, that are held. */
  readonly answers: MemoryBudget;
  /** Interval at which a long stream records its usage so far. */
  readonly checkpointMs: number;
  /** Number of responses that are read to their end after their client has left. */
  restCount: number;
  now(): number;
  /** Prints a line for the operator. */
  log(line: string): void;
  prefixOf(request: ExchangeRequest): PrefixBlocks;
  sloOf(own: ReadonlyMap<string, string>): Slo;
  /**
   * Wakes a pool, once for all waiting requests. If `bytes` is given, the request is held, and `ready` is called when a
   * replica is up, or with an error. Returns a function that removes the request from the queue, or undefined if the
   * queue is full.
   */
  wake(pool: Pool, bytes: number | undefined, ready: (error: ApiError | undefined) => void): (() => void) | undefined;
  /** Time in ms after which a request to a pool that cannot take it now may succeed: longer if the pool is waking. */
  wakeRetryMs(pool: Pool): number;
  /** Memory for the recorded events of streams that may have to be continued. */
  readonly records: MemoryBudget;
  /**
   * Whether there is enough memory, besides that for the bodies of new requests, to keep bodies for the continuation of
   * streams.
   */
  keepsBodies(): boolean;
  /** Called when the client has the first byte: the body will not be sent again. */
  bodyUnneeded(exchange: Exchange): void;
  ended(exchange: Exchange, summary: ExchangeSummary): void;
}
