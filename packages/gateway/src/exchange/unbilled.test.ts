/** Output that a replica has made is billed, also if the client leaves, and credentials do not come back in errors. */
import { hash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { settleUsage, usageStart } from "../usage/reader.ts";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function replica(answer: (response: ServerResponse, request: IncomingMessage) => void): Promise<string> {
  const server = createServer((request, response) => {
    if (request.method === "GET") return void response.end();
    request.resume();
    request.on("end", () => answer(response, request));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function start(url: string, pool = ""): Promise<TestGateway> {
  const gateway = await testGateway(
    `bounds: { responseBuffer: 64KiB, shutdownTimeout: 2s }\nteams: [{ name: t, keys: [{ sha256: ${hash("sha256", "k")} }] }]\n` +
      `pools: [{ name: p, engine: vllm, attempts: 1, replicas: ["${url}"]${pool} }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

const request = (body: string): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer k\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

/** Leaves after this number of bytes of the answer. */
async function leave(gateway: TestGateway, body: string, afterBytes: number): Promise<void> {
  const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(request(body));
  let got = 0;
  await new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      got += chunk.length;
      if (got >= afterBytes) resolve();
    });
    socket.on("close", () => resolve());
  });
  socket.destroy();
}

const billed = (gateway: TestGateway) => settleUsage(path.join(gateway.state, "gateway", "usage"), usageStart).records;

const big = `"logprobs":"${"x".repeat(3_000_000)}"`;
const usage = '"usage":{"prompt_tokens":5,"completion_tokens":77}';

describe("a large answer", () => {
  it.each([
    ["usage at the end", `{"choices":[{${big}}],${usage}}`],
    ["fields after the usage", `{"choices":[{${big}}],${usage},"prompt_logprobs":null}`],
    ["a large field after the usage", `{"choices":[{${big}}],${usage},"prompt_logprobs":["${"y".repeat(200_000)}"]}`],
    ["usage at the beginning", `{${usage},"choices":[{${big}}]}`],
  ])("is billed as its usage says, with %s, whether the client stays or leaves", async (_name, text) => {
    const gateway = await start(
      await replica((response) => response.writeHead(200, { "content-type": "application/json" }).end(text)),
    );
    const whole = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer k" },
      body: '{"model":"m","messages":[]}',
    });
    expect((await whole.text()).length).toBe(text.length);
    await leave(gateway, '{"model":"m","messages":[]}', 100_000);
    await expect.poll(() => billed(gateway).length).toBe(2);
    expect(billed(gateway).map(({ completionTokens }) => completionTokens)).toEqual([77, 77]);
  });

  it("whose end does not come is billed by its bytes, up to what the request allows", async () => {
    const gateway = await start(
      await replica(
        (response) => void response.writeHead(200, { "content-type": "application/json" }).write(`{${big}`),
      ),
    );
    await leave(gateway, '{"model":"m","messages":[]}', 100_000);
    await leave(gateway, '{"model":"m","messages":[],"max_tokens":40,"n":3}', 100_000);
    await expect.poll(() => billed(gateway).length, { timeout: 10_000 }).toBe(2);
    const [open, bounded] = billed(gateway).map(({ completionTokens }) => completionTokens);
    expect(open).toBeGreaterThan(20_000);
    expect(bounded).toBe(120);
  });
});

const secret = "sk-upstream-secret-123456";

describe("a replica that repeats the gateway's credential", () => {
  it.each([
    [401, `, headers: { authorization: "Bearer ${secret}" }`],
    [401, `, headers: { x-api-key: "${secret}" }`],
    [403, `, headers: { x-api-key: "${secret}" }`],
    [400, `, headers: { authorization: "Bearer ${secret}" }`],
    [407, `, headers: { authorization: "Bearer ${secret}" }`],
    [500, `, headers: { authorization: "Bearer ${secret}" }`],
  ])("with %d does not show it to the client: %s", async (status, pool) => {
    const url = await replica((response) =>
      response.writeHead(status, { "x-debug": secret }).end(`{"error":{"message":"Incorrect API key: ${secret}"}}`),
    );
    const gateway = await start(url, pool);
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer k" },
      body: '{"model":"m","messages":[]}',
    });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(await response.text()).not.toContain(secret);
    expect(JSON.stringify([...response.headers])).not.toContain(secret);
  });
});

describe("what a client sends", () => {
  it("does not choose an account of the gateway's credential, nor a part of a replica", async () => {
    let seen: IncomingMessage["headers"] = {};
    const url = await replica((response, { headers }) => {
      seen = headers;
      response.end("{}");
    });
    const gateway = await start(url);
    const names = [
      "OpenAI-Organization",
      "openai-project",
      "X-Goog-User-Project",
      "x-data-parallel-rank",
      "anthropic-workspace-id",
      "Anthropic-User-Profile-Id",
    ];
    await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer k", "x-kept": "1", ...Object.fromEntries(names.map((name) => [name, "9"])) },
      body: '{"model":"m","messages":[]}',
    });
    for (const name of names) expect(seen[name.toLowerCase()]).toBeUndefined();
    expect(seen["x-kept"]).toBe("1");
  });

  it.each([
    ['"Model":"other"', "Model"],
    ['"priority":-5', "priority"],
    ['"kv_transfer_params":{"remote_host":"10.0.0.1"}', "kv_transfer_params"],
    ['"n_predict":99999', "n_predict"],
    ['"chat_template":"{{ x }}"', "chat_template"],
    ['"vllm_xargs":{}', "vllm_xargs"],
    ['"logits_processors":["os.system"]', "logits_processors"],
    ['"data_parallel_rank":1', "data_parallel_rank"],
    ['"lora_path":"/etc"', "lora_path"],
    ['"MAX_TOKENS":99999', "MAX_TOKENS"],
    ['"max_new_tokens":99999', "max_new_tokens"],
    ['"request_id":"x"', "request_id"],
  ])("is refused where the gateway does not know it: %s", async (field, name) => {
    const gateway = await start(await replica((response) => response.end("{}")));
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer k" },
      body: `{"model":"m","messages":[],${field}}`,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: name } });
  });

  it("passes where the model allows it", async () => {
    const url = await replica((response) => response.end("{}"));
    const gateway = await testGateway(
      `access: open\npools: [{ name: p, engine: vllm, replicas: ["${url}"] }]\nmodels: [{ name: m, pools: [p], allowFields: [priority], allowRemoteMedia: true }]\n`,
    );
    cleanups.push(() => gateway.stop());
    const send = async (text: string): Promise<number> =>
      (await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", body: `{"model":"m",${text}}` })).status;
    const image = '"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://a/"}}]}]';
    expect(await send(`"priority":1,${image}`)).toBe(200);
    expect(await send(`"priority":1,"Priority":1,${image}`)).toBe(400);
  });
});
