/** The life of a request: admission, choice of pool and replica, retries and hedging, stream, settlement. Nothing waits. */
import type { AnswerLimit } from "../http/memory-budget.ts";
import type { ClientConnection, ClientExchange } from "../http/client-connection.ts";
import type { ResponseHead } from "../http/response-head.ts";
import type { UpstreamFailure } from "../http/upstream-connection.ts";
import { RequestLimits, reserve, Reservation, usedOf, type Denial } from "../limits/account.ts";
import type { ApiError } from "../protocols/api-error.ts";
import type { Replica } from "../replicas/replica.ts";
import type { UsageOutcome } from "../usage/record.ts";
import type { UsageWriter } from "../usage/usage-log.ts";
import { answerLimitError } from "./answer-limit.ts";
import { Attempt, attemptKind, type AttemptOwner } from "./attempt.ts";
import { attemptMessage, noBytes, type AttemptStart } from "./attempt-message.ts";
import { BufferedResponse, isRetryable } from "./buffered-response.ts";
import type { FallbackReason, PoolRoute } from "./model-route.ts";
import type { Listed } from "./exchange-list.ts";
import { OverflowTurn } from "./overflow.ts";
import { PoolTurn, type TurnOwner } from "./pool-turn.ts";
import { RouteCursor } from "./route-cursor.ts";
import { Checkpoints, servedByOf, servedUsage } from "./served-usage.ts";
import type { ExchangeRequest, ExchangeSummary, Runtime } from "./runtime.ts";
import { brokenStreamEvent, headersOf, limitError, needOf, refusalOf, type StreamBreak } from "./settlement.ts";
import { SseTap } from "./sse-tap.ts";
import { StreamProgress } from "./stream-progress.ts";
import { endBroken, type ResponseTarget } from "./target.ts";
import { UnreadRest } from "./unread-rest.ts";
import { ExchangeTimers } from "./exchange-timers.ts";

type Phase = "admitting" | "held" | "waiting" | "streaming" | "flowing" | "ending" | "ended";

export class Exchange implements ClientExchange, AttemptOwner, UsageWriter, Listed, TurnOwner {
  listIndex = -1;
  connection: ClientConnection | undefined;
  /** Memory of the request's body, for `takeReusableSlab`. */
  bodySlab: Buffer | undefined;
  /** Size of a translated body, which is counted besides the client's. */
  translatedBytes = 0;
  readonly request: ExchangeRequest;
  readonly limits: RequestLimits;
  readonly #runtime: Runtime;
  readonly #target: ResponseTarget;
  readonly #startedAtMs: number;
  readonly #routes: RouteCursor;
  readonly #overflow: OverflowTurn | undefined;
  readonly #turn: PoolTurn;
  readonly #timers: ExchangeTimers;
  #phase: Phase = "admitting";
  readonly #attempts: Attempt[] = [];
  readonly #notes: Attempt["note"][] = [];
  #refusal: ApiError | undefined;
  #committed: Attempt | undefined;
  #tap: SseTap | undefined;
  readonly #buffered: BufferedResponse;
  #hasBegun = false;
  #firstByteAtMs = 0;
  readonly #progress: StreamProgress;
  readonly #checkpoints: Checkpoints;
  #releaseHold: (() => void) | undefined;
  #finish: (() => void) | undefined;
  #summary: ExchangeSummary | undefined;

  constructor(runtime: Runtime, request: ExchangeRequest, target: ResponseTarget) {
    this.#runtime = runtime;
    this.request = request;
    this.#target = target;
    this.limits = new RequestLimits(runtime.limits, request.caller.limits);
    this.#startedAtMs = runtime.now();
    this.#routes = new RouteCursor(request);
    this.#overflow = OverflowTurn.of(runtime, request, this.limits);
    this.#turn = new PoolTurn(request, this, this.#routes);
    this.#buffered = new BufferedResponse(runtime.answers, runtime.answerBytesMax);
    this.#progress = new StreamProgress(request, runtime);
    this.#timers = new ExchangeTimers(request.urgency, (error) => this.#expired(error));
    this.#checkpoints = new Checkpoints(this.#startedAtMs, runtime.checkpointMs);
  }

  start(): void {
    const [{ caller }, { forbidden }] = [this.request, this.#routes];
    if (forbidden !== undefined) this.#refuse(forbidden);
    else if (!caller.hasLimits) this.#dispatch();
    else reserve(this.#runtime.limits, caller.limits, needOf(this.request), (outcome) => this.#admitted(outcome));
  }

  /** The body's memory, if nothing can read it any more: its only attempt was sent completely and answered completely. */
  takeReusableSlab(): Buffer | undefined {
    const slab = this.bodySlab;
    this.bodySlab = undefined;
    if (slab === undefined || this.#notes.length !== 1 || this.#committed?.isSent !== true) return undefined;
    this.request.body = noBytes;
    return slab;
  }

  clientGone(): void {
    if (this.#phase === "ended" || this.#phase === "ending") return;
    this.#timers.stop();
    this.#releaseHold?.();
    this.#forgetStream();
    this.#phase = "ending";
    for (const attempt of this.#attempts) attempt.abandoned(this.#runtime.now());
    const rest = new UnreadRest(this.request, this.#runtime, { tap: this.#tap, buffered: this.#buffered });
    rest.read(this.#attempts.splice(0), () => {
      this.#tap = rest.tap;
      this.#committed ??= rest.answered;
      this.#end("aborted", 499, () => undefined);
    });
  }

  /** The replica that serves the request, once it has begun to answer. */
  get servedBy(): Replica | undefined {
    return this.#committed?.replica;
  }

  clientDrained(): void {
    this.#committed?.resume(this.#runtime.now());
  }

  /** Called about once a second: timeouts, and a record of what long streams have used since the last one. */
  sweep(nowMs: number): void {
    for (const attempt of this.#attempts.toReversed()) attempt.sweep(nowMs);
    if (this.#phase === "held" && this.#turn.isOver(nowMs)) return this.goesOn(undefined);
    // A line of a batch that is interrupted runs again.
    if (this.#phase !== "streaming" || this.request.isBatch) return;
    if (!this.#checkpoints.take(nowMs, this.#tap?.outputCount ?? 0)) return;
    const record = this.#usageRecord("open", 200);
    this.limits.recorded(usedOf(record));
    this.#runtime.usage.append(record, undefined);
  }

  #admitted(outcome: Reservation | Denial): void {
    if (this.#phase === "ended") {
      if (outcome instanceof Reservation) outcome.release();
      return;
    }
    if (!(outcome instanceof Reservation)) return this.#refuse(limitError(outcome, this.#runtime.now()));
    this.limits.reservation = outcome;
    this.#dispatch();
  }

  /** Sends the request to the first pool that can take it. */
  #dispatch(): void {
    const routes = this.#routes;
    const nowMs = this.#runtime.now();
    if (this.#leaves(false)) return;
    for (let route = routes.admitting(); route !== undefined; routes.advance(), route = routes.admitting()) {
      const turn = this.#turn.at(route, nowMs);
      if (turn === "waits") return this.#waitsForTurn();
      const start = turn === "full" ? undefined : routes.placed(route, this.#runtime);
      if (start !== undefined) return this.#hasBegun ? this.#resume(route, start) : this.#try(route, start, false);
      if (turn === "full" || routes.isBackingOff(route, nowMs)) routes.reason = "overloaded";
      else {
        const held = routes.wake(route, this.#runtime, (error) => this.goesOn(error));
        if (typeof held === "function") return void ([this.#phase, this.#releaseHold] = ["held", held]);
        if (held === undefined) routes.reason = routes.tried.length > 0 ? "failed" : "unavailable";
      }
    }
    if (!this.#leaves(true)) this.#refuse(routes.unavailable(this.#runtime));
  }

  #waitsForTurn(): void {
    this.#turn.sinceMs = this.#runtime.now();
    [this.#phase, this.#releaseHold] = ["held", () => this.#turn.end(undefined)];
  }

  /** A held request goes on, or is refused. */
  goesOn(error: ApiError | undefined): void {
    this.#releaseHold = undefined;
    if (this.#phase !== "held") return;
    this.#phase = "admitting";
    this.#routes.restart();
    return error === undefined ? this.#dispatch() : this.#refuse(error);
  }

  givesWay(): boolean {
    const goesOnLater = this.#hasBegun && this.#progress.at(this.#committed?.route) !== undefined;
    if (this.#phase !== "waiting" && this.#phase !== "streaming") return false;
    for (const attempt of this.#attempts.splice(0)) attempt.cancel(this.#runtime.now());
    // The stopped attempt is not billed by itself, and did not fail.
    this.#notes.length = 0;
    if (goesOnLater) this.#tap?.rest();
    else this.#resetResponse();
    this.#waitsForTurn();
    return true;
  }

  /** Whether the request leaves its saturated pool, or will know soon. `isLast`: no own pool takes it. */
  #leaves(isLast: boolean): boolean {
    if (this.#overflow === undefined) return false;
    this.#phase = "admitting";
    return this.#overflow.leaves(this.#routes, isLast, () => {
      if (this.#phase === "admitting") this.#dispatch();
    });
  }

  #try(route: PoolRoute, start: AttemptStart, isFresh: boolean): void {
    const attempt = new Attempt(this, route, start, attemptKind(this.#notes, this.#hasBegun));
    this.#attempts.push(attempt);
    this.#routes.attemptCount++;
    this.#notes.push(attempt.note);
    this.#phase = "waiting";
    const isFilling = this.request.isBatch && route.pool.fair !== undefined;
    const hedgeAfter = isFilling ? undefined : route.pool.config.hedgeAfter;
    const { continuation } = this.#progress;
    const message = attemptMessage(this.request, { route, replica: start.placement.replica, continuation });
    if (continuation === undefined) this.#timers.startHedge(hedgeAfter, () => this.#hedge(route));
    attempt.send(message, isFresh);
  }

  /** Starts a second attempt at another replica if the first is silent; the first byte wins. */
  #hedge(route: PoolRoute): void {
    if (this.#phase !== "waiting" || this.#committed !== undefined || this.#attempts.length !== 1) return;
    if (!this.#runtime.retries.take()) return;
    this.#routes.tried.push(this.#attempts[0]!.replica.id);
    const start = this.#routes.placed(route, this.#runtime);
    if (start !== undefined) this.#try(route, start, false);
  }

  attemptHead(attempt: Attempt, head: ResponseHead): void {
    const nowMs = this.#runtime.now();
    attempt.lastByteAtMs = nowMs;
    const reason: FallbackReason = head.status === 429 || head.status === 503 ? "overloaded" : "failed";
    // A line of a batch that found no room begins again later.
    if (this.#hasBegun && this.request.isBatch && reason === "overloaded") this.#resetResponse();
    if (this.#hasBegun) {
      const detail = `the continuation answered ${head.status}`;
      if (head.status !== 200 || !head.isEventStream) this.#breakStream(attempt, { kind: "malformed", detail });
      return;
    }
    const isHedged = this.#attempts.length > 1;
    if (
      isRetryable(head.status, this.request.endpoint.operation) &&
      (isHedged ||
        this.#routes.hasAlternative(attempt, reason, this.#runtime) ||
        this.#overflow?.hasTarget(this.#routes))
    ) {
      this.#drop(attempt);
      this.#routes.reason = reason;
      // A refusal because of load is an answer: the replica is healthy.
      attempt.discard(head.status === 429 ? "completed" : "failed", nowMs);
      this.#routes.tried.push(attempt.replica.id);
      if (!isHedged) this.#dispatch();
      return;
    }
    this.#commit(attempt, nowMs);
    if (head.isEventStream && head.status === 200) {
      const hidesUsage = !this.request.peek.isUsageAsked && attempt.pool.config.streamUsage;
      this.#tap = new SseTap(this.request.endpoint.operation, hidesUsage);
      this.#progress.begin(attempt.route);
      this.#phase = "streaming";
    }
  }

  attemptBody(attempt: Attempt, payload: readonly Buffer[], raw: Buffer | undefined): void {
    const nowMs = this.#runtime.now();
    attempt.lastByteAtMs = nowMs;
    if (this.#firstByteAtMs === 0) this.#firstByteAtMs = nowMs;
    if (this.#tap !== undefined) return this.#stream(attempt, this.#tap, { payload, raw, nowMs });
    if (this.#phase === "flowing") {
      this.#buffered.addForwarded(payload);
      for (const part of payload) if (!this.#target.write(part, undefined)) attempt.pause();
      return;
    }
    const limit = this.#buffered.add(payload);
    if (limit === undefined && this.#buffered.byteCount <= this.#runtime.responseBufferBytes) return;
    if (!this.#target.needsWhole) this.#flow(attempt);
    else if (limit !== undefined) this.#exceeds(attempt, limit);
  }

  attemptEnd(attempt: Attempt): void {
    const [nowMs, { head }] = [this.#runtime.now(), attempt];
    if (head === undefined || this.#phase === "ending") return;
    this.#drop(attempt);
    const rest = this.#tap?.rest();
    const isCut = this.#tap !== undefined && this.#target.isCut?.(rest, this.#hasBegun) === true;
    attempt.conclude(head.status >= 500 || isCut ? "failed" : "completed", nowMs);
    if (isCut) return this.#breakStream(attempt, { kind: "truncated", detail: "its stream has no end" });
    if (this.#tap !== undefined) {
      if (rest !== undefined) this.#forward(attempt, this.#progress.rewrite(rest), undefined);
      if (!this.#hasBegun) this.#target.begin(head.status, headersOf(attempt, this.request.id), noBytes);
      this.#end(this.#tap.hasError ? "failed" : "completed", head.status, () => this.#target.end());
      return;
    }
    const outcome: UsageOutcome = head.status < 400 ? "completed" : "failed";
    if (this.#phase === "flowing") return this.#end(outcome, head.status, () => this.#target.end());
    const body = attempt.withoutSecrets(this.#buffered.whole());
    this.#end(outcome, head.status, () => this.#target.respond(head.status, headersOf(attempt, this.request.id), body));
  }

  attemptFailed(attempt: Attempt, failure: UpstreamFailure): void {
    if (this.#phase === "ended" || this.#phase === "ending") return;
    const nowMs = this.#runtime.now();
    this.#drop(attempt);
    if (this.#hasBegun) {
      attempt.conclude("failed", nowMs);
      return this.#breakStream(attempt, failure);
    }
    this.#resetResponse();
    if (failure.isStale) {
      // The replica closed a kept-alive connection: not a failure, and not an attempt.
      attempt.cancel(nowMs);
      this.#routes.attemptCount--;
      const start = this.#routes.placed(attempt.route, this.#runtime);
      return start === undefined ? this.#dispatch() : this.#try(attempt.route, start, true);
    }
    if (failure.kind === "connect") attempt.pool.unreachable(attempt.replica);
    attempt.conclude("failed", nowMs);
    if (this.#attempts.length > 0) return;
    this.#routes.tried.push(attempt.replica.id);
    const mayRetry = this.#routes.attemptCount < attempt.pool.config.attempts && this.#runtime.retries.take();
    this.#routes.reason = "failed";
    if (!mayRetry) this.#routes.attemptCount = attempt.pool.config.attempts;
    if (mayRetry || this.#routes.hasLater) return this.#dispatch();
    if (!this.#leaves(true)) this.#refuse(this.#routes.failed(failure.kind, nowMs));
  }

  #stream(
    attempt: Attempt,
    tap: SseTap,
    data: { payload: readonly Buffer[]; raw: Buffer | undefined; nowMs: number },
  ): void {
    const [{ payload }, outputBefore] = [data, tap.outputCount];
    for (const [index, part] of payload.entries()) {
      const kept = tap.feed(part);
      if (kept === undefined) continue;
      const raw = kept === part && payload.length === 1 ? data.raw : undefined;
      const isLast = tap.isDone && index === payload.length - 1;
      if (isLast) this.#endStream(attempt, kept);
      else this.#forward(attempt, this.#progress.rewrite(kept), raw);
      this.#progress.add(kept);
    }
    if (tap.outputCount > outputBefore) {
      attempt.pool.router.tokens(attempt.ticket, tap.outputCount - outputBefore, data.nowMs);
    }
    if (this.#phase !== "streaming") return;
    const limit = tap.isTooLong ? "answer" : this.#buffered.holdStream(tap.heldBytes);
    if (limit !== undefined) this.#exceeds(attempt, limit);
  }

  /** Ends a response of which the gateway would have to hold more than it may. No other replica is tried. */
  #exceeds(attempt: Attempt, limit: AnswerLimit): void {
    this.#forgetStream();
    if (this.request.isBatch) this.#resetResponse();
    if (this.#hasBegun) return this.#breakStream(attempt, { kind: "tooLarge", detail: "it exceeds the bounds" });
    this.#drop(attempt);
    attempt.cancel(this.#runtime.now());
    this.#refuse(answerLimitError(limit, this.#runtime.answerBytesMax));
  }

  #forward(attempt: Attempt, bytes: Buffer, raw: Buffer | undefined): void {
    if (bytes.length === 0) return;
    if (this.#target.keepsStream) this.#buffered.addKept(bytes.length);
    let goesOn: boolean;
    if (this.#hasBegun) goesOn = this.#target.write(bytes, raw);
    else {
      this.#hasBegun = true;
      const isKept = this.request.isBatch || (this.#progress.isRecorded && this.#runtime.keepsBodies());
      if (!isKept) this.#forgetStream();
      goesOn = this.#target.begin(attempt.head!.status, headersOf(attempt, this.request.id), bytes);
    }
    if (!goesOn) attempt.pause();
  }

  /** Sends the last event after the usage is recorded; the end of the body may come later or never. */
  #endStream(attempt: Attempt, last: Buffer): void {
    const bytes = this.#progress.rewrite(last);
    if (this.#target.isCut?.(bytes, this.#hasBegun))
      return this.#breakStream(attempt, { kind: "malformed", detail: "it is not whole" });
    this.#drop(attempt);
    attempt.lastEventCame(this.#runtime.now());
    this.#end("completed", 200, () => {
      this.#forward(attempt, bytes, undefined);
      this.#target.end();
    });
  }

  /** Streams a response that is too large to hold; the request can no longer be retried. */
  #flow(attempt: Attempt): void {
    this.#phase = "flowing";
    this.#hasBegun = true;
    this.#runtime.bodyUnneeded(this);
    const first = this.#buffered.release();
    if (!this.#target.begin(attempt.head!.status, headersOf(attempt, this.request.id), first)) attempt.pause();
  }

  /** After the first byte: continue on another replica, or end the stream with an error the SDK understands. */
  #breakStream(attempt: Attempt, { kind, detail }: StreamBreak): void {
    this.#drop(attempt);
    const nowMs = this.#runtime.now();
    attempt.cancel(nowMs);
    this.#tap?.rest();
    if (this.request.isBatch && this.#tap?.isOver) this.#progress.release();
    if (this.#phase === "streaming" && this.#continues(attempt)) return;
    if (this.#beginsAgain(attempt)) return;
    const { pool, replica } = attempt;
    this.#runtime.log(`pool ${pool.name}, replica ${replica.id}: response ${this.request.id} broke: ${detail}`);
    if (this.request.isBatch) this.#resetResponse();
    const event = this.#phase === "streaming" ? brokenStreamEvent(this.request.endpoint, kind) : undefined;
    this.#end("failed", 502, () => endBroken(this.#target, event));
  }

  #continues(failed: Attempt): boolean {
    if (!this.#progress.isRecorded || this.#routes.attemptCount >= failed.pool.config.attempts) return false;
    if (!this.#runtime.retries.take() || this.#progress.at(failed.route) === undefined) return false;
    this.#routes.tried = [failed.replica.id];
    const start = this.#routes.placed(failed.route, this.#runtime);
    if (start !== undefined) this.#resume(failed.route, start);
    return start !== undefined;
  }

  /** Continues a stream, or begins a line of a batch again where the pool cannot continue it. */
  #resume(route: PoolRoute, start: AttemptStart): void {
    const continuation = this.#progress.at(route);
    if (continuation === undefined) this.#resetResponse();
    this.#progress.continuation = continuation;
    this.#try(route, start, continuation !== undefined);
    if (continuation !== undefined) [this.#phase, this.#committed] = ["streaming", this.#attempts.at(-1)];
  }

  /** A line of a batch whose stream broke has given nobody anything yet: it begins again. */
  #beginsAgain({ head, pool, replica }: Attempt): boolean {
    if (!this.request.isBatch || this.#phase !== "streaming") return false;
    // A replica that refuses to continue an answer can still take the line.
    const isRefused = head !== undefined && head.status !== 200;
    const mayRetry = this.#routes.attemptCount < pool.config.attempts && this.#runtime.retries.take();
    if (!isRefused && !mayRetry) return false;
    this.#resetResponse();
    this.#routes.again(isRefused ? undefined : replica.id);
    this.#dispatch();
    return true;
  }

  #commit(attempt: Attempt, nowMs: number): void {
    this.#timers.stopHedge();
    [this.#committed, this.#firstByteAtMs] = [attempt, nowMs];
    if (this.#attempts.length === 1) return;
    for (const other of this.#attempts.splice(0)) if (other !== attempt) other.cancel(nowMs);
    this.#attempts.push(attempt);
  }

  #resetResponse(): void {
    this.#tap = this.#committed = undefined;
    this.#progress.clear();
    this.#buffered.clear();
    [this.#hasBegun, this.#firstByteAtMs, this.#phase] = [false, 0, "waiting"];
  }

  /** Drops body and events of a stream that will not be continued on another replica. */
  #forgetStream(): void {
    this.#progress.release();
    this.#runtime.bodyUnneeded(this);
  }

  #drop(attempt: Attempt): void {
    const at = this.#attempts.lastIndexOf(attempt);
    if (at >= 0) this.#attempts.splice(at, 1);
  }

  #refuse(error: ApiError, outcome: UsageOutcome = "failed"): void {
    this.#refusal = error;
    const { status, headers, body } = refusalOf(this.request, error);
    this.#end(outcome, status, () => this.#target.respond(status, headers, body));
  }

  /** A replica that was computing the answer has read the prompt, which counts as if the client had left. */
  #expired(error: ApiError): void {
    if (this.#hasBegun || this.#phase === "ending" || this.#phase === "ended") return;
    this.#releaseHold?.();
    for (const attempt of this.#attempts) attempt.giveUp(this.#runtime.now());
    this.#refuse(error, this.#attempts.length > 0 ? "aborted" : "failed");
  }

  /** Settles limits and usage, then sends the client the end of its response. */
  #end(outcome: UsageOutcome, status: number, finish: () => void): void {
    this.#timers.stop();
    this.#progress.release();
    this.#buffered.ended();
    [this.#phase, this.#finish] = ["ending", finish];
    const record = this.#usageRecord(outcome, status);
    const hasUsed = this.#notes.length > 0;
    this.limits.end(hasUsed ? usedOf(record) : undefined);
    const at = { startedAtMs: this.#startedAtMs, firstByteAtMs: this.#firstByteAtMs, endedAtMs: this.#runtime.now() };
    const served = { attempts: this.#notes, refusal: this.#refusal, isStream: this.#tap !== undefined };
    this.#summary = { record, ...at, ...served, ...servedByOf(this.request, this.#committed, this.limits.reserved) };
    // Others start when the turn ends, so everything about this request is settled before.
    this.#turn.end(hasUsed ? record : undefined);
    if (hasUsed) this.#runtime.usage.append(record, this);
    else this.usageWritten();
  }

  usageWritten(): void {
    this.#phase = "ended";
    this.#finish?.();
    if (this.#summary !== undefined) this.#runtime.ended(this, this.#summary);
  }

  #usageRecord(outcome: UsageOutcome, status: number): ExchangeSummary["record"] {
    const attempt = this.#committed ?? this.#attempts[0];
    const parts = { tap: this.#tap, buffered: this.#buffered, continuation: this.#progress.continuation, attempt };
    return servedUsage(this.request, { outcome, status, atMs: this.#startedAtMs }, parts);
  }
}
