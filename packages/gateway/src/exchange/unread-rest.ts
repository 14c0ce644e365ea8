/**
 * Reads the rest of a response after the client has left, so that usage counts every event that the replica produced:
 * events in sockets, events that a slow client had not read, and events sent before the replica noticed the end of its
 * connection. The gateway half-closes the connection, which the replica notices immediately (asyncio, Go, Node and
 * hyper treat it as a disconnect), and reads until the replica closes its side.
 */
import type { ResponseHead } from "../http/response-head.ts";
import type { Attempt, AttemptOwner } from "./attempt.ts";
import type { BufferedResponse } from "./buffered-response.ts";
import type { ExchangeRequest, Runtime } from "./runtime.ts";
import { SseTap } from "./sse-tap.ts";

/**
 * Maximum time in ms. A replica that has not closed its side by then is cut off, and its later output is not counted.
 */
const REST_MS = 1000;
/** Maximum number of connections that are read to their end at one time. Further connections are closed immediately. */
const RESTS_MAX = 1000;

export interface AnswerSoFar {
  readonly tap: SseTap | undefined;
  /** The response that is collected for its usage, or the end of it if it is forwarded in parts. */
  readonly buffered: BufferedResponse;
}

export class UnreadRest implements AttemptOwner {
  readonly #request: ExchangeRequest;
  readonly #runtime: Runtime;
  readonly #buffered: BufferedResponse;
  readonly #attempts: Attempt[] = [];
  #done: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  tap: SseTap | undefined;
  /** The attempt that the usage belongs to. */
  answered: Attempt | undefined;

  constructor(request: ExchangeRequest, runtime: Runtime, { tap, buffered }: AnswerSoFar) {
    this.#request = request;
    this.#runtime = runtime;
    this.#buffered = buffered;
    this.tap = tap;
  }

  /** Takes over the request's attempts. `done` is called when all of them have ended. */
  read(attempts: readonly Attempt[], done: () => void): void {
    const runtime = this.#runtime;
    this.#done = done;
    this.answered = attempts[0];
    for (const attempt of attempts) {
      // The replica has made all of an answer that is forwarded in parts, and writes its usage at the end.
      const leaves = this.#buffered.isForwarded ? attempt.readOn(this) : attempt.leaveTo(this);
      if (runtime.restCount < RESTS_MAX && leaves) {
        this.#attempts.push(attempt);
        runtime.restCount++;
      } else attempt.cancel(runtime.now());
    }
    if (this.#attempts.length === 0) done();
    else this.#timer = setTimeout(() => this.#overAll(this.#attempts.slice()), REST_MS);
  }

  attemptHead(attempt: Attempt, head: ResponseHead): void {
    this.answered = attempt;
    if (head.isEventStream && head.status === 200) {
      this.tap ??= new SseTap(this.#request.endpoint.operation, false);
    }
    this.#overAll(this.#attempts.filter((other) => other !== attempt));
  }

  attemptBody(attempt: Attempt, payload: readonly Buffer[]): void {
    const { tap } = this;
    if (tap === undefined) {
      const buffered = this.#buffered;
      if (buffered.isForwarded) buffered.addForwarded(payload);
      else if (buffered.byteCount <= this.#runtime.responseBufferBytes) buffered.add(payload);
      return;
    }
    for (const part of payload) tap.feed(part);
    if (tap.isDone || tap.isTooLong) this.#over(attempt);
  }

  attemptEnd(attempt: Attempt): void {
    this.#over(attempt);
  }

  attemptFailed(attempt: Attempt): void {
    this.#over(attempt);
  }

  /** Ends these attempts. `attempts` is a copy, because the list itself changes meanwhile. */
  #overAll(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) this.#over(attempt);
  }

  #over(attempt: Attempt): void {
    const at = this.#attempts.indexOf(attempt);
    if (at < 0) return;
    this.#attempts.splice(at, 1);
    this.#runtime.restCount--;
    attempt.cancel(this.#runtime.now());
    if (this.#attempts.length > 0) return;
    clearTimeout(this.#timer);
    this.#done();
  }
}
