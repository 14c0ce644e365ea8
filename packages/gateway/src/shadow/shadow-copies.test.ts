/** Requests are copied to a revision in the shadow: no client, no bill and no load learns of it, and the control plane gets readings. */
import { hash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { MockUpstream, type MockOptions } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";
import { agreementOf, textOfAnswer } from "./agreement.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Reading {
  readonly requests: number;
  readonly errors: number;
  readonly ttft: readonly unknown[];
  readonly quality?: readonly [number, number, number];
}

interface Report {
  readonly requests: number;
  readonly running: number;
  readonly held: number;
  readonly rollout?: { readonly canary: Reading; readonly baseline: Reading };
}

/** A control plane that lists one endpoint with a rollout in the shadow, and keeps the last report of the gateway. */
async function controlPlane(present: MockUpstream, next: readonly MockUpstream[], share: object) {
  const at = (mock: MockUpstream): string => mock.url.slice("http://".length);
  const known: { report?: Report } = {};
  const endpoint = {
    name: "chat",
    team: "default",
    workloadId: "w1",
    autoscaled: true,
    rollout: { number: 2, startedAtMs: 5, ...share },
    list: [
      { address: at(present), draining: false, revision: 1 },
      ...next.map((each) => ({ address: at(each), draining: false, revision: 2 })),
    ],
  };
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (bytes: Buffer) => (text += bytes.toString()));
    request.on("end", () => {
      if (request.method === "PUT") known.report = JSON.parse(text) as Report;
      response.end(JSON.stringify(request.method === "PUT" ? {} : { items: [endpoint] }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, known };
}

interface Started {
  readonly gateway: TestGateway;
  readonly present: MockUpstream;
  readonly next: MockUpstream;
  readonly known: { readonly report?: Report };
}

interface Setting {
  readonly shadowMilli?: number;
  readonly weightMilli?: number;
  readonly pool?: string;
  /** A second replica of the new revision. */
  readonly second?: MockUpstream;
  /** The address of a second pool, to which requests go where the first one fails. */
  readonly other?: string;
}

async function start(
  next: MockOptions,
  { shadowMilli = 1000, weightMilli = 0, pool = "", second, other }: Setting = {},
): Promise<Started> {
  const mocks = [new MockUpstream({ tokens: 4 }), new MockUpstream(next)] as const;
  for (const mock of mocks) {
    await mock.start();
    cleanups.push(() => mock.kill().catch(() => undefined));
  }
  const share = shadowMilli > 0 ? { weightMilli, shadowMilli } : { weightMilli };
  const plane = await controlPlane(mocks[0], second === undefined ? [mocks[1]] : [mocks[1], second], share);
  const token = path.join(tmpdir(), `headroom-shadow-${process.pid}.token`);
  writeFileSync(token, "secret\n");
  const gateway = await testGateway(
    `controlPlane: { url: "${plane.url}", token: { file: ${token} }, interval: 100ms }\n` +
      `teams: [{ name: a, keys: [{ sha256: ${hash("sha256", "key")} }], budget: 1 USD/day, tokensPerMinute: 100000 }]\n` +
      `pools: [{ name: p, engine: vllm, endpoint: chat, price: { input: 1, output: 1 }${pool} }` +
      (other === undefined
        ? `]\nmodels: [{ name: m, pools: [p] }]\n`
        : `, { name: q, engine: vllm, replicas: ["${other}"], price: { input: 1, output: 1 } }]\n` +
          `models: [{ name: m, pools: [p, { pool: q, when: [overloaded, failed] }] }]\n`),
  );
  cleanups.push(() => gateway.stop());
  return { gateway, present: mocks[0], next: mocks[1], known: plane.known };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

const send = async ({ gateway }: Started, body: object = {}): Promise<string> => {
  const response = await chat(gateway.url, body, "key");
  return `${response.status} ${await response.text()}`;
};

const billed = ({ gateway }: Started): number => {
  const folder = path.join(gateway.state, "gateway", "usage");
  const lines = readdirSync(folder).flatMap((name) => readFileSync(path.join(folder, name), "utf8").split("\n"));
  return lines.filter((line) => line.includes('"key"') || line.includes('"team":"a"')).length;
};

describe("requests that are copied to a revision in the shadow", () => {
  it("are answered by the present revision, billed once, and counted once as load", async () => {
    const started = await start({ tokens: 9 });
    for (let index = 0; index < 6; index++) {
      const answer = await send(started, { stream: index % 2 === 0 });
      expect(answer).toContain("t3");
      expect(answer).not.toContain("t8");
    }
    await until(() => started.next.requestCount === 6 && started.known.report?.rollout?.canary.requests === 6);
    expect(started.present.requestCount).toBe(6);
    expect(started.next.lastHeaders["x-request-id"]).toMatch(/-copy$/);
    await until(() => billed(started) === 6);
    await until(() => started.known.report?.running === 0);
    expect(started.known.report).toMatchObject({
      requests: 6,
      rollout: { canary: { requests: 6, errors: 0 }, baseline: { requests: 6, errors: 0 } },
    });
  });

  it("show failures of the new revision to the control plane alone", async () => {
    const started = await start({ status: 500 });
    expect(await send(started)).toMatch(/^200 /);
    await started.next.kill();
    expect(await send(started)).toMatch(/^200 /);
    await until(() => (started.known.report?.rollout?.canary.errors ?? 0) >= 1);
    expect(started.known.report?.rollout?.baseline.errors).toBe(0);
    const text = await (await started.gateway.admin("/metrics")).text();
    expect(text).toMatch(/headroom_gateway_copies_total\{name="p",outcome="failed"\} [12]/);
  });

  it("are those that the pool served itself: answers of another pool are compared with nothing", async () => {
    const other = new MockUpstream({ tokens: 1 });
    await other.start();
    cleanups.push(() => other.kill().catch(() => undefined));
    const started = await start({ tokens: 4 }, { other: other.url });
    started.present.options = { status: 503 };
    expect(await send(started)).toMatch(/^200 /);
    expect(other.requestCount).toBe(1);
    started.present.options = { tokens: 4 };
    expect(await send(started)).toContain("t3");
    await until(() => started.known.report?.rollout?.canary.quality !== undefined);
    expect(started.next.requestCount).toBe(1);
    expect(started.known.report?.rollout?.canary.quality).toEqual([1, 1, 1]);
  });

  it("go over kept connections, also after the replica closed one, so that their times are those of answers", async () => {
    const started = await start({ tokens: 4 });
    for (let count = 1; count <= 3; count++) {
      await send(started);
      await until(() => (started.known.report?.rollout?.canary.requests ?? 0) === count);
    }
    expect(started.next.requestSockets.size).toBe(1);
    started.next.breaksKept = true;
    await send(started);
    await until(() => (started.known.report?.rollout?.canary.requests ?? 0) === 4);
    expect(started.next.requestSockets.size).toBe(2);
    expect(started.known.report?.rollout?.canary.errors).toBe(0);
  });

  it("are never served by the new revision, also when it alone is left", async () => {
    const started = await start({});
    await send(started);
    await until(() => started.next.requestCount === 1);
    await started.present.kill();
    // The next one waits for a replica of the present revision, although one of the new revision is ready.
    const leaving = new AbortController();
    const waiting = chat(started.gateway.url, {}, "key", leaving.signal).catch(() => "left");
    await until(() => (started.known.report?.held ?? 0) > 0);
    leaving.abort();
    expect([await waiting, started.next.requestCount]).toEqual(["left", 1]);
  });

  it("are as many as the rollout states, and not more than the pool may copy at a time", async () => {
    const few = await start({}, { shadowMilli: 250 });
    for (let index = 0; index < 80; index++) await send(few);
    await until(() => few.known.report?.rollout?.baseline.requests === 80);
    expect(few.next.requestCount).toBeGreaterThan(5);
    expect(few.next.requestCount).toBeLessThan(40);

    const slow = await start({ delayMs: 60_000 }, { pool: ", shadow: { concurrencyMax: 2 }" });
    for (let index = 0; index < 5; index++) expect(await send(slow)).toMatch(/^200 /);
    const text = await (await slow.gateway.admin("/metrics")).text();
    expect(text).toContain('headroom_gateway_copies_total{name="p",outcome="skipped"} 3');
    await until(() => slow.next.requestCount === 2);
  });

  it("go to one replica if they are of one session, so that it caches their prefixes", async () => {
    const second = new MockUpstream({ delayMs: 60_000 });
    await second.start();
    cleanups.push(() => second.kill().catch(() => undefined));
    const started = await start({ delayMs: 60_000 }, { second });
    for (let index = 0; index < 4; index++) await send(started, { prompt_cache_key: "talk" });
    await until(() => started.next.requestCount + second.requestCount === 4);
    expect([0, 4]).toContain(second.requestCount);
    for (let index = 0; index < 16; index++) await send(started, { prompt_cache_key: `talk ${index}` });
    await until(() => started.next.requestCount + second.requestCount === 20);
    expect(Math.min(started.next.requestCount, second.requestCount)).toBeGreaterThan(0);
  });

  it("show no time to the first token where the caches of both replicas are unknown", async () => {
    const started = await start({ tokens: 4 });
    const rollout = () => started.known.report?.rollout;
    const stream = (content: string) => send(started, { stream: true, messages: [{ role: "user", content }] });
    const text = "some words of a prompt ".repeat(200);
    for (let index = 1; index <= 22; index++) {
      await stream(text);
      await until(() => rollout()?.canary.requests === index);
    }
    // The first 20 streams of a replica do not count, and the router expected the prompt in its cache from the second on.
    expect([rollout()?.baseline.ttft, rollout()?.canary.ttft]).toEqual([[], []]);
    await stream(`Another prompt: ${text}`);
    await until(() => (rollout()?.canary.ttft.length ?? 0) === 1);
    expect(rollout()?.baseline.ttft).toHaveLength(1);
  });

  it("get the agreement with the answer of the present revision as their score", async () => {
    const started = await start({ tokens: 8 });
    await send(started);
    await send(started, { stream: true });
    await until(() => started.known.report?.rollout?.canary.quality?.[0] === 2);
    const { canary, baseline } = started.known.report!.rollout!;
    // Four words of the eight are those of the other answer: 2 · 4 / (4 + 8).
    expect(canary.quality?.[1]).toBeCloseTo(4 / 3);
    expect(baseline.quality?.[1]).toBe(2);
  });

  it("get their scores from the operator's command, which sees the request and each answer", async () => {
    const script =
      "let t='';process.stdin.on('data',b=>t+=b).on('end',()=>{const {request,answer}=JSON.parse(t);" +
      "console.log(request.messages.length === 1 && answer.includes('t3') ? 0.75 : 0.25)})";
    const command = JSON.stringify([process.execPath, "-e", script]);
    const started = await start({ tokens: 2 }, { pool: `, shadow: { scorer: { command: ${command} } }` });
    await send(started);
    await until(() => started.known.report?.rollout?.canary.quality?.[0] === 1);
    const { canary, baseline } = started.known.report!.rollout!;
    expect([canary.quality?.[1], baseline.quality?.[1]]).toEqual([0.25, 0.75]);
  });

  it("have no score if the command gives none, and the operator is told once", async () => {
    const command = JSON.stringify([process.execPath, "-e", "console.log('good')"]);
    const started = await start({ tokens: 4 }, { pool: `, shadow: { scorer: { command: ${command} } }` });
    await send(started);
    await send(started);
    await until(() => started.gateway.logged.some((line) => line.includes("gave no score")));
    await until(() => started.known.report?.rollout?.canary.requests === 2);
    expect(started.gateway.logged.filter((line) => line.includes("gave no score"))).toHaveLength(1);
    expect(started.known.report?.rollout?.canary.quality).toBeUndefined();
  });
});

describe("requests to a new revision that hangs", () => {
  it("count as failed when their deadline passes", async () => {
    const started = await start({ delayMs: 60_000 }, { shadowMilli: 0, weightMilli: 1000 });
    await until(() => started.known.report !== undefined);
    const late = await fetch(`${started.gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer key", "x-headroom-deadline-ms": "1200" },
      body: '{"model":"m","messages":[]}',
    });
    expect(late.status).toBe(504);
    await until(() => started.known.report?.rollout?.canary.requests === 1);
    expect(started.known.report?.rollout?.canary.errors).toBe(1);
  });
});

describe("the agreement of two answers", () => {
  it.each([
    ["The sky is blue.", "the sky is blue", 1],
    ["yes", "no", 0],
    ["", "", 1],
    ["", "yes", 0],
    ["a a b", "a b b", 2 / 3],
  ])("of %o and %o is the F1 of their words", (one, other, f1) => {
    expect(agreementOf(one, other)).toBeCloseTo(f1);
  });

  it("is undefined for answers without a text", () => {
    expect(textOfAnswer('{"choices":[{"message":{"content":null,"tool_calls":[]}}]}', false)).toBeUndefined();
    expect(textOfAnswer('{"error":{"message":"no"}}', false)).toBeUndefined();
    expect(textOfAnswer("not JSON", false)).toBeUndefined();
    expect(textOfAnswer("data: [DONE]\n\n", true)).toBeUndefined();
  });
});
