/**
 * `HeadroomClient` over messages. The console's demo runs engine, simulator and views in a worker and uses them like a
 * server. Streams have credit, so that a slow reader has at most `STREAM_CREDIT` items waiting.
 */
import type { Abort, HeadroomClient } from "./client.ts";
import type { OperationName } from "./operations.ts";
import { ProblemError, type Problem } from "./problems.ts";

/** The part of `Worker`, `MessagePort` and a worker's own scope that this code uses. */
export interface MessageEndpoint {
  postMessage(message: unknown): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  /** Starts the delivery of messages. Message ports hold messages until this is called; workers do not have it. */
  start?(): void;
}

export type WorkerRequest =
  | { readonly kind: "call"; readonly id: number; readonly method: OperationName; readonly args: readonly unknown[] }
  | { readonly kind: "credit"; readonly id: number; readonly count: number }
  | { readonly kind: "cancel"; readonly id: number };

export type WorkerAnswer =
  | { readonly kind: "result"; readonly id: number; readonly value: unknown }
  | { readonly kind: "item"; readonly id: number; readonly value: unknown }
  | { readonly kind: "end"; readonly id: number }
  | { readonly kind: "problem"; readonly id: number; readonly problem: Problem };

export const STREAM_CREDIT = 64;

interface Waiting {
  receive(answer: WorkerAnswer): void;
}

/** The arguments as plain data, because abort signals cannot be sent. */
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
      const answer = event.data as WorkerAnswer;
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
    const arrived: WorkerAnswer[] = [];
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

  #send(request: WorkerRequest): void {
    this.#port.postMessage(request);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(typeof reason === "string" ? reason : "the call was aborted");
}

/** Operations that return a stream. A test compares this list with `operations`. */
export const streamNames: ReadonlySet<OperationName> = new Set(["events", "execOutput", "logs"]);

/** A client for the `serveWorkerClient` at the other end of `port`. */
export function createWorkerClient(port: MessageEndpoint): HeadroomClient {
  const calls = new WorkerCalls(port);
  // Methods by name. The table of operations is not imported, because its schemas would become part of a browser's
  // first visit.
  return new Proxy({} as HeadroomClient, {
    get: (_target, name) => {
      // The client has a method for every name except `then`, because it must not look like a promise.
      if (typeof name !== "string" || name === "then") return undefined;
      const method = name as OperationName;
      return streamNames.has(method)
        ? (...args: unknown[]) => calls.stream(method, args)
        : (...args: unknown[]) => calls.call(method, args);
    },
  });
}
