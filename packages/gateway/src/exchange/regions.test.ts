/** Requests of a key reach only replicas in the key's regions: not as fallback, retry, hedge or continuation either. */
import { hash } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { MockUpstream, type MockOptions } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";

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

const at = (mock: MockUpstream, region: string): string => `{ url: "${mock.url}", region: ${region} }`;
const key = (name: string, more = ""): string => `{ sha256: ${hash("sha256", name)}${more} }`;
const teams =
  `teams:\n  - { name: european, allowedRegions: [eu, eu-2], keys: [${key("eu")}, ${key("narrow", ", allowedRegions: [eu-2]")}] }\n` +
  `  - { name: anywhere, keys: [${key("any")}] }\n`;

async function start(yaml: string): Promise<TestGateway> {
  const spare = pool("spare", ["http://127.0.0.1:9"], ", region: eu-2");
  const gateway = await testGateway(`${teams}${yaml.replace("pools:\n", `pools:\n${spare}`)}`);
  cleanups.push(() => gateway.stop());
  return gateway;
}

const pool = (name: string, replicas: readonly string[], more = ""): string =>
  `  - { name: ${name}, engine: vllm, routing: round-robin, probe: { interval: 100ms }, replicas: [${replicas.join(", ")}]${more} }\n`;

describe("allowed regions", () => {
  it("exclude other replicas of a pool, however many requests come", async () => {
    const [eu, eu2, us] = [await upstream(), await upstream(), await upstream()];
    const gateway = await start(
      `pools:\n${pool("p", [at(eu, "eu"), at(eu2, "eu-2"), at(us, "us")])}models: [{ name: m, pools: [p] }]\n`,
    );
    for (let turn = 0; turn < 12; turn++) expect((await chat(gateway.url, {}, "eu")).status).toBe(200);
    expect([eu.requestCount > 0, eu2.requestCount > 0, us.requestCount]).toEqual([true, true, 0]);
    const before = eu.requestCount;
    for (let turn = 0; turn < 6; turn++) expect((await chat(gateway.url, {}, "narrow")).status).toBe(200);
    expect([eu.requestCount, us.requestCount]).toEqual([before, 0]);
    for (let turn = 0; turn < 6; turn++) expect((await chat(gateway.url, {}, "any")).status).toBe(200);
    expect(us.requestCount).toBeGreaterThan(0);
  });

  it("exclude fallbacks: overloaded, failed or unreachable, the other region's pool gets nothing", async () => {
    const [eu, us] = [await upstream({ status: 503 }), await upstream()];
    const gateway = await start(
      `pools:\n${pool("p", [at(eu, "eu")])}${pool("q", [at(us, "us")])}models: [{ name: m, pools: [p, q] }]\n`,
    );
    expect((await chat(gateway.url, {}, "any")).status).toBe(200);
    expect(us.requestCount).toBe(1);
    expect((await chat(gateway.url, {}, "eu")).status).toBe(503);
    eu.options = { status: 502 };
    expect((await chat(gateway.url, {}, "eu")).status).toBe(502);
    await eu.kill();
    expect((await chat(gateway.url, {}, "eu")).status).toBeGreaterThanOrEqual(502);
    expect(us.requestCount).toBe(1);
  });

  it("exclude hedges", async () => {
    const [eu, us] = [await upstream({ delayMs: 400 }), await upstream()];
    const gateway = await start(
      `pools:\n${pool("p", [at(eu, "eu"), at(us, "us")], ", hedgeAfter: 50ms")}models: [{ name: m, pools: [p] }]\n`,
    );
    for (let turn = 0; turn < 3; turn++) expect((await chat(gateway.url, {}, "eu")).status).toBe(200);
    expect([eu.requestCount, us.requestCount]).toEqual([3, 0]);
  });

  it("exclude continuations of broken streams, but not those within the regions", async () => {
    const [eu, us] = [await upstream({ tokens: 6, breakAfter: 3 }), await upstream({ tokens: 6 })];
    const eu2 = await upstream({ tokens: 6 });
    const both = `pools:\n${pool("p", [at(eu, "eu"), at(us, "us")])}`;
    const gateway = await start(`${both}models: [{ name: m, pools: [p] }]\n`);
    const broken = await (await chat(gateway.url, { stream: true }, "eu")).text();
    expect(broken).toContain("t2 ");
    expect(broken).toContain('data: {"error"');
    expect(us.requestCount).toBe(0);
    eu.options = { tokens: 6, breakAfter: 3 };
    const three = await start(
      `pools:\n${pool("p", [at(eu, "eu"), at(us, "us"), at(eu2, "eu-2")])}models: [{ name: m, pools: [p] }]\n`,
    );
    let text = "";
    // The stream breaks once, whenever its turn comes.
    for (let turn = 0; turn < 4 && eu2.lastBody?.continue_final_message !== true; turn++) {
      text = await (await chat(three.url, { stream: true }, "eu")).text();
    }
    expect(eu2.lastBody?.continue_final_message).toBe(true);
    expect(text).toContain("t5 ");
    expect(us.requestCount).toBe(0);
  });

  it("refuse with 403 in the protocol's form if no replica is left", async () => {
    const us = await upstream();
    const gateway = await start(
      `pools:\n${pool("p", [at(us, "us")])}${pool("eu", ["http://127.0.0.1:9"], ", region: eu")}models: [{ name: m, pools: [p] }]\n`,
    );
    const openai = await chat(gateway.url, {}, "eu");
    expect([openai.status, await openai.json()]).toMatchObject([
      403,
      { error: { code: "region_not_allowed", message: expect.stringContaining("eu, eu-2") as string } },
    ]);
    const anthropic = await fetch(`${gateway.url}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": "narrow", "x-headroom-region": "us" },
      body: JSON.stringify({ model: "m", max_tokens: 1, messages: [{ role: "user", content: "a" }] }),
    });
    expect([anthropic.status, await anthropic.json()]).toMatchObject([403, { error: { type: "permission_error" } }]);
    expect(us.requestCount).toBe(0);
  });
});
