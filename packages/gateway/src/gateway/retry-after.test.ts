/** `Retry-After`: of replicas, which the gateway follows, and of the gateway's own refusals. */
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Replica {
  readonly url: string;
  /** Number of requests, without probes. */
  count: number;
  answer: (response: ServerResponse) => void;
}

const good = (response: ServerResponse): void =>
  void response.end('{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}');
const refusing =
  (status: number, retryAfter: string): ((response: ServerResponse) => void) =>
  (response) =>
    void response.writeHead(status, { "retry-after": retryAfter }).end('{"error":{"message":"later"}}');

async function replica(answer: (response: ServerResponse) => void): Promise<Replica> {
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "GET") {
      response.end();
      return;
    }
    all.count++;
    all.answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const all: Replica = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, count: 0, answer };
  return all;
}

async function start(yaml: string): Promise<TestGateway> {
  const gateway = await testGateway(`access: open\n${yaml}`);
  cleanups.push(() => gateway.stop());
  return gateway;
}

const poolOf = (name: string, replicas: readonly Replica[], more = ""): string =>
  `{ name: ${name}, engine: vllm, routing: round-robin, replicas: [${replicas.map(({ url }) => url).join(", ")}]${more} }`;

describe("a replica that asks for no requests for a while", () => {
  it.each([429, 503])("gets none until then: %i", async (status) => {
    const [busy, other] = [await replica(refusing(status, "25")), await replica(good)];
    const gateway = await start(`pools: [${poolOf("p", [busy, other])}]\nmodels: [{ name: m, pools: [p] }]\n`);
    for (let at = 0; at < 12; at++) expect((await chat(gateway.url, {})).status).toBe(200);
    expect(busy.count).toBe(1);
  });

  it("gets requests again from then on", async () => {
    const [busy, other] = [await replica(refusing(429, "1")), await replica(good)];
    const gateway = await start(`pools: [${poolOf("p", [busy, other])}]\nmodels: [{ name: m, pools: [p] }]\n`);
    await expect.poll(async () => (await chat(gateway.url, {})).status && busy.count).toBe(1);
    busy.answer = good;
    await expect.poll(async () => (await chat(gateway.url, {})).status && busy.count).toBeGreaterThan(1);
  });

  it("sends requests to the next pool, and clients away with its time when there is none", async () => {
    const [busy, other] = [await replica(refusing(429, "20")), await replica(refusing(503, "5"))];
    const gateway = await start(
      `pools: [${poolOf("p", [busy])}, ${poolOf("q", [other])}]\nmodels: [{ name: m, pools: [p, { pool: q, when: [overloaded] }] }]\n`,
    );
    // The last refusal is forwarded as it is.
    const first = await chat(gateway.url, {});
    expect([first.status, first.headers.get("retry-after")]).toEqual([503, "5"]);
    const second = await chat(gateway.url, {});
    expect(second.status).toBe(503);
    expect(Number(second.headers.get("retry-after"))).toBeLessThanOrEqual(5);
    expect(Number(second.headers.get("retry-after-ms"))).toBeGreaterThan(3000);
    expect([busy.count, other.count]).toEqual([1, 1]);
  });

  it("is asked again after 30 seconds at the latest, and never woken", async () => {
    const busy = await replica(refusing(503, new Date(Date.now() + 86_400_000).toUTCString()));
    const gateway = await start(
      `pools: [${poolOf("p", [busy], ", wake: { command: [/bin/false] }")}]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    await expect.poll(async () => (await chat(gateway.url, {})).status && busy.count).toBe(1);
    const refused = await chat(gateway.url, {});
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(25);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(30);
    expect(await refused.text()).not.toContain("could not be started");
  });

  it("says nothing with a time that is over", async () => {
    const busy = await replica(refusing(503, "0"));
    const gateway = await start(
      `pools: [${poolOf("p", [busy], ", breaker: { failures: 1000 }")}]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    for (let at = 0; at < 3; at++) await chat(gateway.url, {});
    expect(busy.count).toBe(3);
  });
});

describe("a gateway whose memory for bodies is used up", () => {
  it("says when to try again", async () => {
    const gateway = await start(
      `bounds: { body: 100KiB, bodies: 100KiB, shutdownTimeout: 1s }\npools: [${poolOf("p", [await replica(good)])}]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    const slow = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    slow.on("error", () => undefined);
    slow.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 100000\r\n\r\n${"x".repeat(90_000)}`);
    await expect
      .poll(async () => /body_bytes (\d+)/.exec(await (await fetch(`${gateway.adminUrl!}/metrics`)).text())?.[1])
      .toBe("90000");
    const refused = await fetch(`${gateway.url}/v1/chat/completions`, { method: "POST", body: "x".repeat(50_000) });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    slow.destroy();
  });
});
