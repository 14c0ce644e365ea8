/**
 * Lines of the access log explain what happened to a request: which replica was chosen and why, or why the request was
 * refused.
 */
import { hash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { chat, testGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

describe("the access log", () => {
  it("has the decision of an answered request and the reason of a refused one, and no prompt", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headroom-access-log-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, "access.jsonl");
    const mocks = [new MockUpstream(), new MockUpstream()];
    for (const mock of mocks) {
      await mock.start();
      cleanups.push(() => mock.kill());
    }
    const gateway = await testGateway(
      `accessLog: { file: ${file} }\nteams: [{ name: a, keys: [{ sha256: ${hash("sha256", "secret")} }], requestsPerMinute: 2 }]\n` +
        `pools: [{ name: p, engine: vllm, routing: round-robin, replicas: [${mocks.map(({ url }) => url).join(", ")}] }]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    cleanups.push(() => gateway.stop());
    const statuses = [];
    for (let turn = 0; turn < 3; turn++) statuses.push((await chat(gateway.url, {}, "secret")).status);
    expect(statuses).toEqual([200, 200, 429]);
    const lines = (): Record<string, unknown>[] =>
      readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await expect.poll(() => lines().length).toBe(3);
    const [first, second, third] = lines();
    for (const line of [first, second]) {
      expect(line).toMatchObject({
        team: "a",
        status: 200,
        replica: expect.stringContaining("127.0.0.1:") as string,
        attempts: 1,
        decision: { ground: "round robin", candidates: 2, replicas: 2, passedOver: 0 },
      });
      expect(line).not.toHaveProperty("refusal");
    }
    expect(first!["replica"]).not.toBe(second!["replica"]);
    expect(third).toMatchObject({
      status: 429,
      attempts: 0,
      replica: "",
      refusal: { kind: "rateLimited", message: expect.stringContaining("limit of 2 requests a minute") as string },
    });
    expect(readFileSync(file, "utf8")).not.toContain("one two three");
  });

  it("has a line for each refused request, with its status, reason and id", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headroom-access-log-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, "access.jsonl");
    const gateway = await testGateway(
      `accessLog: { file: ${file} }\nbounds: { shutdownTimeout: 2s, body: 1KiB }\n` +
        `teams: [{ name: a, keys: [{ name: k, sha256: ${hash("sha256", "secret")} }], models: [m] }]\n` +
        `pools: [{ name: p, replicas: ["http://127.0.0.1:9"] }]\nmodels: [{ name: m, pools: [p] }, { name: n, pools: [p] }]\n`,
    );
    cleanups.push(() => gateway.stop());
    const post = (at: string, body: string, key = "secret"): Promise<Response> =>
      fetch(gateway.url + at, {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-request-id": "mine" },
      });
    const chatPath = "/v1/chat/completions";
    const responses = [
      await post(`${chatPath}?token=s3cret`, "{}", "wrong"),
      await post("/v1/nowhere", "{}"),
      await post(chatPath, `{"model":"m","messages":"${"x".repeat(2000)}"}`),
      await post(chatPath, "{"),
      await post(chatPath, "{}"),
      await post(chatPath, '{"model":"none"}'),
      await post("/v1/messages", '{"model":"n"}'),
      await post("/v1/messages", '{"model":"m","top_k":1}'),
      await fetch(gateway.url + chatPath, { headers: { authorization: "Bearer secret" } }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([401, 404, 413, 400, 400, 404, 403, 400, 405]);
    const broken = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    broken.write("GET / HTTP/9.9\r\n\r\n");
    await once(broken, "data");
    broken.destroy();
    const lines = (): Record<string, unknown>[] =>
      readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await expect.poll(() => lines().length).toBe(10);
    const found = lines();
    for (const [index, response] of responses.entries()) {
      expect(found[index]).toMatchObject({
        id: response.headers.get("x-request-id"),
        ...(index === 8 ? {} : { clientId: "mine" }),
        status: response.status,
        outcome: "failed",
        attempts: 0,
        team: index === 0 ? "" : "a",
        promptTokens: 0,
      });
    }
    expect(found.map((line) => (line["refusal"] as { kind: string }).kind)).toEqual([
      "unauthenticated",
      "notFound",
      "tooLarge",
      "badRequest",
      "badRequest",
      "modelNotFound",
      "forbidden",
      "badRequest",
      "methodNotAllowed",
      "badRequest",
    ]);
    expect(found[5]).toMatchObject({ model: "none", operation: "chat", path: chatPath, method: "POST", key: "k" });
    expect(new Set(found.map(({ id }) => id)).size).toBe(10);
    expect(readFileSync(file, "utf8")).not.toContain("s3cret");
  });

  it("counts lines that could not be written, and spans that no collector took", async () => {
    const gateway = await testGateway(
      `access: open\naccessLog: { file: /dev/full }\ntracing: { endpoint: "http://127.0.0.1:9" }\n` +
        `pools: [{ name: p, replicas: ["http://127.0.0.1:9"] }]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    cleanups.push(() => gateway.stop());
    expect((await chat(gateway.url, { model: "none" })).status).toBe(404);
    const metrics = async (): Promise<string> => await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    await expect.poll(metrics).toMatch(/^headroom_gateway_access_log_dropped_total 1$/m);
    await expect.poll(metrics).toMatch(/^headroom_gateway_spans_dropped_total 1$/m);
  });
});
