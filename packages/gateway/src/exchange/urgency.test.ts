/** Priorities and deadlines that requests state, within the bounds of their keys. */
import { hash } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { MockUpstream, type MockOptions } from "../testing/mock-upstream.ts";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";
import { urgencyOf } from "./urgency.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const sha256 = (key: string): string => hash("sha256", key);
const teams =
  `teams:\n  - { name: live, priorityMax: high, keys: [{ name: app, sha256: ${sha256("app")} }, { name: jobs, priorityMax: low, sha256: ${sha256("jobs")} }] }\n` +
  `  - { name: labs, keys: [{ name: all, sha256: ${sha256("labs")} }] }\n`;

async function start(options: MockOptions, fair = ""): Promise<{ upstream: MockUpstream; gateway: TestGateway }> {
  const upstream = new MockUpstream(options);
  const url = await upstream.start();
  cleanups.push(() => upstream.kill().catch(() => undefined));
  const gateway = await testGateway(
    `${teams}pools: [{ name: p, engine: vllm, replicas: ["${url}"]${fair}, price: { input: 1, output: 1 } }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return { upstream, gateway };
}

interface Sent {
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

const send = ({ url }: TestGateway, { key, headers = {}, body = {} }: Sent): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "one two" }], ...body }),
  });

const explained = async (gateway: TestGateway, response: Response): Promise<Record<string, unknown>> => {
  const id = response.headers.get("x-request-id") ?? "";
  return (await (await gateway.admin(`/v1/requests/${id}`)).json()) as Record<string, unknown>;
};

const errorOf = async (response: Response): Promise<[number, unknown, unknown]> => {
  const { error } = (await response.json()) as { error: { code: unknown; param: unknown } };
  return [response.status, error.code, error.param];
};

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10));
}

const waiting = async (gateway: TestGateway, priority: string): Promise<string> => {
  const text = await (await gateway.admin("/metrics")).text();
  const name = `headroom_gateway_fair_waiting_by_priority{name="p",priority="${priority}"} `;
  return (
    text
      .split("\n")
      .find((line) => line.startsWith(name))
      ?.slice(name.length) ?? ""
  );
};

describe("the priority of a request", () => {
  const bounds = { team: "live", priorityMax: "normal" } as const;
  const stated = (value: string): ReadonlyMap<string, string> => new Map([["x-headroom-priority", value]]);

  it.each([
    [undefined, "", "normal"],
    [stated("low"), "priority", "low"],
    [undefined, "flex", "low"],
    // An SDK sends its service tier to every server: a tier beyond the bounds of the key is lowered.
    [undefined, "priority", "normal"],
    [undefined, "auto", "normal"],
  ])("with headers %o and service tier %o is %s", (own, tier, priority) => {
    expect(urgencyOf(own, tier, bounds)).toEqual({ priority, deadlineMs: undefined });
  });

  it("is refused beyond what team and key allow, and where it is no priority", async () => {
    const { gateway } = await start({});
    const high = { "x-headroom-priority": "high" };
    expect((await send(gateway, { key: "app", headers: high })).status).toBe(200);
    for (const key of ["jobs", "labs"])
      expect(await errorOf(await send(gateway, { key, headers: high }))).toEqual([
        403,
        "priority_not_allowed",
        "x-headroom-priority",
      ]);
    const wrong = await send(gateway, { key: "app", headers: { "x-headroom-priority": "urgent" } });
    expect(await errorOf(wrong)).toEqual([400, null, "x-headroom-priority"]);
    expect(await explained(gateway, await send(gateway, { key: "jobs" }))).toMatchObject({ priority: "low" });
  });

  it("decides whose turn is next, and what leaves a full queue", async () => {
    const { upstream, gateway } = await start({ delayMs: 2_000 }, ", fair: { concurrency: 1, waitingMax: 2 }");
    const order: string[] = [];
    const sent = async (name: string, request: Sent): Promise<number> => {
      const { status } = await send(gateway, request);
      order.push(`${name} ${status}`);
      return status;
    };
    const first = sent("first", { key: "app" });
    await until(() => upstream.requestCount === 1);
    upstream.options = { delayMs: 50 };
    const low = sent("low", { key: "jobs" });
    await until(async () => (await waiting(gateway, "low")) === "1");
    const normal = sent("normal", { key: "labs" });
    await until(async () => (await waiting(gateway, "normal")) === "1");
    const high = sent("high", { key: "app", body: { service_tier: "priority" } });
    expect(await Promise.all([first, low, normal, high])).toEqual([200, 503, 200, 200]);
    expect(order).toEqual(["low 503", "first 200", "high 200", "normal 200"]);
  });
});

describe("the deadline of a request", () => {
  const within = (ms: number): Readonly<Record<string, string>> => ({ "x-headroom-deadline-ms": String(ms) });

  it.each(["0", "-1", "1.5", "soon", "86400001"])("is refused as %s", async (value) => {
    const { gateway } = await start({});
    const response = await send(gateway, { key: "app", headers: { "x-headroom-deadline-ms": value } });
    expect(await errorOf(response)).toEqual([400, null, "x-headroom-deadline-ms"]);
  });

  it("ends the wait for a turn, and no replica gets the request", async () => {
    const { upstream, gateway } = await start({ delayMs: 60_000 }, ", fair: { concurrency: 1, waitMax: 1h }");
    const leaving = new AbortController();
    const first = fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer app" },
      body: '{"model":"m","messages":[]}',
      signal: leaving.signal,
    }).catch(() => "left");
    await until(() => upstream.requestCount === 1);
    const late = await send(gateway, { key: "labs", headers: within(50) });
    expect(await explained(gateway, late)).toMatchObject({ deadlineMs: 50, refusal: { kind: "deadlineExceeded" } });
    expect(await errorOf(late)).toEqual([504, "deadline_exceeded", null]);
    expect([upstream.requestCount, await waiting(gateway, "normal")]).toEqual([1, "0"]);
    leaving.abort();
    expect(await first).toBe("left");
  });

  it("stops a replica that has not begun to answer, and bills what the replica read", async () => {
    const { upstream, gateway } = await start({ delayMs: 60_000 });
    const late = await send(gateway, { key: "app", headers: within(100) });
    const { usage } = await explained(gateway, late);
    expect(await errorOf(late)).toEqual([504, "deadline_exceeded", null]);
    expect(usage).toMatchObject({ outcome: "aborted", status: 504, completionTokens: 0, isPromptEstimated: true });
    await until(() => upstream.cancelledCount === 1);
  });

  it("does not end a stream that has begun", async () => {
    const { gateway } = await start({ tokens: 8, everyMs: 200 });
    const response = await send(gateway, { key: "app", headers: within(1_000), body: { stream: true } });
    const text = await response.text();
    expect([response.status, text.includes("[DONE]"), text.includes("t7")]).toEqual([200, true, true]);
  });
});
