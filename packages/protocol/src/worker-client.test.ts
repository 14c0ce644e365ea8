import { MessageChannel } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import type { HeadroomClient, LogQuery } from "./client.ts";
import { operationNames, operations } from "./operations.ts";
import type { LogChunk } from "./output.ts";
import { ProblemError, refuse } from "./problems.ts";
import { createWorkerClient, streamNames } from "./worker-client.ts";
import { serveWorkerClient } from "./worker-server.ts";

const channels: MessageChannel[] = [];
afterEach(() => {
  for (const { port1 } of channels.splice(0)) port1.close();
});

/** Both ends of a real message channel. Messages are cloned, as between a page and its worker. */
function connected(served: Partial<HeadroomClient>): HeadroomClient {
  const channel = new MessageChannel();
  channels.push(channel);
  serveWorkerClient(channel.port2, served);
  return createWorkerClient(channel.port1);
}

const chunk = (worker: number): LogChunk => ({ attemptId: "a", worker, stream: "stdout", atMs: null, text: "x" });

describe("the worker transport", () => {
  it("has every method of the client", () => {
    const client = connected({}) as unknown as Record<string, unknown>;
    expect(operationNames.filter((name) => typeof client[name] !== "function")).toEqual([]);
    expect(operationNames.filter((name) => operations[name].stream).toSorted()).toEqual([...streamNames].toSorted());
  });

  it("carries arguments and answers", async () => {
    const client = connected({
      stopWorkload: (id, options) => Promise.resolve({ workloadId: `${id}/${options?.idempotencyKey}` }),
    });
    expect(await client.stopWorkload("w1", { idempotencyKey: "k" })).toEqual({ workloadId: "w1/k" });
  });

  it("gives the signal with the options of each method, and changes no other argument", async () => {
    const given: unknown[][] = [];
    const take = (...args: unknown[]): Promise<unknown> => {
      given.push(args);
      return Promise.resolve({});
    };
    const client = connected({
      fleet: take,
      listNodes: take,
      getWorkload: take,
      workloadHistory: take,
      createProposal: take,
      changeWorkload: take,
      stopWorkload: take,
    } as unknown as Partial<HeadroomClient>);
    await client.fleet();
    await client.listNodes({ limit: 2 });
    await client.getWorkload("w1");
    await client.workloadHistory("w1", { attempt: "w1.1" });
    await client.createProposal({ change: { kind: "priority", workloadId: "w1", priority: 1 } } as never);
    await client.changeWorkload("w1", { priority: 2 }, { dryRun: true });
    await client.stopWorkload("w1", { task: 3 });
    const options = { signal: expect.objectContaining({ aborted: false }) as unknown };
    expect(given).toEqual([
      [options],
      [{ limit: 2 }, options],
      ["w1", options],
      ["w1", { attempt: "w1.1" }, options],
      [{ change: { kind: "priority", workloadId: "w1", priority: 1 } }, options],
      ["w1", { priority: 2 }, { dryRun: true, ...options }],
      ["w1", { task: 3, ...options }],
    ]);
  });

  it("carries refusals as what they are", async () => {
    const client = connected({ getWorkload: (id) => Promise.reject(refuse("unknownWorkload", `no ${id}`)) });
    const error: unknown = await client.getWorkload("w9").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({ code: "unknownWorkload", exitCode: 1, message: "no w9" });
  });

  it("gives up a call when its signal says so, on both sides", async () => {
    const asked = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const client = connected({
      fleet: (options) => {
        options?.signal?.addEventListener("abort", () => cancelled.resolve());
        asked.resolve();
        return new Promise<never>(() => undefined);
      },
    });
    const abort = new AbortController();
    const call = client.fleet({ signal: abort.signal });
    await asked.promise;
    abort.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    await cancelled.promise;
  });

  it("lets a stream run ahead of its reader only so far, and stops it when the reader leaves", async () => {
    let produced = 0;
    const ended = Promise.withResolvers<void>();
    async function* logs(_id: string, query?: LogQuery): AsyncGenerator<LogChunk> {
      try {
        while (query?.signal?.aborted !== true) yield chunk(produced++);
      } finally {
        ended.resolve();
      }
    }
    const client = connected({ logs });
    const seen: number[] = [];
    for await (const { worker } of client.logs("w1", { follow: true })) {
      seen.push(worker);
      expect(produced).toBeLessThanOrEqual(seen.length + 65);
      if (seen.length === 1_000) break;
    }
    await ended.promise;
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, index) => index));
  });

  it("ends a stream where its source ends or fails", async () => {
    async function* logs(id: string): AsyncGenerator<LogChunk> {
      yield chunk(1);
      if (id === "broken") throw refuse("overloaded", "later");
    }
    const client = connected({ logs });
    const whole: number[] = [];
    for await (const { worker } of client.logs("w1")) whole.push(worker);
    expect(whole).toEqual([1]);
    const reading = async (): Promise<void> => {
      for await (const { worker } of client.logs("broken")) whole.push(worker);
    };
    await expect(reading()).rejects.toMatchObject({ code: "overloaded" });
    expect(whole).toEqual([1, 1]);
  });
});
