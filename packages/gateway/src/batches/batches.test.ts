import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { anonymous, type Caller } from "../access/teams.ts";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { testGateway } from "../testing/test-gateway.ts";
import type { Batch } from "./entries.ts";
import { BatchRunner, type BatchParts } from "./runner.ts";
import { BatchStore } from "./store.ts";

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
    const content = await fetch(`${gateway.url}/v1/files/${batch.output_file_id!}/content`);
    expect(content.headers.get("x-request-id")).toMatch(/\S{8,}/);
    const output = await content.text();
    const rows = output
      .trim()
      .split("\n")
      .map(
        (row) => JSON.parse(row) as { custom_id: string; response: { status_code: number; body: { usage: object } } },
      );
    expect(new Set(rows.map(({ custom_id }) => custom_id)).size).toBe(30);
    expect(rows[0]?.response).toMatchObject({ status_code: 200, body: { usage: { completion_tokens: 2 } } });
    expect(mock.requestCount).toBe(30);
    // On a bare connection: fetch resolves the dots itself.
    for (const name of ["file-../../../etc", "file-..%2f..%2fetc", ".."]) {
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
      const answer = once(socket, "data") as Promise<[Buffer]>;
      socket.write(`GET /v1/files/${name}/content HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
      expect(String((await answer)[0]), name).toMatch(/^HTTP\/1\.1 404 /);
      socket.destroy();
    }
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
    const store = new BatchStore(path.join(gateway.state, "gateway", "batches"), 1 << 30);
    const lost = await addedTo(store, "", file.id, "/v1/embeddings");
    await fetch(`${gateway.url}/v1/files/${file.id}`, { method: "DELETE" });
    const runner = new BatchRunner({
      store,
      concurrency: 1,
      now: Date.now,
      callerOf: () => undefined,
      run: () => Promise.reject(new Error("not called")),
    });
    await runner.resume();
    await expect.poll(async () => (await read(lost)).status).toBe("failed");
    expect((await read(lost)).errors?.data[0]?.code).toBe("input_file_missing");
  });
});

async function addedTo(
  store: BatchStore,
  team: string,
  inputFileId: string,
  endpoint = "/v1/chat/completions",
): Promise<Batch> {
  const batch = await store.addBatch(team, {
    endpoint,
    inputFileId,
    window: "24h",
    metadata: null,
    dataRules: [],
    nowMs: Date.now(),
  });
  if (typeof batch === "string") throw new Error(batch);
  return batch;
}

async function upload(url: string, content: string, purpose = "batch"): Promise<Response> {
  const form = new FormData();
  form.set("purpose", purpose);
  form.set("file", new File([content], "in.jsonl"));
  return fetch(`${url}/v1/files`, { method: "POST", body: form });
}

async function created(url: string, content: string): Promise<string> {
  return ((await (await upload(url, content)).json()) as { id: string }).id;
}

async function batchOf(url: string, file: string, more: object = {}): Promise<Response> {
  const body = { input_file_id: file, endpoint: "/v1/chat/completions", completion_window: "24h", ...more };
  return fetch(`${url}/v1/batches`, { method: "POST", body: JSON.stringify(body) });
}

const line = (customId: string): string =>
  JSON.stringify({
    custom_id: customId,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "m", messages: [{ role: "user", content: "n" }] },
  });

async function gatewayOver(tokens: number, more = ""): Promise<Awaited<ReturnType<typeof testGateway>>> {
  const mock = new MockUpstream({ tokens });
  await mock.start();
  cleanups.push(() => mock.kill());
  const gateway = await testGateway(
    `access: open\n${more}pools: [{ name: p, engine: vllm, replicas: [${mock.url}] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

describe("lists of batches and files", () => {
  it.each(["batches", "files"] as const)("come in pages: %s", async (kind) => {
    const { url } = await gatewayOver(1);
    const all = new Set<string>();
    const file = await created(url, line("a"));
    if (kind === "files") all.add(file);
    while (all.size < 5) {
      const made =
        kind === "files" ? await created(url, line("a")) : ((await (await batchOf(url, file)).json()) as Batch).id;
      all.add(made);
    }
    // A finished batch publishes files, so the list of files would change while it is read page by page.
    if (kind === "batches")
      await expect
        .poll(async () => {
          const { data } = (await (await fetch(`${url}/v1/batches`)).json()) as { data: readonly Batch[] };
          return data.every(({ status }) => status === "completed");
        })
        .toBe(true);
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let after = "", isLast = false; !isLast;) {
      const answer = await fetch(`${url}/v1/${kind}?limit=2${after === "" ? "" : `&after=${after}`}`);
      const page = (await answer.json()) as Page;
      expect([page.first_id, page.last_id]).toEqual([page.data[0]?.id, page.data.at(-1)?.id]);
      sizes.push(page.data.length);
      seen.push(...page.data.map(({ id }) => id));
      isLast = !page.has_more;
      after = page.last_id ?? "";
      if (sizes.length > 5) break;
    }
    expect(sizes).toEqual([2, 2, 1]);
    expect(new Set(seen)).toEqual(all);
    const backwards = (await (await fetch(`${url}/v1/${kind}?order=asc`)).json()) as Page;
    expect(backwards.data.map(({ id }) => id)).toEqual(seen.toReversed());
    for (const query of ["limit=0", "limit=x", "after=none", "order=up"])
      expect((await fetch(`${url}/v1/${kind}?${query}`)).status, query).toBe(400);
  });
});

describe("bytes of batches", () => {
  it("are bounded for input, answers and metadata", async () => {
    const { url } = await gatewayOver(400, "batches: { storage: 24KiB, concurrency: 2 }\n");
    const file = await created(url, Array.from({ length: 30 }, (_, at) => line(`c${at}`)).join("\n"));
    expect((await upload(url, "x".repeat(24_000))).status).toBe(413);
    const { id } = (await (await batchOf(url, file)).json()) as Batch;
    const read = async (): Promise<Batch> => (await (await fetch(`${url}/v1/batches/${id}`)).json()) as Batch;
    await expect.poll(async () => (await read()).status).toBe("failed");
    const { errors, output_file_id: output, request_counts: counts } = await read();
    expect(errors?.data).toMatchObject([{ code: "storage_full" }]);
    const rows = (await (await fetch(`${url}/v1/files/${output!}/content`)).text()).trim().split("\n");
    // Answers from the time before the failure are kept.
    expect(rows.length).toBe(counts.completed);
    expect(rows.length).toBeGreaterThan(2);
    expect(rows.length).toBeLessThan(30);
    for (const row of rows) expect(JSON.parse(row)).toMatchObject({ response: { status_code: 200 } });
    // Deleting files frees storage.
    expect((await upload(url, "x".repeat(8000))).status).toBe(413);
    await fetch(`${url}/v1/files/${output!}`, { method: "DELETE" });
    expect((await upload(url, "x".repeat(8000))).status).toBe(200);
    expect((await batchOf(url, file, { metadata: { key: "x".repeat(513) } })).status).toBe(400);
    expect((await batchOf(url, file, { metadata: { key: {} } })).status).toBe(400);
    expect((await batchOf(url, file, { metadata: { key: "value" } })).status).toBe(200);
  });

  it("hold no half line after a kill", async () => {
    const gateway = await gatewayOver(1);
    const file = await created(gateway.url, `${line("a")}\n${line("b")}`);
    const store = new BatchStore(path.join(gateway.state, "gateway", "batches"), 1 << 30);
    const batch = await addedTo(store, "", file);
    const answered = JSON.stringify({ custom_id: "a", response: { status_code: 200 } });
    writeFileSync(`${store.contentPath("", batch.id)}.output`, `${answered}\n{"custom_id":"b","resp`);
    const sent: string[] = [];
    const runner = new BatchRunner({
      store,
      concurrency: 1,
      now: Date.now,
      callerOf: () => anonymous,
      run: (_, __, body) => {
        sent.push(body.toString("utf8"));
        return Promise.resolve({ status: 200, id: "r", body: "{}", retryAfterMs: undefined });
      },
    });
    await runner.resume();
    await expect.poll(async () => (await store.batch("", batch.id))?.status).toBe("completed");
    expect(sent.length).toBe(1);
    const { output_file_id: output } = (await store.batch("", batch.id))!;
    const rows = readFileSync(store.contentPath("", output!), "utf8").trim().split("\n");
    expect(rows.map((row) => (JSON.parse(row) as { custom_id: string }).custom_id)).toEqual(["a", "b"]);
  });
});

describe("batches beside each other", () => {
  const answered = { status: 200, id: "r", body: "{}", retryAfterMs: undefined };

  /** A store in a folder of its own, and a way to add a batch with a number of lines. */
  async function storeOf(): Promise<{ store: BatchStore; add(team: string, lineCount: number): Promise<Batch> }> {
    const directory = mkdtempSync(path.join(tmpdir(), "headroom-batches-"));
    const store = new BatchStore(directory, 1 << 30);
    cleanups.push(async () => {
      await store.idle();
      rmSync(directory, { recursive: true });
    });
    const add = async (team: string, lineCount: number): Promise<Batch> => {
      const content = Buffer.from(Array.from({ length: lineCount }, (_, at) => line(`c${at}`)).join("\n"));
      const file = await store.addFile(team, { filename: "in", purpose: "batch", content, nowMs: Date.now() });
      if (typeof file === "string") throw new Error(file);
      return addedTo(store, team, file.id);
    };
    return { store, add };
  }

  function runnerOf(store: BatchStore, parts: Partial<BatchParts>): BatchRunner {
    const run = (): Promise<typeof answered> => Promise.resolve(answered);
    const runner = new BatchRunner({ store, concurrency: 3, now: Date.now, callerOf: () => anonymous, run, ...parts });
    cleanups.push(() => {
      runner.stop();
      return Promise.resolve();
    });
    return runner;
  }

  const statusOf = async (store: BatchStore, team: string, { id }: Batch): Promise<string | undefined> =>
    (await store.batch(team, id))?.status;

  it("share one bound of lines at a time", async () => {
    const { store, add } = await storeOf();
    let [running, most] = [0, 0];
    const runner = runnerOf(store, {
      run: async () => {
        running++;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 2));
        running--;
        return answered;
      },
    });
    const batches = await Promise.all(Array.from({ length: 20 }, (_, at) => add(`t${at % 4}`, 10)));
    for (const [at, batch] of batches.entries()) runner.start(`t${at % 4}`, batch);
    for (const [at, batch] of batches.entries())
      await expect.poll(() => statusOf(store, `t${at % 4}`, batch)).toBe("completed");
    expect(most).toBe(3);
  });

  it("go on while the lines of another team wait for its limits", async () => {
    const { store, add } = await storeOf();
    const callerOf = (team: string): Caller => ({ ...anonymous, team });
    const runner = runnerOf(store, {
      callerOf,
      run: ({ team }) => Promise.resolve(team === "a" ? { ...answered, status: 429, retryAfterMs: 60_000 } : answered),
    });
    for (let at = 0; at < 12; at++) runner.start("a", await add("a", 10));
    const other = await add("b", 10);
    runner.start("b", other);
    await expect.poll(() => statusOf(store, "b", other)).toBe("completed");
  });

  it("fail, with the answers so far, when a new configuration has no such team", async () => {
    const { store, add } = await storeOf();
    let count = 0;
    const runner = runnerOf(store, {
      concurrency: 1,
      callerOf: () => (count < 4 ? anonymous : undefined),
      run: () => {
        count++;
        return Promise.resolve(answered);
      },
    });
    const batch = await add("a", 10);
    runner.start("a", batch);
    await expect.poll(() => statusOf(store, "a", batch)).toBe("failed");
    const ended = (await store.batch("a", batch.id))!;
    expect(ended).toMatchObject({ errors: { data: [{ code: "team_removed" }] }, request_counts: { completed: 4 } });
    expect(ended.failed_at).toBeGreaterThan(0);
    expect(ended.completed_at).toBeNull();
    expect(readFileSync(store.contentPath("a", ended.output_file_id!), "utf8").trim().split("\n").length).toBe(4);
  });

  it("name what they did not run when they expire", async () => {
    const { store, add } = await storeOf();
    let [nowMs, count] = [Date.now(), 0];
    const runner = runnerOf(store, {
      concurrency: 1,
      now: () => nowMs,
      run: () => {
        count++;
        if (count === 3) nowMs += 86_500_000;
        return Promise.resolve(answered);
      },
    });
    const batch = await add("a", 10);
    runner.start("a", batch);
    await expect.poll(() => statusOf(store, "a", batch)).toBe("expired");
    const ended = (await store.batch("a", batch.id))!;
    expect(ended.request_counts).toEqual({ total: 10, completed: 3, failed: 7 });
    const rows = readFileSync(store.contentPath("a", ended.error_file_id!), "utf8").trim().split("\n");
    expect(rows.map((row) => JSON.parse(row) as object)).toMatchObject(
      Array.from({ length: 7 }, (_, at) => ({
        custom_id: `c${at + 3}`,
        response: null,
        error: { code: "batch_expired" },
      })),
    );
  });

  it("are cancelled while they run and while they wait for their turn", async () => {
    const { store, add } = await storeOf();
    const held: (() => void)[] = [];
    const runner = runnerOf(store, {
      run: () => new Promise((resolve) => held.push(() => resolve(answered))),
    });
    const batches: Batch[] = [];
    for (let at = 0; at < 10; at++) batches.push(await add("a", 5));
    const [first, last] = [batches[0]!, batches.at(-1)!];
    // The bound of lines is that of all batches: the first one has it whole before the others come.
    runner.start("a", first);
    await expect.poll(() => held.length).toBe(3);
    for (const batch of batches.slice(1)) runner.start("a", batch);
    expect((await runner.cancel("a", (await store.batch("a", last.id))!)).status).toBe("cancelling");
    await expect.poll(() => statusOf(store, "a", last)).toBe("cancelled");
    await runner.cancel("a", (await store.batch("a", first.id))!);
    for (let at = 0; at < 3; at++) held[at]!();
    await expect.poll(() => statusOf(store, "a", first)).toBe("cancelled");
    const ended = (await store.batch("a", first.id))!;
    // Requests in progress are completed.
    expect(ended.request_counts.completed).toBe(3);
    expect(ended.cancelled_at).toBeGreaterThanOrEqual(ended.cancelling_at!);
    expect((await runner.cancel("a", ended)).status).toBe("cancelled");
    for (let at = 0; at < 200 && held.length > at; at++) held[at]!();
  });

  it("whose lines wait for a limit end at once when they are cancelled, and when the gateway stops", async () => {
    const { store, add } = await storeOf();
    let count = 0;
    const refused = { ...answered, status: 429, retryAfterMs: 25_000 };
    const runner = runnerOf(store, {
      concurrency: 20,
      run: () => {
        count++;
        return Promise.resolve(refused);
      },
    });
    const batch = await add("a", 20);
    runner.start("a", batch);
    await expect.poll(() => count).toBe(20);
    await runner.cancel("a", (await store.batch("a", batch.id))!);
    await expect.poll(() => statusOf(store, "a", batch), { timeout: 5000 }).toBe("cancelled");
    expect(count).toBe(20);
    const next = await add("a", 5);
    runner.start("a", next);
    await expect.poll(() => count).toBe(25);
    // A timer that was left would keep the process alive.
    const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
    await new Promise((resolve) => setTimeout(resolve, 100));
    const waiting = timers();
    runner.stop();
    await expect.poll(timers, { timeout: 5000 }).toBeLessThan(waiting - 3);
    expect(await statusOf(store, "a", next)).toBe("in_progress");
  });

  it("keep within the number of files of a team", async () => {
    const { store, add } = await storeOf();
    const content = Buffer.from("x");
    const addFile = async (): Promise<unknown> =>
      store.addFile("a", { filename: "in", purpose: "batch", content, nowMs: Date.now() });
    const batch = await add("a", 1);
    let count = (await store.files("a")).length;
    while (typeof (await addFile()) !== "string") count++;
    // There is room for the answers and the errors of the batch.
    expect(count).toBe(998);
    expect(
      await store.addBatch("a", {
        endpoint: "",
        inputFileId: "",
        window: "24h",
        metadata: null,
        dataRules: [],
        nowMs: 0,
      }),
    ).toBe("tooManyFiles");
    runnerOf(store, { run: () => Promise.resolve({ ...answered, status: 400 }) }).start("a", batch);
    await expect.poll(() => statusOf(store, "a", batch)).toBe("completed");
    expect((await store.files("a")).length).toBe(999);
    expect((await store.batch("a", batch.id))!.error_file_id).not.toBeNull();
  });
});
