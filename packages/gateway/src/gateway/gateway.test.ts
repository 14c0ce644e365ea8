import { hash } from "node:crypto";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { peekRequest } from "../json/peek.ts";
import { freePort } from "../testing/free-port.ts";
import { MockUpstream, type MockOptions } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";
import type { UsageRecord } from "../usage/record.ts";
import { segmentName } from "../usage/segments.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function upstream(options: MockOptions = {}): Promise<MockUpstream> {
  const mock = new MockUpstream(options);
  await mock.start();
  cleanups.push(() => mock.kill().catch(() => undefined));
  return mock;
}

async function gatewayOver(yaml: string): Promise<TestGateway> {
  const gateway = await testGateway(yaml);
  cleanups.push(() => gateway.stop());
  return gateway;
}

function open(replicas: readonly MockUpstream[], pool = ""): string {
  return `access: open\npools: [{ name: p, engine: vllm, replicas: [${replicas.map(({ url }) => url).join(", ")}] ${pool} }]\nmodels: [{ name: m, pools: [p] }]\n`;
}

function usageOf(gateway: TestGateway): UsageRecord[] {
  const directory = path.join(gateway.state, "gateway", "usage");
  return readdirSync(directory).flatMap((name) =>
    readFileSync(path.join(directory, name), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as UsageRecord),
  );
}

function textOf(stream: string): string {
  return stream
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map(
      (event) =>
        (JSON.parse(event.slice(6)) as { choices?: { delta?: { content?: string } }[] }).choices?.[0]?.delta?.content ??
        "",
    )
    .join("");
}

describe("a request", () => {
  it("is answered by a replica and leaves its usage", async () => {
    const gateway = await gatewayOver(open([await upstream()]));
    const response = await chat(gateway.url, {});
    expect(response.status).toBe(200);
    expect(((await response.json()) as { usage: object }).usage).toMatchObject({
      prompt_tokens: 3,
      completion_tokens: 5,
    });
    expect(usageOf(gateway)).toMatchObject([
      { seq: 1, outcome: "completed", promptTokens: 3, completionTokens: 5, isPromptEstimated: false },
    ]);
  });

  it("streams; the usage event that the gateway asked for stays with it", async () => {
    const mock = await upstream({ tokens: 7 });
    const gateway = await gatewayOver(open([mock]));
    const text = await (await chat(gateway.url, { stream: true })).text();
    expect(textOf(text)).toBe("t0 t1 t2 t3 t4 t5 t6 ");
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(text).not.toContain('"usage"');
    expect(mock.lastBody?.stream_options).toEqual({ include_usage: true });
    expect(usageOf(gateway)).toMatchObject([{ completionTokens: 7, promptTokens: 3 }]);
    const asked = await (await chat(gateway.url, { stream: true, stream_options: { include_usage: true } })).text();
    expect(asked).toContain('"usage"');
  });

  it("needs a key that is known, and sees the models of its team only", async () => {
    const mock = await upstream();
    const gateway = await gatewayOver(
      `teams: [{ name: a, keys: [{ sha256: ${hash("sha256", "secret")} }], models: [m] }]\n` +
        `pools: [{ name: p, engine: vllm, replicas: [${mock.url}] }]\nmodels: [{ name: m, pools: [p] }, { name: n, pools: [p] }]\n`,
    );
    expect((await chat(gateway.url, {}, "wrong")).status).toBe(401);
    expect((await chat(gateway.url, {}, "secret")).status).toBe(200);
    const forbidden = await chat(gateway.url, { model: "n" }, "secret");
    expect([forbidden.status, await forbidden.json()]).toMatchObject([403, { error: { code: "model_not_allowed" } }]);
    expect(mock.lastHeaders.authorization).toBeUndefined();
    const models = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: "Bearer secret" } });
    expect(((await models.json()) as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(["m"]);
  });

  it("is refused in the shape of its protocol", async () => {
    const gateway = await gatewayOver(open([await upstream()]));
    const post = (target: string, body: string): Promise<Response> =>
      fetch(gateway.url + target, { method: "POST", body });
    expect(await (await post("/v1/chat/completions", "{")).json()).toMatchObject({
      error: { type: "invalid_request_error" },
    });
    expect(await (await post("/v1/messages", '{"model":"none"}')).json()).toMatchObject({
      type: "error",
      error: { type: "not_found_error" },
    });
    expect(await (await post("/v2/models/none/infer", "{}")).json()).toMatchObject({
      error: "The model `none` does not exist here.",
    });
  });
});

describe("a budget", () => {
  const budgeted = (mock: MockUpstream, more: string): string =>
    `teams: [{ name: a, keys: [{ sha256: ${hash("sha256", "secret")} }], budget: 1 USD/month }]\n` +
    `pools: [{ name: cheap, engine: vllm, replicas: ["http://127.0.0.1:9"], price: { input: 0, output: 1 } }, { name: dear, engine: vllm, replicas: [${mock.url}], price: { input: 0, output: 600 } }]\n` +
    `models: [{ name: m, pools: [${more}], outputTokensReserved: 400 }]\n`;
  /** Statuses of two requests at once; each of them alone is within the budget. */
  const both = async (pools: string, body: object): Promise<number[]> => {
    const gateway = await gatewayOver(budgeted(await upstream({ delayMs: 300 }), pools));
    const responses = await Promise.all([chat(gateway.url, body, "secret"), chat(gateway.url, body, "secret")]);
    return responses.map(({ status }) => status).toSorted((a, b) => a - b);
  };

  it("reserves the price of the dearest pool that may serve the request", async () => {
    expect(await both("cheap, dear", { max_tokens: 1000 })).toEqual([200, 429]);
  });

  it("reserves every choice, also without a maximum of tokens", async () => {
    expect(await both("dear", { n: 3 })).toEqual([200, 429]);
    expect(await both("dear", { max_tokens: 400 })).toEqual([200, 200]);
    const peek = peekRequest(Buffer.from('{"model":"m","n":3,"best_of":4}'), "chat");
    expect(peek).toMatchObject({ choiceCount: 4, outputTokensMax: undefined });
  });
});

describe("a budget that a new configuration adds", () => {
  const key = hash("sha256", "secret");
  const yaml = (url: string, budget: string): string =>
    `teams: [{ name: a, keys: [{ sha256: ${key} }]${budget} }]\n` +
    `pools: [{ name: p, engine: vllm, replicas: [${url}], price: { input: 0, output: 100000 } }]\nmodels: [{ name: m, pools: [p] }]\n`;

  it.each(["", "coordinator: "])("counts what the team has spent before: %s", async (coordinator) => {
    const mock = await upstream({ tokens: 5 });
    const group = coordinator === "" ? "" : `${coordinator}127.0.0.1:${await freePort()}\n`;
    const gateway = await gatewayOver(group + yaml(mock.url, ""));
    // Each costs half a dollar.
    for (let at = 0; at < 3; at++) expect((await chat(gateway.url, { max_tokens: 5 }, "secret")).status).toBe(200);
    await gateway.reload(group + yaml(mock.url, ", budget: 2.4 USD/month"));
    expect((await chat(gateway.url, { max_tokens: 5 }, "secret")).status).toBe(200);
    expect((await chat(gateway.url, { max_tokens: 5 }, "secret")).status).toBe(429);
    // Another period: all was spent today.
    await gateway.reload(group + yaml(mock.url, ", budget: 2.4 USD/day"));
    expect((await chat(gateway.url, { max_tokens: 5 }, "secret")).status).toBe(429);
    await gateway.reload(group + yaml(mock.url, ", budget: 2.6 USD/day"));
    expect((await chat(gateway.url, { max_tokens: 5 }, "secret")).status).toBe(200);
  });
});

describe("a budget that a new configuration adds while usage cannot be written", () => {
  it("is refused, because what was spent is not known", async () => {
    const mock = await upstream({ tokens: 5 });
    const yaml = (budget: string): string =>
      `usage: { segment: 1B }\nteams: [{ name: a, keys: [{ sha256: ${hash("sha256", "secret")} }]${budget} }]\n` +
      `pools: [{ name: p, engine: vllm, replicas: [${mock.url}], price: { input: 0, output: 100000 } }]\nmodels: [{ name: m, pools: [p] }]\n`;
    const gateway = await gatewayOver(yaml(""));
    symlinkSync("/dev/full", path.join(gateway.state, "gateway", "usage", segmentName(2, 1)));
    expect((await chat(gateway.url, { max_tokens: 5 }, "secret")).status).toBe(200);
    const controller = new AbortController();
    const unrecorded = chat(gateway.url, { max_tokens: 5 }, "secret", controller.signal).catch(() => undefined);
    await expect.poll(() => gateway.logged.join()).toContain("usage cannot be written");
    await expect(gateway.reload(yaml(", budget: 2 USD/month"))).rejects.toThrow("cannot be written");
    controller.abort();
    await unrecorded;
  });
});

describe("a budget that a new configuration adds while a stream is in progress", () => {
  const key = hash("sha256", "secret");
  const yaml = (url: string, budget: string): string =>
    `teams: [{ name: a, keys: [{ sha256: ${key} }]${budget} }]\n` +
    `pools: [{ name: p, engine: vllm, replicas: [${url}], price: { input: 0, output: 100000 } }]\nmodels: [{ name: m, pools: [p] }]\n`;

  it.each(["", "coordinator: "])("counts the whole stream once: %s", async (coordinator) => {
    const mock = await upstream({ tokens: 20, everyMs: 120 });
    const group = coordinator === "" ? "" : `${coordinator}127.0.0.1:${await freePort()}\n`;
    const gateway = await gatewayOver(group + yaml(mock.url, ""));
    // It costs two dollars. A part of them is recorded before the reload.
    const stream = chat(gateway.url, { stream: true }, "secret").then((response) => response.text());
    await expect.poll(() => usageOf(gateway).length, { timeout: 5000 }).toBeGreaterThan(0);
    await gateway.reload(group + yaml(mock.url, ", budget: 2.4 USD/month"));
    expect(await stream).toContain("t19 ");
    mock.options = { tokens: 5 };
    expect((await chat(gateway.url, { max_tokens: 5 }, "secret")).status).toBe(429);
    await gateway.reload(group + yaml(mock.url, ", budget: 2.6 USD/month"));
    expect((await chat(gateway.url, { max_tokens: 5 }, "secret")).status).toBe(200);
  });
});

describe("a client that leaves", () => {
  it.each([
    ["before the first byte", { delayMs: 60_000 }, false],
    ["while it waits for a whole answer", { delayMs: 60_000 }, false],
    ["in the middle of a stream", { everyMs: 40, tokens: 100_000 }, true],
  ])("%s takes its upstream request along", async (_, options, isStream) => {
    const mock = await upstream(options);
    const gateway = await gatewayOver(open([mock]));
    const cancelled = new Promise<void>((resolve) => (mock.onCancelled = resolve));
    const controller = new AbortController();
    const response = chat(gateway.url, { stream: isStream }, "", controller.signal);
    response.catch(() => undefined);
    if (isStream) await (await response).body!.getReader().read();
    else await expect.poll(() => mock.requestCount).toBe(1);
    controller.abort();
    await cancelled;
    await expect.poll(() => usageOf(gateway).at(-1)?.outcome).toBe("aborted");
    const { completionTokens } = usageOf(gateway).at(-1)!;
    expect(Math.abs(completionTokens - mock.sentTokens)).toBeLessThanOrEqual(1);
  });
});

describe("a replica that fails", () => {
  it("before the first byte is replaced by another", async () => {
    const broken = await upstream({ status: 503 });
    const gone = await upstream();
    const gateway = await gatewayOver(open([broken, gone, await upstream()]));
    await gone.kill();
    for (let turn = 0; turn < 12; turn++) expect((await chat(gateway.url, {})).status).toBe(200);
  });

  it("in mid-stream is continued by another, token for token", async () => {
    const mocks = [await upstream({ tokens: 30, breakAfter: 11 }), await upstream({ tokens: 30, breakAfter: 13 })];
    const gateway = await gatewayOver(open(mocks));
    const text = await (await chat(gateway.url, { stream: true })).text();
    expect(textOf(text)).toBe(Array.from({ length: 30 }, (_, at) => `t${at} `).join(""));
    const ids = new Set([...text.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id));
    expect(ids.size).toBe(1);
    expect(usageOf(gateway)).toMatchObject([{ outcome: "completed", completionTokens: 30, promptTokens: 3 }]);
  });

  it("in mid-stream is continued at most as often as the pool allows attempts", async () => {
    const mocks = await Promise.all([upstream(), upstream(), upstream(), upstream()]);
    const ignored = (): void => undefined;
    for (const mock of mocks)
      Object.defineProperty(mock, "options", { get: () => ({ tokens: 30, breakAfter: 2 }), set: ignored });
    const gateway = await gatewayOver(open(mocks));
    const text = await (await chat(gateway.url, { stream: true })).text();
    expect(mocks.reduce((sum, { requestCount }) => sum + requestCount, 0)).toBe(3);
    expect(textOf(text)).toBe("t0 t1 t2 t3 t4 t5 ");
    expect(text).toContain('data: {"error":{"message":"The model server failed');
  });

  it("in mid-stream is continued with the usage of both replicas", async () => {
    const mocks = [await upstream({ tokens: 30, breakAfter: 11 }), await upstream({ tokens: 30, breakAfter: 13 })];
    const gateway = await gatewayOver(open(mocks));
    const body = { stream: true, stream_options: { include_usage: true }, presence_penalty: 0 };
    const text = await (await chat(gateway.url, body)).text();
    expect(text).toContain('"usage":{"prompt_tokens":3,"completion_tokens":30,"total_tokens":0}');
  });

  it("in mid-stream is continued inside a message that the client began", async () => {
    const mocks = [await upstream({ tokens: 9, breakAfter: 3 }), await upstream({ tokens: 9, breakAfter: 4 })];
    const gateway = await gatewayOver(open(mocks));
    const messages = [
      { role: "user", content: "count" },
      { role: "assistant", content: "t0 t1 " },
    ];
    const body = { stream: true, messages, continue_final_message: true, add_generation_prompt: false };
    const text = await (await chat(gateway.url, body)).text();
    expect(textOf(text)).toBe("t2 t3 t4 t5 t6 t7 t8 ");
    const continued = mocks
      .map(({ lastBody }) => lastBody?.messages)
      .find((each) => each?.at(-1)?.content !== "t0 t1 ");
    expect(continued?.map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  it.each([
    { guided_json: {} },
    { structured_outputs: { regex: "a+" } },
    { frequency_penalty: 0.5 },
    { response_format: { type: "json_object" } },
    { tools: [] },
  ])("in mid-stream is not continued with %j, which counts or constrains the whole output", async (field) => {
    const mocks = [await upstream({ tokens: 30, breakAfter: 4 }), await upstream({ tokens: 30, breakAfter: 4 })];
    const gateway = await gatewayOver(open(mocks));
    const text = await (await chat(gateway.url, { stream: true, ...field })).text();
    expect(textOf(text)).toBe("t0 t1 t2 t3 ");
    expect(text).toContain('data: {"error":{"message":"The model server failed');
  });

  it("in mid-stream tells the client no address, and the operator the cause", async () => {
    const mocks = [await upstream({ tokens: 300, everyMs: 20 }), await upstream({ tokens: 300, everyMs: 20 })];
    const gateway = await gatewayOver(open(mocks, ", probe: { interval: 1h }"));
    const response = await chat(gateway.url, { stream: true });
    const [serving, other] = mocks.toSorted((a, b) => b.requestCount - a.requestCount);
    await other!.kill();
    await serving!.kill();
    const text = await response.text();
    expect(text).toContain('data: {"error":{"message":"The model server failed');
    expect(text).not.toContain("127.0.0.1");
    expect(gateway.logged.join("\n")).toContain("broke: connect ECONNREFUSED 127.0.0.1:");
  });

  it("in mid-stream ends with an error event where nothing can continue", async () => {
    const gateway = await gatewayOver(open([await upstream({ tokens: 30, breakAfter: 4 })], ", resume: false"));
    const text = await (await chat(gateway.url, { stream: true })).text();
    expect(textOf(text)).toBe("t0 t1 t2 t3 ");
    expect(text).toContain('data: {"error":{"message":"The model server failed');
    expect(text).not.toContain("[DONE]");
  });
});
