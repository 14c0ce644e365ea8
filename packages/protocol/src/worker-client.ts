/**
 * `HeadroomClient` over messages: the console's demo runs engine, simulator and views in a worker and talks to it exactly as
 * it would to a server. Streams are credited, so that a slow reader holds at most `STREAM_CREDIT` items in the mailbox.
 */
import type { Abort, HeadroomClient } from "./client.ts";
import { operationNames, operations, type OperationName } from "./operations.ts";
import { ProblemError, problemOf, refuse, type Problem } from "./problems.ts";

/** The part of `Worker`, `MessagePort` and a worker's own scope that is used; the real ones fit. */
export interface MessageEndpoint {
  postMessage(message: unknown): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  /** Message ports hold their messages back until it is called; workers have no such thing. */
  start?(): void;
}

type Request =
  | { readonly kind: "call"; readonly id: number; readonly method: OperationName; readonly args: readonly unknown[] }
  | { readonly kind: "credit"; readonly id: number; readonly count: number }
  | { readonly kind: "cancel"; readonly id: number };

type Answer =
  | { readonly kind: "result"; readonly id: number; readonly value: unknown }
  | { readonly kind: "item"; readonly id: number; readonly value: unknown }
  | { readonly kind: "end"; readonly id: number }
  | { readonly kind: "problem"; readonly id: number; readonly problem: Problem };

const STREAM_CREDIT = 64;

interface Waiting {
  receive(answer: Answer): void;
}

/** Abort signals stay on their side of the boundary; what is left is plain data. */
function withoutSignals(args: readonly unknown[]): { readonly args: unknown[]; readonly signal: Abort | undefined } {
  let signal: Abort | undefined;
  const plain = args.map((argument) => {
    if (typeof argument !== "object" || argument === null || !("signal" in argument)) return argument;
    const { signal: given, ...rest } = argument as { signal?: Abort | undefined };
    signal = given ?? signal;
    return rest;
  });
  return { args: plain, signal };
}

class WorkerCalls {
  readonly #port: MessageEndpoint;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;

  constructor(port: MessageEndpoint) {
    this.#port = port;
    port.addEventListener("message", (event) => {
      const answer = event.data as Answer;
      this.#waiting.get(answer.id)?.receive(answer);
    });
    port.start?.();
  }

  call(method: OperationName, given: readonly unknown[]): Promise<unknown> {
    const { args, signal } = withoutSignals(given);
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(asError(signal.reason));
        return;
      }
      const id = this.#nextId++;
      const settle = (): void => {
        this.#waiting.delete(id);
        signal?.removeEventListener("abort", abort);
      };
      const abort = (): void => {
        settle();
        this.#send({ kind: "cancel", id });
        reject(asError(signal?.reason));
      };
      signal?.addEventListener("abort", abort);
      this.#waiting.set(id, {
        receive: (answer) => {
          settle();
          if (answer.kind === "problem") reject(new ProblemError(answer.problem));
          else resolve(answer.kind === "result" ? answer.value : undefined);
        },
      });
      this.#send({ kind: "call", id, method, args });
    });
  }

  async *stream(method: OperationName, given: readonly unknown[]): AsyncGenerator<unknown, void, undefined> {
    const { args, signal } = withoutSignals(given);
    const id = this.#nextId++;
    const arrived: Answer[] = [];
    let wake = (): void => undefined;
    const abort = (): void => wake();
    signal?.addEventListener("abort", abort);
    this.#waiting.set(id, {
      receive: (answer) => {
        arrived.push(answer);
        wake();
      },
    });
    this.#send({ kind: "call", id, method, args });
    let taken = 0;
    try {
      for (;;) {
        if (signal?.aborted === true) throw asError(signal.reason);
        const answer = arrived.shift();
        if (answer === undefined) {
          await new Promise<void>((resolve) => (wake = resolve));
          continue;
        }
        if (answer.kind === "problem") throw new ProblemError(answer.problem);
        if (answer.kind !== "item") return;
        yield answer.value;
        if (++taken % (STREAM_CREDIT / 2) === 0) this.#send({ kind: "credit", id, count: STREAM_CREDIT / 2 });
      }
    } finally {
      this.#waiting.delete(id);
      signal?.removeEventListener("abort", abort);
      this.#send({ kind: "cancel", id });
    }
  }

  #send(request: Request): void {
    this.#port.postMessage(request);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(typeof reason === "string" ? reason : "the call was aborted");
}

/** A client whose control plane answers at the other end of `port`; `serveWorkerClient` is that end. */
export function createWorkerClient(port: MessageEndpoint): HeadroomClient {
  const calls = new WorkerCalls(port);
  const methods: Record<string, (...args: unknown[]) => unknown> = {};
  for (const name of operationNames) {
    methods[name] = operations[name].stream
      ? (...args) => calls.stream(name, args)
      : (...args) => calls.call(name, args);
  }
  return methods as unknown as HeadroomClient;
}

class Cancellation implements Abort {
  aborted = false;
  readonly reason = new Error("cancelled by the caller");
  readonly #listeners = new Set<() => void>();

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    for (const listener of this.#listeners) listener();
  }
}

interface ServedCall {
  readonly cancellation: Cancellation;
  credit: number;
  wake: () => void;
}

function problemFrom(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  return problemOf("internal", error instanceof Error ? error.message : String(error));
}

/** Puts the signal into the options, which come second, or first where a method asks for nothing in particular. */
function argsWithSignal(method: OperationName, args: readonly unknown[], signal: Abort): unknown[] {
  const { params, query, body, stream } = operations[method];
  const asksNothing = Object.keys(params.shape).length === 0 && body === null;
  const position = asksNothing && (stream || Object.keys(query.shape).length === 0) ? 0 : 1;
  const all = [...args];
  while (all.length <= position) all.push(undefined);
  all[position] = { ...(all[position] as object | undefined), signal };
  return all;
}

/** Answers what a `createWorkerClient` at the other end of `port` asks, from `client`, as far as that has what is asked. */
export function serveWorkerClient(port: MessageEndpoint, client: Partial<HeadroomClient>): void {
  const served = new Map<number, ServedCall>();
  const methods = client as unknown as Partial<Record<string, (...args: unknown[]) => unknown>>;
  const send = (answer: Answer): void => port.postMessage(answer);

  async function run(request: Request & { kind: "call" }, call: ServedCall): Promise<void> {
    const { id, method, args } = request;
    try {
      const serve = methods[method];
      if (serve === undefined) throw refuse("notSupported", `Nobody answers ${method} here.`);
      const result = serve(...argsWithSignal(method, args, call.cancellation));
      if (!operations[method].stream) {
        send({ kind: "result", id, value: await result });
        return;
      }
      for await (const value of result as AsyncIterable<unknown>) {
        while (call.credit === 0 && !call.cancellation.aborted)
          await new Promise<void>((resolve) => (call.wake = resolve));
        if (call.cancellation.aborted) return;
        call.credit--;
        send({ kind: "item", id, value });
      }
      send({ kind: "end", id });
    } catch (error) {
      if (!call.cancellation.aborted) send({ kind: "problem", id, problem: problemFrom(error) });
    } finally {
      served.delete(id);
    }
  }

  port.addEventListener("message", (event) => {
    const request = event.data as Request;
    if (request.kind === "call") {
      const call: ServedCall = { cancellation: new Cancellation(), credit: STREAM_CREDIT, wake: () => undefined };
      served.set(request.id, call);
      void run(request, call);
      return;
    }
    const call = served.get(request.id);
    if (call === undefined) return;
    if (request.kind === "credit") call.credit += request.count;
    else call.cancellation.abort();
    call.wake();
  });
  port.start?.();
}
