/** Requests leave a saturated pool for another one, within data rules and budget, and the other side's failures cost nothing. */
import { hash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "../config/load.ts";
import type { PoolConfig } from "../config/schema.ts";
import { Pool } from "../replicas/pool.ts";
import { MockUpstream, type MockOptions } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function upstream(options: MockOptions = {}): Promise<MockUpstream> {
  const mock = new MockUpstream(options);
  await mock.start();
  cleanups.push(() => mock.kill().catch(() => undefined));
  return mock;
}

function newState(): string {
  const state = mkdtempSync(path.join(tmpdir(), "headroom-overflow-"));
  cleanups.push(() => rmSync(state, { recursive: true }));
  return state;
}

const key = (name: string, more = ""): string => `{ sha256: ${hash("sha256", name)}${more} }`;
const teams =
  `teams:\n  - { name: open, keys: [${key("any")}, ${key("secret", ", dataRule: restricted")}] }\n` +
  `  - { name: health, dataRule: patients, keys: [${key("patients")}] }\n`;

interface Wanted {
  readonly own: readonly MockUpstream[];
  readonly other: MockUpstream;
  readonly overflow?: string;
  readonly more?: string;
  readonly price?: string;
  readonly state?: string;
}

/** 10 USD for each million of output tokens at the provider: 0.00001 USD a token. */
async function start({ own, other, state, ...texts }: Wanted): Promise<TestGateway> {
  const { overflow = "", more = "", price = ", price: { output: 10 }" } = texts;
  const replicas = own.map(({ url }) => `"${url}"`).join(", ");
  const gateway = await testGateway(
    `${teams}pools:\n` +
      `  - { name: own, engine: vllm, probe: { interval: 50ms }, metrics: { interval: 50ms }, replicas: [${replicas}], overflow: { pool: provider${overflow} }${more} }\n` +
      `  - { name: provider, replicas: ["${other.url}"]${price} }\n` +
      "models:\n  - { name: m, outputTokensReserved: 100, pools: [own, { pool: provider, model: big, when: [overflow] }] }\n",
    state,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

/** A pool whose configuration has an overflow to `provider`. */
function overflowing(): PoolConfig {
  const loaded = loadConfig(
    'access: open\npools:\n  - { name: own, replicas: ["http://127.0.0.1:1"], overflow: { pool: provider } }\n' +
      '  - { name: provider, replicas: ["http://127.0.0.1:2"] }\n' +
      "models: [{ name: m, pools: [own, { pool: provider, when: [overflow] }] }]\n",
  );
  if (!("config" in loaded)) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config.pools[0]!;
}

const metric = async ({ admin }: TestGateway, name: string): Promise<string[]> =>
  (await (await admin("/metrics")).text()).split("\n").filter((line) => line.startsWith(name));

async function readyWithin(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10));
}

function usageRows(state: string): { pool: string; nanoUsd: number; overflow?: string; overflowReason?: string }[] {
  const folder = path.join(state, "gateway", "usage");
  const text = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), "utf8"));
  return text
    .join("")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as ReturnType<typeof usageRows>[number]);
}

/** Pools `near` and `far`, of which `near` costs less, as a set of targets. */
async function startSet(
  { own, near, far }: { readonly own: MockUpstream; readonly near: MockUpstream; readonly far: MockUpstream },
  {
    set,
    overflow = "",
    nearPrice = ", price: { output: 1 }",
  }: { readonly set: string; readonly overflow?: string; readonly nearPrice?: string },
): Promise<TestGateway> {
  const gateway = await testGateway(
    `${teams}pools:\n` +
      `  - { name: own, engine: vllm, replicas: ["${own.url}"], overflow: { pool: elsewhere, when: { concurrency: 1 }${overflow} } }\n` +
      `  - { name: far, replicas: ["${far.url}"], price: { output: 10 } }\n` +
      `  - { name: near, engine: vllm, replicas: ["${near.url}"], probe: { interval: 50ms }${nearPrice} }\n` +
      `overflowTargets: [{ name: elsewhere, ${set} }]\n` +
      "models:\n  - { name: m, outputTokensReserved: 100, pools: [own, { pool: far, when: [overflow] }, { pool: near, when: [overflow] }] }\n",
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

describe("an overflow to a set of targets", () => {
  const both = "pools: [{ pool: far }, { pool: near }]";

  /** Upstreams, of which the own one is busy with a request that never ends. */
  async function busy(): Promise<{
    own: MockUpstream;
    near: MockUpstream;
    far: MockUpstream;
    fill(gateway: TestGateway): Promise<void>;
  }> {
    const [own, near, far] = [await upstream({ delayMs: 60_000 }), await upstream(), await upstream()];
    const leaving = new AbortController();
    cleanups.push(() => leaving.abort());
    return {
      own,
      near,
      far,
      async fill({ url }) {
        void chat(url, {}, "any", leaving.signal).catch(() => undefined);
        await readyWithin(() => own.requestCount === 1);
      },
    };
  }

  it("sends each request to the pool where it costs least, and to the next one while that takes none", async () => {
    const mocks = await busy();
    const gateway = await startSet(mocks, { set: both });
    await mocks.fill(gateway);
    await chat(gateway.url, {}, "any");
    expect([mocks.near.requestCount, mocks.far.requestCount]).toEqual([1, 0]);
    mocks.near.isHealthy = false;
    await readyWithin(async () => {
      await chat(gateway.url, {}, "any");
      return mocks.far.requestCount > 0;
    });
    mocks.near.isHealthy = true;
    const before = mocks.near.requestCount;
    await readyWithin(async () => {
      await chat(gateway.url, {}, "any");
      return mocks.near.requestCount > before;
    });
    const counted = await metric(gateway, "headroom_gateway_overflow_target_requests_total");
    expect(counted.map((line) => line.replace(/ \d+$/, ""))).toEqual([
      'headroom_gateway_overflow_target_requests_total{name="own",overflow="own",target="near"}',
      'headroom_gateway_overflow_target_requests_total{name="own",overflow="own",target="far"}',
    ]);
  });

  it("keeps the order of the set where the operator says so, and puts a pool without a price last", async () => {
    const ordered = await busy();
    const first = await startSet(ordered, { set: `choose: order, ${both}` });
    await ordered.fill(first);
    await chat(first.url, {}, "any");
    expect([ordered.near.requestCount, ordered.far.requestCount]).toEqual([0, 1]);

    const unpriced = await busy();
    const second = await startSet(unpriced, { set: both, nearPrice: "" });
    await unpriced.fill(second);
    await chat(second.url, {}, "any");
    expect([unpriced.near.requestCount, unpriced.far.requestCount]).toEqual([0, 1]);
  });

  it("sends data only to pools whose rules and whose overflow admit it", async () => {
    const mocks = await busy();
    const set = "pools: [{ pool: near, dataRules: [unmarked] }, { pool: far, dataRules: [unmarked, restricted] }]";
    const gateway = await startSet(mocks, { set, overflow: ", dataRules: [unmarked, restricted]" });
    await mocks.fill(gateway);
    expect((await chat(gateway.url, {}, "secret")).headers.get("x-headroom-overflow")).toBe("concurrency");
    expect([mocks.near.requestCount, mocks.far.requestCount]).toEqual([0, 1]);
    expect((await chat(gateway.url, {}, "any")).headers.get("x-headroom-overflow")).toBe("concurrency");
    expect([mocks.near.requestCount, mocks.far.requestCount]).toEqual([1, 1]);
    const leaving = new AbortController();
    const stays = chat(gateway.url, {}, "patients", leaving.signal).catch(() => "left");
    await readyWithin(() => mocks.own.requestCount === 2);
    expect(await metric(gateway, "headroom_gateway_overflow_stayed_total")).toEqual([
      'headroom_gateway_overflow_stayed_total{name="own",overflow="own",reason="dataRule"} 1',
    ]);
    leaving.abort();
    expect(await stays).toBe("left");
  });

  it("goes on to a cheaper pool when the budget has no room for the first one", async () => {
    const mocks = await busy();
    // A request of at most 100 output tokens costs 0.001 USD in `far`, and 0.0001 USD in `near`.
    const gateway = await startSet(mocks, { set: `choose: order, ${both}`, overflow: ", budget: 0.0005 USD/day" });
    await mocks.fill(gateway);
    expect((await chat(gateway.url, {}, "any")).headers.get("x-headroom-overflow")).toBe("concurrency");
    expect([mocks.near.requestCount, mocks.far.requestCount]).toEqual([1, 0]);
  });

  it("starts a pool that costs less and has no replica where the set says so, and does not wait for it", async () => {
    const mocks = await busy();
    const started = path.join(newState(), "started");
    const command = JSON.stringify(["/bin/sh", "-c", `touch ${started}`]);
    const set = (wakes: boolean): string => `pools: [{ pool: near, wakes: ${wakes} }, { pool: far }]`;
    const gateway = await startSet(mocks, {
      set: set(false),
      nearPrice: `, wake: { command: ${command} }, price: { output: 1 }`,
    });
    mocks.near.isHealthy = false;
    await mocks.fill(gateway);
    await readyWithin(async () => {
      await chat(gateway.url, {}, "any");
      return mocks.far.requestCount > 0;
    });
    expect(existsSync(started)).toBe(false);
    const other = await busy();
    other.near.isHealthy = false;
    const waking = await startSet(other, {
      set: set(true),
      nearPrice: `, wake: { command: ${command} }, price: { output: 1 }`,
    });
    await other.fill(waking);
    await readyWithin(async () => {
      expect((await chat(waking.url, {}, "any")).status).toBe(200);
      return existsSync(started);
    });
    expect(other.far.requestCount).toBeGreaterThan(0);
  });

  it("needs pools that exist, and a name that no pool has", () => {
    const loaded = loadConfig(
      "access: open\npools: [{ name: own, replicas: ['http://127.0.0.1:1'], overflow: { pool: set } }]\n" +
        "overflowTargets: [{ name: own, pools: [{ pool: nowhere }] }]\nmodels: [{ name: m, pools: [own] }]\n",
    );
    const messages = "problems" in loaded ? loaded.problems.map(({ message }) => message).join("\n") : "";
    expect(messages).toContain("is the name of a pool");
    expect(messages).toContain("names the pool nowhere, which is not defined");
    expect(messages).toContain("names set, which no model of pool own lists");
  });
});

describe("an overflow", () => {
  it("takes the requests beyond the concurrency, and none when there is room again", async () => {
    const [own, other] = [await upstream({ delayMs: 150 }), await upstream()];
    const gateway = await start({ own: [own], other, overflow: ", when: { concurrency: 2 }, budget: 1 USD/day" });
    const answers = await Promise.all(Array.from({ length: 5 }, () => chat(gateway.url, {}, "any")));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect([own.requestCount, other.requestCount]).toEqual([2, 3]);
    expect(answers.filter(({ headers }) => headers.get("x-headroom-overflow") === "concurrency")).toHaveLength(3);
    expect(other.lastBody).toMatchObject({ model: "big", max_completion_tokens: 100 });
    const after = await chat(gateway.url, {}, "any");
    expect([after.headers.get("x-headroom-overflow"), own.requestCount]).toEqual([null, 3]);
    const rows = usageRows(gateway.state).filter(({ overflow }) => overflow !== undefined);
    expect(rows).toHaveLength(3);
    expect(rows[0]).toMatchObject({
      pool: "provider",
      nanoUsd: 50_000,
      overflow: "own",
      overflowReason: "concurrency",
    });
    expect(await metric(gateway, "headroom_gateway_overflow_requests_total")).toEqual([
      'headroom_gateway_overflow_requests_total{name="own",overflow="own",reason="concurrency"} 3',
    ]);
    expect(await metric(gateway, "headroom_gateway_overflow_budget_spent_usd")).toEqual([
      'headroom_gateway_overflow_budget_spent_usd{name="own",overflow="own",period="day"} 0.00015',
    ]);
  });

  it("takes requests while the queues of the own replicas are long", async () => {
    const [own, other] = [await upstream(), await upstream()];
    // The mock reports 3 waiting requests, and no request has ended.
    const gateway = await start({ own: [own], other, overflow: ", when: { queueTime: 5s }" });
    await readyWithin(async () => (await chat(gateway.url, {}, "any")).headers.has("x-headroom-overflow"));
    expect(await metric(gateway, "headroom_gateway_overflow_requests_total")).toEqual([
      'headroom_gateway_overflow_requests_total{name="own",overflow="own",reason="queueTime"} 1',
    ]);
  });

  it("takes requests when no own replica does, and those that own replicas refused", async () => {
    const [own, other] = [await upstream({ status: 503 }), await upstream()];
    const gateway = await start({ own: [own], other });
    expect((await chat(gateway.url, {}, "any")).headers.get("x-headroom-overflow")).toBe("noReplica");
    own.options = { status: 500 };
    expect((await chat(gateway.url, {}, "any")).headers.get("x-headroom-overflow")).toBe("failed");
    await own.kill();
    expect((await chat(gateway.url, {}, "any")).status).toBe(200);
    expect((await chat(gateway.url, { stream: true }, "any")).headers.get("x-headroom-overflow")).toBe("noReplica");
    expect(other.requestCount).toBe(4);
  });

  it("never takes a request with a data rule that is not listed, whatever its headers say", async () => {
    const [own, other] = [await upstream({ status: 503 }), await upstream()];
    const gateway = await start({ own: [own], other, overflow: ", dataRules: [unmarked, patients]" });
    const sent = (name: string, rule?: string): Promise<Response> =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${name}`,
          ...(rule === undefined ? {} : { "x-headroom-data-rule": rule }),
        },
        body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "a" }] }),
      });
    expect((await sent("secret")).status).toBe(503);
    expect((await sent("secret", "unmarked")).status).toBe(503);
    expect((await sent("any", "restricted")).status).toBe(503);
    expect((await sent("any", "patients, restricted")).status).toBe(503);
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    const body = JSON.stringify({ model: "m", messages: [] });
    const marks = "x-headroom-data-rule: restricted\r\nx-headroom-data-rule: patients\r\n";
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer any\r\n${marks}content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    expect(String(((await once(socket, "data")) as [Buffer])[0])).toMatch(/^HTTP\/1\.1 503 /);
    socket.destroy();
    expect(other.requestCount).toBe(0);
    expect((await sent("patients")).status).toBe(200);
    expect((await sent("any")).status).toBe(200);
    expect(await metric(gateway, "headroom_gateway_overflow_stayed_total")).toEqual([
      'headroom_gateway_overflow_stayed_total{name="own",overflow="own",reason="dataRule"} 5',
    ]);
  });

  it("never takes lines of a batch that was created with a data rule", async () => {
    const [own, other] = [await upstream({ status: 503 }), await upstream()];
    const gateway = await start({ own: [own], other });
    const headers = { authorization: "Bearer any" };
    const form = new FormData();
    form.set("purpose", "batch");
    const url = "/v1/chat/completions";
    form.set(
      "file",
      new File([JSON.stringify({ custom_id: "a", url, body: { model: "m", messages: [] } })], "in.jsonl"),
    );
    const uploaded = await fetch(`${gateway.url}/v1/files`, { method: "POST", headers, body: form });
    const { id } = (await uploaded.json()) as { id: string };
    const created = await fetch(`${gateway.url}/v1/batches`, {
      method: "POST",
      headers: { ...headers, "x-headroom-data-rule": "contracts" },
      body: JSON.stringify({ input_file_id: id, endpoint: url, completion_window: "24h" }),
    });
    expect(await created.json()).toMatchObject({ data_rules: ["contracts"] });
    await readyWithin(async () => (await metric(gateway, "headroom_gateway_overflow_stayed_total")).length > 0);
    expect([own.requestCount > 0, other.requestCount]).toEqual([true, 0]);
  });

  it("takes nothing while another pool of the operator does", async () => {
    const [first, second, other] = [await upstream(), await upstream({ delayMs: 300 }), await upstream()];
    const gateway = await testGateway(
      `${teams}pools:\n  - { name: first, replicas: ["${first.url}"] }\n` +
        `  - { name: second, replicas: ["${second.url}"], overflow: { pool: provider, when: { concurrency: 1 } } }\n` +
        `  - { name: provider, replicas: ["${other.url}"] }\n` +
        "models:\n  - { name: m, pools: [first, second, { pool: provider, when: [overflow] }] }\n" +
        "  - { name: n, pools: [second, { pool: provider, when: [overflow] }] }\n",
    );
    cleanups.push(() => gateway.stop());
    const busy = chat(gateway.url, { model: "n" }, "any");
    await readyWithin(() => second.requestCount === 1);
    const answer = await chat(gateway.url, {}, "any");
    expect([answer.headers.get("x-headroom-overflow"), first.requestCount]).toEqual([null, 1]);
    expect((await chat(gateway.url, { model: "n" }, "any")).headers.get("x-headroom-overflow")).toBe("concurrency");
    await busy;
  });

  it("never spends more than its budget, over restarts", async () => {
    const [own, other] = [await upstream({ status: 503 }), await upstream({ tokens: 100 })];
    const state = newState();
    // 100 tokens of a request cost 0.001 USD: five requests fit.
    const wanted = { own: [own], other, overflow: ", budget: 0.0055 USD/month", state };
    const first = await start(wanted);
    const burst = await Promise.all(Array.from({ length: 20 }, () => chat(first.url, {}, "any")));
    expect(burst.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(burst.filter(({ status }) => status === 503)).toHaveLength(15);
    await first.close();
    const second = await start(wanted);
    expect((await chat(second.url, {}, "any")).status).toBe(503);
    // A cheaper request has room in the rest.
    expect((await chat(second.url, { max_tokens: 20 }, "any")).status).toBe(200);
    expect(other.requestCount).toBe(6);
  });

  it("needs a price where it has a budget", async () => {
    const [own, other] = [await upstream({ status: 503 }), await upstream()];
    const gateway = await start({ own: [own], other, overflow: ", budget: 1 USD/day", price: "" });
    expect((await chat(gateway.url, {}, "any")).status).toBe(503);
    expect(await metric(gateway, "headroom_gateway_overflow_stayed_total")).toEqual([
      'headroom_gateway_overflow_stayed_total{name="own",overflow="own",reason="price"} 1',
    ]);
  });

  it("returns a request to the own replicas when the other side refuses or fails", async () => {
    const [own, other] = [await upstream({ delayMs: 200 }), await upstream({ status: 429 })];
    const gateway = await start({ own: [own], other, overflow: ", when: { concurrency: 1 }, budget: 1 USD/day" });
    const both = async (): Promise<number[]> =>
      (await Promise.all([chat(gateway.url, {}, "any"), chat(gateway.url, {}, "any")])).map(({ status }) => status);
    expect(await both()).toEqual([200, 200]);
    other.options = { status: 500 };
    expect(await both()).toEqual([200, 200]);
    await other.kill();
    expect(await both()).toEqual([200, 200]);
    expect(own.requestCount).toBe(6);
    expect(await metric(gateway, "headroom_gateway_overflow_budget_spent_usd")).toEqual([
      'headroom_gateway_overflow_budget_spent_usd{name="own",overflow="own",period="day"} 0',
    ]);
  });

  it("of an endpoint that this release does not understand lets nothing leave, also not by that of the pool", () => {
    const pool = new Pool(overflowing(), 1);
    expect(pool.overflow?.policy.target).toEqual({ pool: "provider" });
    pool.followOverflow("default/chat", "unreadable");
    expect(pool.overflow).toBeUndefined();
    pool.followOverflow("default/chat", { dataRules: ["unmarked"] });
    expect(pool.overflow).toBeUndefined();
    pool.followOverflow("default/chat", null);
    expect(pool.overflow?.policy.target).toEqual({ pool: "provider" });
  });

  it("is that of the endpoint that the pool follows, while its first replica starts", async () => {
    const other = await upstream();
    const policy = { provider: "provider", budget: { microUsd: 1_000_000, period: "day" }, dataRules: ["unmarked"] };
    const endpoint = { name: "chat", team: "default", workloadId: "w1", autoscaled: true, overflow: policy, list: [] };
    const reports: { overflow?: { nanoUsd: number }; held: number }[] = [];
    const plane = createServer((request, response) => {
      if (request.method === "GET") return void response.end(JSON.stringify({ items: [endpoint] }));
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        reports.push(JSON.parse(body) as (typeof reports)[number]);
        response.end("{}");
      });
    });
    plane.listen(0, "127.0.0.1");
    await once(plane, "listening");
    cleanups.push(() => void plane.close());
    const state = newState();
    const token = path.join(state, "token");
    writeFileSync(token, "secret", { mode: 0o600 });
    const gateway = await testGateway(
      `${teams}controlPlane: { url: "http://127.0.0.1:${(plane.address() as AddressInfo).port}", token: { file: ${token} }, interval: 50ms }\n` +
        `pools:\n  - { name: own, engine: vllm, endpoint: chat }\n  - { name: provider, replicas: ["${other.url}"], price: { output: 10 } }\n` +
        "models:\n  - { name: m, pools: [own, { pool: provider, when: [overflow] }] }\n",
      state,
    );
    cleanups.push(() => gateway.stop());
    const left = await chat(gateway.url, {}, "any");
    expect([left.status, left.headers.get("x-headroom-overflow")]).toEqual([200, "noReplica"]);
    // The first report can come while the request is in progress.
    await readyWithin(() => reports.at(-1)?.overflow?.nanoUsd === 50_000);
    expect(reports.at(-1)?.overflow).toEqual({
      left: { noReplica: 1 },
      stayed: {},
      targets: { provider: 1 },
      nanoUsd: 50_000,
      spentNanoUsd: 50_000,
    });
    // A request that may not leave is held, as without an overflow.
    const held = chat(gateway.url, {}, "secret").catch(() => undefined);
    await readyWithin(() => reports.at(-1)?.held === 1);
    expect(other.requestCount).toBe(1);
    await gateway.close();
    await held;
  });
});
