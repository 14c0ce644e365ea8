/** The other end of `createWorkerClient`: answers calls over messages from a client. */
import { argumentsOf } from "./call-arguments.ts";
import type { Abort, HeadroomClient } from "./client.ts";
import { operations, type OperationName } from "./operations.ts";
import { ProblemError, problemOf, refuse, type Problem } from "./problems.ts";
import { STREAM_CREDIT, type MessageEndpoint, type WorkerAnswer, type WorkerRequest } from "./worker-client.ts";

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

/** Adds the signal to the options. */
function argsWithSignal(method: OperationName, args: readonly unknown[], signal: Abort): unknown[] {
  const { optionsAt } = argumentsOf(operations[method]);
  const all = [...args];
  while (all.length <= optionsAt) all.push(undefined);
  all[optionsAt] = { ...(all[optionsAt] as object | undefined), signal };
  return all;
}

/**
 * Answers the calls of a `createWorkerClient` at the other end of `port` with methods of `client`. Methods that
 * `client` lacks are refused.
 */
export function serveWorkerClient(port: MessageEndpoint, client: Partial<HeadroomClient>): void {
  const served = new Map<number, ServedCall>();
  const methods = client as unknown as Partial<Record<string, (...args: unknown[]) => unknown>>;
  const send = (answer: WorkerAnswer): void => port.postMessage(answer);

  async function run(request: WorkerRequest & { kind: "call" }, call: ServedCall): Promise<void> {
    const { id, method, args } = request;
    try {
      const serve = methods[method];
      if (serve === undefined) throw refuse("notSupported", `No handler answers ${method} here.`);
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
    const request = event.data as WorkerRequest;
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
