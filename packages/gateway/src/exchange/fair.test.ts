/** A pool with `fair`: teams take turns by their work, lines of batches give way, and nothing waits without an end. */
import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { answersOf, batchOfLines, shownBatch, type ShownBatch } from "../testing/batch-lines.ts";
import { MockUpstream, type MockOptions } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const yamlOf = (url: string, fair: string): string =>
  `teams:\n${["much", "little"].map((name) => `  - { name: ${name}, keys: [{ sha256: ${hash("sha256", name)} }] }\n`).join("")}` +
  `pools: [{ name: p, engine: vllm, replicas: ["${url}"]${fair} }]\nmodels: [{ name: m, pools: [p] }]\n`;

async function start(options: MockOptions, fair: string): Promise<{ upstream: MockUpstream; gateway: TestGateway }> {
  const upstream = new MockUpstream(options);
  const url = await upstream.start();
  cleanups.push(() => upstream.kill().catch(() => undefined));
  const gateway = await testGateway(yamlOf(url, `, fair: { ${fair} }`));
  cleanups.push(() => gateway.stop());
  return { upstream, gateway };
}

const value = async ({ admin }: TestGateway, name: string): Promise<number> => {
  const line = (await (await admin("/metrics")).text()).split("\n").find((each) => each.startsWith(name));
  return Number(line?.split(" ").at(-1));
};

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10));
}

const usageLines = ({ state }: TestGateway): string[] => {
  const folder = path.join(state, "gateway", "usage");
  return readdirSync(folder)
    .flatMap((name) => readFileSync(path.join(folder, name), "utf8").split("\n"))
    .filter((line) => line !== "");
};

const headers = { authorization: "Bearer little" };

const lineOf = (gateway: TestGateway): Promise<string> => batchOfLines(gateway, "little", [{}]);
const batchOf = (gateway: TestGateway, id: string): Promise<ShownBatch> => shownBatch(gateway, "little", id);

describe("a pool with fair shares", () => {
  it("serves a team that comes later and sends less in turn with one that sent everything at once", async () => {
    const { gateway } = await start({ delayMs: 20 }, "concurrency: 1");
    const order: string[] = [];
    const send = async (team: string): Promise<number> => {
      const { status } = await chat(gateway.url, {}, team);
      order.push(team);
      return status;
    };
    const much = Array.from({ length: 20 }, () => send("much"));
    await until(async () => (await value(gateway, 'headroom_gateway_fair_waiting{name="p",kind="request"}')) > 10);
    const little = await Promise.all([1, 2, 3, 4].map(() => send("little")));
    expect(little).toEqual([200, 200, 200, 200]);
    expect(await Promise.all(much)).toEqual(Array.from({ length: 20 }, () => 200));
    const from = order.indexOf("little");
    expect(order.slice(from, from + 8).filter((team) => team === "little").length).toBeGreaterThanOrEqual(3);
    expect(await value(gateway, 'headroom_gateway_fair_running{name="p",kind="request"}')).toBe(0);
  });

  it("refuses what would wait beyond its bounds, and forgets clients that leave", async () => {
    const { upstream, gateway } = await start({ delayMs: 400 }, "concurrency: 1, waitingMax: 1");
    const first = chat(gateway.url, {}, "much");
    await until(() => upstream.requestCount === 1);
    const leaving = new AbortController();
    const left = chat(gateway.url, {}, "much", leaving.signal).catch(() => "left");
    const waiting = 'headroom_gateway_fair_waiting{name="p",kind="request"}';
    await until(async () => (await value(gateway, waiting)) === 1);
    const refused = await chat(gateway.url, {}, "little");
    expect([refused.status, refused.headers.has("retry-after")]).toEqual([503, true]);
    leaving.abort();
    expect(await left).toBe("left");
    await until(async () => (await value(gateway, waiting)) === 0);
    expect([(await first).status, (await chat(gateway.url, {}, "little")).status]).toEqual([200, 200]);
    expect(upstream.requestCount).toBe(2);
  });

  it("answers 503 when the wait is over", async () => {
    const { upstream, gateway } = await start({ delayMs: 60_000 }, "concurrency: 1, waitMax: 500ms");
    const leaving = new AbortController();
    const first = chat(gateway.url, {}, "much", leaving.signal).catch(() => "left");
    await until(() => upstream.requestCount === 1);
    expect((await chat(gateway.url, {}, "little")).status).toBe(503);
    leaving.abort();
    expect(await first).toBe("left");
  });

  /** A gateway with a pool `p` of one slot, and a pool `q` after it. */
  async function startTwo(fair: string): Promise<{ first: MockUpstream; second: MockUpstream; gateway: TestGateway }> {
    const [first, second] = [new MockUpstream({ delayMs: 60_000 }), new MockUpstream()];
    for (const each of [first, second]) cleanups.push(() => each.kill().catch(() => undefined));
    const pools =
      `pools:\n  - { name: p, engine: vllm, replicas: ["${await first.start()}"], probe: { interval: 1s }, fair: { ${fair} } }\n` +
      `  - { name: q, engine: vllm, replicas: ["${await second.start()}"] }\nmodels: [{ name: m, pools: [p, q] }]\n`;
    const gateway = await testGateway(`${yamlOf("", "").split("pools:")[0]}${pools}`);
    cleanups.push(() => gateway.stop());
    return { first, second, gateway };
  }

  it.each([
    ["the wait is over", "concurrency: 1, waitMax: 500ms", (): void => undefined],
    [
      "the pool has no replica any more",
      "concurrency: 1, waitMax: 1h",
      (first: MockUpstream) => (first.isHealthy = false),
    ],
  ])("goes to the next pool when %s", async (_, fair, change) => {
    const { first, second, gateway } = await startTwo(fair);
    const leaving = new AbortController();
    const left = chat(gateway.url, {}, "much", leaving.signal).catch(() => "left");
    await until(() => first.requestCount === 1);
    const waiting = chat(gateway.url, {}, "little");
    await until(async () => (await value(gateway, 'headroom_gateway_fair_waiting{name="p",kind="request"}')) === 1);
    change(first);
    expect((await waiting).status).toBe(200);
    expect([first.requestCount, second.requestCount]).toEqual([1, 1]);
    leaving.abort();
    expect(await left).toBe("left");
  });

  it("lets everybody go on when a new configuration has no queue", async () => {
    const { upstream, gateway } = await start({ delayMs: 1_500 }, "concurrency: 1");
    const first = chat(gateway.url, {}, "much");
    await until(() => upstream.requestCount === 1);
    const second = chat(gateway.url, {}, "little");
    await gateway.reload(yamlOf(upstream.url, ""));
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
  });

  it("stops a line of a batch at once for a request, runs it again, and bills it once", async () => {
    const { upstream, gateway } = await start({ delayMs: 600 }, "concurrency: 1");
    const id = await lineOf(gateway);
    await until(() => upstream.requestCount === 1);
    const asked = chat(gateway.url, {}, "much");
    await until(() => upstream.requestCount === 2);
    // The line left the replica before the request was answered.
    await until(() => upstream.cancelledCount === 1);
    expect((await asked).status).toBe(200);
    await until(async () => (await batchOf(gateway, id)).status === "completed");
    expect((await batchOf(gateway, id)).request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
    expect(await value(gateway, 'headroom_gateway_fair_lines_stopped_total{name="p"}')).toBe(1);
    await until(() => usageLines(gateway).length >= 2);
    expect(usageLines(gateway).filter((each) => each.includes('"little"'))).toHaveLength(1);
    expect(upstream.requestCount).toBe(3);
  });

  it("continues a line that was stopped in the middle of its answer, with every token once", async () => {
    const { upstream, gateway } = await start({ tokens: 8, everyMs: 60 }, "concurrency: 1");
    const id = await lineOf(gateway);
    await until(() => upstream.sentTokens === 3);
    expect((await chat(gateway.url, { max_tokens: 1 }, "much")).status).toBe(200);
    await until(async () => (await batchOf(gateway, id)).status === "completed");
    const [body] = await answersOf(gateway, "little", id);
    expect(body).toMatchObject({
      object: "chat.completion",
      choices: [{ message: { role: "assistant", content: "t0 t1 t2 t3 t4 t5 t6 t7 " }, finish_reason: "stop" }],
      usage: { prompt_tokens: 2, completion_tokens: 8 },
    });
    expect(upstream.lastBody?.continue_final_message).toBe(true);
    // Eight tokens of the line and one of the request: none was generated twice, beyond those that were on their way.
    expect(upstream.sentTokens).toBeLessThanOrEqual(10);
    await until(() => usageLines(gateway).length >= 2);
    const billed = usageLines(gateway).filter((each) => each.includes('"little"'));
    expect(billed).toHaveLength(1);
    expect(JSON.parse(billed[0] ?? "")).toMatchObject({ promptTokens: 2, completionTokens: 8, outcome: "completed" });
  });

  it.each([400, 503])("begins a line again whose continuation is answered %d, and bills it once", async (status) => {
    const options = { tokens: 8, everyMs: 60, continuationStatus: status };
    const { upstream, gateway } = await start(options, "concurrency: 1");
    const id = await lineOf(gateway);
    await until(() => upstream.sentTokens === 3);
    expect((await chat(gateway.url, { max_tokens: 1 }, "much")).status).toBe(200);
    await until(async () => (await batchOf(gateway, id)).status === "completed");
    expect((await batchOf(gateway, id)).request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
    await until(() => usageLines(gateway).length >= 2);
    const billed = usageLines(gateway).filter((each) => each.includes('"little"'));
    const completed = billed.map((each) => JSON.parse(each) as { completionTokens: number });
    expect(completed.reduce((sum, { completionTokens }) => sum + completionTokens, 0)).toBe(8);
    expect(upstream.requestCount).toBe(4);
  });

  it("lets a batch end whose line finds no slot", async () => {
    const { upstream, gateway } = await start({ delayMs: 60_000 }, "concurrency: 1, waitMax: 500ms");
    const leaving = new AbortController();
    const first = chat(gateway.url, {}, "much", leaving.signal).catch(() => "left");
    await until(() => upstream.requestCount === 1);
    const id = await lineOf(gateway);
    await until(async () => (await value(gateway, 'headroom_gateway_fair_waiting{name="p",kind="line"}')) === 1);
    await fetch(`${gateway.url}/v1/batches/${id}/cancel`, { method: "POST", headers });
    await until(async () => (await batchOf(gateway, id)).status === "cancelled");
    expect([upstream.requestCount, usageLines(gateway)]).toEqual([1, []]);
    expect(await (await gateway.admin("/metrics")).text()).not.toMatch(/^headroom_gateway_requests_total.*"503"/m);
    leaving.abort();
    expect(await first).toBe("left");
  });

  it("lets a line go on when the pool is removed while it waits, with the new configuration", async () => {
    const { upstream, gateway } = await start({ delayMs: 60_000 }, "concurrency: 1, waitMax: 1h");
    const leaving = new AbortController();
    const first = chat(gateway.url, {}, "much", leaving.signal).catch(() => "left");
    await until(() => upstream.requestCount === 1);
    const id = await lineOf(gateway);
    await until(async () => (await value(gateway, 'headroom_gateway_fair_waiting{name="p",kind="line"}')) === 1);
    upstream.options = {};
    await gateway.reload(yamlOf(upstream.url, "").replace("name: p", "name: other").replace("[p]", "[other]"));
    await until(async () => (await batchOf(gateway, id)).status === "completed");
    leaving.abort();
    expect(await first).toBe("left");
  });
});
