/**
 * Requests of a fuzzer that knows the schemas, in a process of their own. The gateway survives, answers none of them
 * with an error of its own (500), stays quick for `/health`, and keeps no memory. `HEADROOM_REQUESTS=100000` runs more
 * than the slice of CI, `HEADROOM_SEED` another slice.
 */
import { hash } from "node:crypto";
import { Agent, createServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { testGateway } from "../src/testing/test-gateway.ts";
import { drawsFrom, requestFrom, type FuzzedRequest } from "./request-fuzzer.ts";

const requestCount = Number(process.env["HEADROOM_REQUESTS"] ?? 6000);
const seed = Number(process.env["HEADROOM_SEED"] ?? Math.floor(Date.now() / 86_400_000));
const CLIENTS = 16;

/** An engine that answers whatever it gets: the requests that reach it may have any values. */
function engine(): Server {
  const usage = { prompt_tokens: 3, completion_tokens: 2 };
  const whole = JSON.stringify({ id: "resp_1", choices: [{ message: { content: "a" } }], output: [], usage });
  const chunk = JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content: "a" } }] });
  const events = `data: ${chunk}\n\ndata: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (part: Buffer) => chunks.push(part));
    request.on("end", () => {
      const isStream = /"stream" ?: ?true/.test(Buffer.concat(chunks).toString("latin1"));
      response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
      response.end(isStream ? events : whole);
    });
  });
}

function send(url: string, { method, target, key, contentType, body }: FuzzedRequest, agent: Agent): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const headers: Record<string, string | number> = { authorization: `Bearer ${key}`, "content-type": contentType };
    if (body !== undefined) headers["content-length"] = Buffer.byteLength(body);
    const sent = httpRequest({ hostname, port, path: target, method, headers, agent }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
      response.on("error", () => resolve(0));
    });
    sent.on("error", () => resolve(0));
    sent.end(body);
  });
}

describe("requests that know the schemas", () => {
  it(`neither end the gateway nor make it slow: seed ${seed}, ${requestCount} requests`, async () => {
    const server = engine();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const engineUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const team = (name: string, limits: string): string =>
      `{ name: ${name}, keys: [{ sha256: ${hash("sha256", name)} }]${limits} }`;
    const gateway = await testGateway(
      `teams: [${team("free", "")}, ${team("limited", ", tokensPerMinute: 1000000, budget: 5 USD/day")}]\n` +
        `pools: [{ name: native, engine: vllm, replicas: ["${engineUrl}"], breaker: { failures: 1000 }, price: { input: 1, output: 2 } }, { name: translated, engine: headroom, replicas: ["${engineUrl}"], breaker: { failures: 1000 } }]\n` +
        "models: [{ name: m, pools: [native] }, { name: t, pools: [translated] }]\n",
    );
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS + 1 });
    const counts = new Map<number, number>();
    const failures: string[] = [];
    const waits: number[] = [];
    const draw = drawsFrom(seed);
    let left = requestCount;
    let residentAtHalf = 0;
    const client = async (): Promise<void> => {
      while (left > 0) {
        left--;
        if (left === Math.floor(requestCount / 2)) residentAtHalf = process.memoryUsage().rss;
        const each = requestFrom(draw);
        const status = await send(gateway.url, each, agent);
        counts.set(status, (counts.get(status) ?? 0) + 1);
        if (status === 500 || status === 0) failures.push(`${status} ${JSON.stringify(each).slice(0, 600)}`);
        if (left % 50 === 0) {
          const startedAtMs = performance.now();
          const health = await send(gateway.url, { ...each, method: "GET", target: "/health", body: undefined }, agent);
          waits.push(performance.now() - startedAtMs);
          if (health !== 200) failures.push(`/health answered ${health}`);
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const resident = process.memoryUsage().rss;
    const sorted = waits.toSorted((a, b) => a - b);
    const p99 = sorted[Math.floor(0.99 * sorted.length)] ?? 0;
    console.log(
      `seed ${seed}: ${[...counts]
        .toSorted(([a], [b]) => a - b)
        .map(([status, count]) => `${status}: ${count}`)
        .join(", ")}; ` +
        `/health p99 ${p99.toFixed(1)} ms; resident ${Math.round(resident / 2 ** 20)} MiB, ${Math.round((resident - residentAtHalf) / 2 ** 20)} MiB more than at half`,
    );
    agent.destroy();
    await gateway.stop();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(failures.slice(0, 5)).toEqual([]);
    expect(counts.get(200) ?? 0).toBeGreaterThan(requestCount / 50);
    expect(resident - residentAtHalf).toBeLessThan(256 * 2 ** 20);
  });
});
