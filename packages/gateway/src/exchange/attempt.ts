/**
 * One attempt of a request at one replica. It reads the response and reports to its exchange, which makes all
 * decisions.
 */
import type { Chosen, RoutingRequest, Ticket } from "@headroom/routing";
import type { ResponseHead } from "../http/response-head.ts";
import type { ResponseReader, UpstreamConnection, UpstreamFailure } from "../http/upstream-connection.ts";
import type { Placement, Pool } from "../replicas/pool.ts";
import type { Replica } from "../replicas/replica.ts";
import type { AttemptNote } from "./attempt-note.ts";
import type { PoolRoute } from "./model-route.ts";
import type { UpstreamMessage } from "./upstream-request.ts";

export { attemptKind } from "./attempt-note.ts";

export interface AttemptOwner {
  attemptHead(attempt: Attempt, head: ResponseHead): void;
  attemptBody(attempt: Attempt, payload: readonly Buffer[], raw: Buffer | undefined): void;
  attemptEnd(attempt: Attempt): void;
  attemptFailed(attempt: Attempt, failure: UpstreamFailure): void;
}

/** Maximum time in ms between the last event of a stream and the end of its body. */
const LINGER_MS = 2000;

export class Attempt implements ResponseReader {
  readonly route: PoolRoute;
  readonly replica: Replica;
  readonly ticket: Ticket;
  readonly decision: Chosen;
  readonly startedAtMs: number;
  readonly note: AttemptNote;
  #owner: AttemptOwner;
  #connection: UpstreamConnection | undefined;
  head: ResponseHead | undefined;
  lastByteAtMs: number;
  /**
   * Whether the response is complete and the kernel has accepted the whole request. Nothing reads the request's body
   * from then on.
   */
  isSent = false;
  #isEnded = false;
  #isOver = false;
  #isPaused = false;
  #linger: NodeJS.Timeout | undefined;

  constructor(
    owner: AttemptOwner,
    route: PoolRoute,
    start: { placement: Placement; request: RoutingRequest; nowMs: number },
    kind: AttemptNote["kind"] = "first",
  ) {
    this.#owner = owner;
    this.route = route;
    this.replica = start.placement.replica;
    this.decision = start.placement.decision;
    this.startedAtMs = start.nowMs;
    this.lastByteAtMs = start.nowMs;
    this.note = {
      kind,
      pool: route.pool.name,
      replica: this.replica.id,
      decision: this.decision,
      startedAtMs: start.nowMs,
      status: 0,
      headAtMs: 0,
      endedAtMs: 0,
      outcome: "open",
      failure: "",
    };
    this.ticket = route.pool.start(start.placement, start.request, start.nowMs);
  }

  get pool(): Pool {
    return this.route.pool;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  send(message: UpstreamMessage, isFresh: boolean): void {
    const connection = this.replica.connections.acquire(isFresh);
    this.#connection = connection;
    connection.send(message.head, message.body, this);
  }

  /** Cancels the response. It does not count as a failure of the replica. */
  cancel(nowMs: number): void {
    this.#conclude("cancelled", nowMs);
    this.#connection?.cancel(this);
  }

  /** Ends the attempt at the deadline of its request. A replica that has not begun to answer counts as for a client that leaves. */
  giveUp(nowMs: number): void {
    this.abandoned(nowMs);
    this.cancel(nowMs);
  }

  /** Called when the client has left. */
  abandoned(nowMs: number): void {
    if (this.head === undefined) this.pool.abandoned(this.replica, nowMs - this.startedAtMs, nowMs);
  }

  /**
   * Tells the replica that the client has left. The rest of the response goes to `owner`. Returns false if this is not
   * possible; the attempt must then be cancelled.
   */
  leaveTo(owner: AttemptOwner): boolean {
    if (this.#isEnded || this.#connection?.halfClose(this) !== true) return false;
    this.#owner = owner;
    this.#isPaused = false;
    return true;
  }

  /** The answer for the client. An error may repeat the gateway's credential. */
  withoutSecrets(body: Buffer): Buffer {
    return (this.head?.status ?? 0) < 400 ? body : this.pool.headers.withoutSecrets(body);
  }

  /** The rest of the response goes to `owner`, as if the client were still there. */
  readOn(owner: AttemptOwner): boolean {
    if (this.#isEnded) return false;
    this.#owner = owner;
    this.resume(this.lastByteAtMs);
    return true;
  }

  conclude(outcome: "completed" | "failed", nowMs: number): void {
    this.#conclude(outcome, nowMs);
  }

  /**
   * Called when the stream's last event has arrived. If the end of the body does not follow within `LINGER_MS`, the
   * connection is closed.
   */
  lastEventCame(nowMs: number): void {
    this.#conclude("completed", nowMs);
    if (this.#isOver) return;
    this.#linger = setTimeout(() => this.#connection?.cancel(this), LINGER_MS);
    this.#linger.unref();
  }

  /** Drops the response. `outcome` states whether its status counts as a failure of the replica. */
  discard(outcome: "completed" | "failed", nowMs: number): void {
    this.#conclude(outcome, nowMs);
    this.#connection?.cancel(this);
  }

  pause(): void {
    if (this.#isEnded) return;
    this.#isPaused = true;
    this.#connection?.pause(this);
  }

  resume(nowMs: number): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.lastByteAtMs = nowMs;
    this.#connection?.resume(this);
  }

  /** Fails the attempt if its replica has been silent for too long. */
  sweep(nowMs: number): void {
    if (this.#isEnded) return;
    if (nowMs > this.replica.drainDeadlineAtMs) {
      this.#connection?.failTimeout(this, "the replica is leaving");
      return;
    }
    if (this.#isPaused) return;
    const { firstByteTimeout, betweenBytesTimeout } = this.pool.config;
    const limitMs = this.head === undefined ? firstByteTimeout : betweenBytesTimeout;
    if (nowMs - this.lastByteAtMs > limitMs) this.#connection?.failTimeout(this, `no byte for ${limitMs} ms`);
  }

  responseHead(head: ResponseHead): void {
    this.note.status = head.status;
    // The response is not forwarded: the replica rejected the gateway's credentials, not the client's, and its message
    // may contain parts of them.
    if ((head.status === 401 || head.status === 407) && this.pool.headers.hasSecrets) {
      this.#connection?.failRefused(this, "the replica refused the gateway's credentials");
      return;
    }
    this.head = head;
    this.#owner.attemptHead(this, head);
    // The owner has set the time of the last byte.
    this.note.headAtMs = this.lastByteAtMs;
  }

  responseBody(payload: readonly Buffer[], raw: Buffer | undefined): void {
    if (!this.#isEnded) this.#owner.attemptBody(this, payload, raw);
  }

  responseEnd(isSent: boolean): void {
    this.#isOver = true;
    // A timer that is still set keeps the whole request in memory.
    clearTimeout(this.#linger);
    this.isSent = isSent;
    if (!this.#isEnded) this.#owner.attemptEnd(this);
  }

  responseFailed(failure: UpstreamFailure): void {
    if (!this.#isEnded) this.note.failure = `${failure.kind}: ${failure.detail}`;
    if (!this.#isEnded) this.#owner.attemptFailed(this, failure);
  }

  #conclude(outcome: "completed" | "cancelled" | "failed", nowMs: number): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.note.outcome = outcome;
    this.note.endedAtMs = nowMs;
    this.pool.end(this.replica, this.ticket, outcome, nowMs);
    const { status, retryAfterMs } = this.head ?? {};
    if ((status === 429 || status === 503) && retryAfterMs !== undefined && retryAfterMs > 0)
      this.pool.backOff(this.replica, retryAfterMs, nowMs);
  }
}
