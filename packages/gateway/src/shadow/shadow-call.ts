/** One copy of a request at a replica of the new revision. Its answer is measured and thrown away. */
import type { Operation } from "../protocols/endpoints.ts";
import type { ResponseHead } from "../http/response-head.ts";
import type { ResponseReader, UpstreamFailure } from "../http/upstream-connection.ts";
import { SseTap } from "../exchange/sse-tap.ts";
import type { UpstreamMessage } from "../exchange/upstream-request.ts";
import type { TokenCounts } from "../json/usage.ts";
import type { Pool } from "../replicas/pool.ts";
import type { Replica } from "../replicas/replica.ts";
import { KeptAnswer } from "./answer-tap.ts";

export interface ShadowAnswer {
  readonly status: number;
  readonly isStream: boolean;
  readonly usage: TokenCounts | undefined;
  /** Events with output. */
  readonly outputCount: number;
  readonly firstByteMs: number;
  readonly durationMs: number;
  readonly kept: KeptAnswer;
}

export interface ShadowTarget {
  readonly pool: Pool;
  readonly replica: Replica;
  readonly operation: Operation;
  now(): number;
}

/** Sends the copy. `undefined`: the replica failed. The returned function cancels the copy, whose promise never settles then. */
export function callShadow(
  message: UpstreamMessage,
  target: ShadowTarget,
  done: (answer: ShadowAnswer | undefined) => void,
): () => void {
  const call = new ShadowCall(message, target, done);
  call.send();
  return () => call.cancel();
}

class ShadowCall implements ResponseReader {
  readonly #target: ShadowTarget;
  readonly #done: (answer: ShadowAnswer | undefined) => void;
  readonly #kept = new KeptAnswer();
  readonly #message: UpstreamMessage;
  #connection: ReturnType<Replica["connections"]["acquire"]>;
  #startedAtMs: number;
  #headAtMs = 0;
  #head: ResponseHead | undefined;
  #tap: SseTap | undefined;
  #timer: NodeJS.Timeout;

  constructor(message: UpstreamMessage, target: ShadowTarget, done: (answer: ShadowAnswer | undefined) => void) {
    this.#message = message;
    this.#target = target;
    this.#done = done;
    this.#startedAtMs = target.now();
    // As for requests of clients, whose times include the setup of a connection only now and then.
    this.#connection = target.replica.connections.acquire(false);
    this.#timer = this.#waitFor(target.pool.config.firstByteTimeout);
  }

  send(): void {
    const { head, body } = this.#message;
    this.#connection.send(head, body, this);
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#connection.cancel(this);
  }

  responseHead(head: ResponseHead): void {
    this.#head = head;
    this.#headAtMs = this.#target.now();
    if (head.isEventStream && head.status === 200) this.#tap = new SseTap(this.#target.operation, false);
    clearTimeout(this.#timer);
    this.#timer = this.#waitFor(this.#target.pool.config.betweenBytesTimeout);
  }

  responseBody(payload: readonly Buffer[]): void {
    this.#timer.refresh();
    for (const part of payload) {
      this.#tap?.feed(part);
      this.#kept.add(part);
    }
    if (this.#tap?.isTooLong === true) this.#connection.failTimeout(this, "an event of its answer is too large");
  }

  responseEnd(): void {
    clearTimeout(this.#timer);
    const { status = 0 } = this.#head ?? {};
    this.#tap?.rest();
    this.#done({
      status,
      isStream: this.#tap !== undefined,
      usage: this.#tap?.usage,
      outputCount: this.#tap?.outputCount ?? 0,
      firstByteMs: this.#headAtMs - this.#startedAtMs,
      durationMs: this.#target.now() - this.#startedAtMs,
      kept: this.#kept,
    });
  }

  responseFailed({ isStale }: UpstreamFailure): void {
    clearTimeout(this.#timer);
    if (!isStale) return this.#done(undefined);
    // The replica closed a kept-alive connection, which is no failure of the revision.
    const { replica, pool } = this.#target;
    this.#startedAtMs = this.#target.now();
    this.#connection = replica.connections.acquire(true);
    this.#timer = this.#waitFor(pool.config.firstByteTimeout);
    this.send();
  }

  #waitFor(timeoutMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#connection.failTimeout(this, `no byte for ${timeoutMs} ms`), timeoutMs);
  }
}
