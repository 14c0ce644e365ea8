import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { testGateway } from "../testing/test-gateway.ts";
import { BatchRunner } from "./runner.ts";
import { BatchStore, type Batch } from "./store.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

describe("the Batch API", () => {
  it("answers every line of a file once", async () => {
    const mock = new MockUpstream({ tokens: 2 });
    await mock.start();
    cleanups.push(() => mock.kill());
    const gateway = await testGateway(
      `access: open\npools: [{ name: p, engine: vllm, replicas: [${mock.url}] }]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    cleanups.push(() => gateway.stop());
    const lines = Array.from({ length: 30 }, (_, at) =>
      JSON.stringify({
        custom_id: `c${at}`,
        method: "POST",
        url: "/v1/chat/completions",
        body: { model: "m", messages: [{ role: "user", content: `n ${at}` }] },
      }),
    );
    lines.push("not JSON");
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new File([lines.join("\n")], "in.jsonl"));
    const file = (await (await fetch(`${gateway.url}/v1/files`, { method: "POST", body: form })).json()) as {
      id: string;
      bytes: number;
    };
    expect(file.bytes).toBe(lines.join("\n").length);
    const created = await fetch(`${gateway.url}/v1/batches`, {
      method: "POST",
      body: JSON.stringify({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" }),
    });
    const { id } = (await created.json()) as Batch;
    const read = async (): Promise<Batch> => (await (await fetch(`${gateway.url}/v1/batches/${id}`)).json()) as Batch;
    await expect.poll(async () => (await read()).status).toBe("completed");
    const batch = await read();
    expect(batch.request_counts).toEqual({ total: 31, completed: 30, failed: 1 });
    const output = await (await fetch(`${gateway.url}/v1/files/${batch.output_file_id!}/content`)).text();
    const rows = output
      .trim()
      .split("\n")
      .map(
        (row) => JSON.parse(row) as { custom_id: string; response: { status_code: number; body: { usage: object } } },
      );
    expect(new Set(rows.map(({ custom_id }) => custom_id)).size).toBe(30);
    expect(rows[0]?.response).toMatchObject({ status_code: 200, body: { usage: { completion_tokens: 2 } } });
    expect(mock.requestCount).toBe(30);
    expect((await fetch(`${gateway.url}/v1/files/file-../../etc/content`)).status).toBe(404);
  });

  it("outlives input that is gone and answers that are no JSON", async () => {
    const mock = new MockUpstream({ everyMs: 1 });
    await mock.start();
    cleanups.push(() => mock.kill());
    const html = createServer((_, response) => response.end("<html>"));
    await new Promise<void>((resolve) => html.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => new Promise((resolve) => html.close(() => resolve())));
    const { port } = html.address() as AddressInfo;
    const gateway = await testGateway(
      `access: open\npools: [{ name: p, replicas: ["http://127.0.0.1:${port}"] }]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    cleanups.push(() => gateway.stop());
    const line = JSON.stringify({ custom_id: "a", url: "/v1/embeddings", body: { model: "m", input: "x" } });
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new File([line], "in.jsonl"));
    const file = (await (await fetch(`${gateway.url}/v1/files`, { method: "POST", body: form })).json()) as {
      id: string;
    };
    const create = async (): Promise<Batch> =>
      (await (
        await fetch(`${gateway.url}/v1/batches`, {
          method: "POST",
          body: JSON.stringify({ input_file_id: file.id, endpoint: "/v1/embeddings", completion_window: "24h" }),
        })
      ).json()) as Batch;
    const read = async ({ id }: Batch): Promise<Batch> =>
      (await (await fetch(`${gateway.url}/v1/batches/${id}`)).json()) as Batch;
    const odd = await create();
    await expect.poll(async () => (await read(odd)).status).toBe("completed");
    const store = new BatchStore(path.join(gateway.state, "gateway", "batches"));
    const lost = store.addBatch("", {
      endpoint: "/v1/embeddings",
      inputFileId: file.id,
      window: "24h",
      metadata: null,
      nowMs: Date.now(),
    })!;
    await fetch(`${gateway.url}/v1/files/${file.id}`, { method: "DELETE" });
    const runner = new BatchRunner({
      store,
      concurrency: 1,
      now: Date.now,
      callerOf: () => undefined,
      run: () => Promise.reject(new Error("not called")),
    });
    runner.resume();
    await expect.poll(async () => (await read(lost)).status).toBe("failed");
    expect((await read(lost)).errors?.data[0]?.code).toBe("input_file_missing");
  });
});
