/** Headers that a replica receives when the client sends headers that the pool's configuration sets. */
import { hash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "../config/load.ts";
import { testGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Header values of the request that the replica receives, by lower-case name. */
async function received(pool: string, headers: Readonly<Record<string, string>>): Promise<Map<string, string[]>> {
  const values = new Map<string, string[]>();
  const replica = createServer((request, response) => {
    request.resume();
    for (let at = 0; request.method === "POST" && at < request.rawHeaders.length; at += 2) {
      const name = request.rawHeaders[at]!.toLowerCase();
      values.set(name, [...(values.get(name) ?? []), request.rawHeaders[at + 1]!]);
    }
    response.end("{}");
  });
  await new Promise<void>((resolve) => replica.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => {
    replica.closeAllConnections();
    await new Promise<void>((resolve) => replica.close(() => resolve()));
  });
  const url = `http://127.0.0.1:${(replica.address() as AddressInfo).port}`;
  const gateway = await testGateway(
    `teams: [{ name: t, keys: [{ sha256: ${hash("sha256", "secret")} }] }]\npools: [{ name: p, ${pool}, replicas: ["${url}"] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer secret", ...headers },
    body: JSON.stringify({ model: "m", messages: [] }),
  });
  expect(answer.status).toBe(200);
  return values;
}

describe("a header that the pool's configuration sets", () => {
  it("comes once and with the configured value, whatever the client and the gateway send", async () => {
    const values = await received(
      "headers: { X-Tenant: ours, OpenAI-Organization: org, X-Request-Id: fixed, Traceparent: none, Host: model.internal, Content-Type: application/json+x }",
      { "x-tenant": "theirs", "X-Tenant-Name": "kept", "openai-organization": "other", "content-type": "text/plain" },
    );
    const sent = (name: string): string[] | undefined => values.get(name);
    expect(sent("x-tenant")).toEqual(["ours"]);
    expect(sent("x-tenant-name")).toEqual(["kept"]);
    expect(sent("openai-organization")).toEqual(["org"]);
    expect(sent("x-request-id")).toEqual(["fixed"]);
    expect(sent("traceparent")).toEqual(["none"]);
    expect(sent("host")).toEqual(["model.internal"]);
    expect(sent("content-type")).toEqual(["application/json+x"]);
    expect(sent("content-length")?.length).toBe(1);
  });

  it("is one even if the configuration names it twice, or has a key for it", async () => {
    process.env["POOL_HEADERS_TEST_KEY"] = "upstream";
    cleanups.push(async () => {
      await Promise.resolve();
      delete process.env["POOL_HEADERS_TEST_KEY"];
    });
    const values = await received(
      "key: { env: POOL_HEADERS_TEST_KEY }, headers: { X-A: one, x-a: two, Authorization: Basic x }",
      { "x-a": "theirs" },
    );
    expect(values.get("x-a")).toEqual(["two"]);
    expect(values.get("authorization")).toEqual(["Bearer upstream"]);
  });

  it("cannot frame the message", () => {
    const loaded = loadConfig(
      "pools:\n  - name: p\n    replicas: ['http://a']\n    headers:\n      Content-Length: '5'\nmodels: [{ name: m, pools: [p] }]\n",
    );
    const [problem] = "problems" in loaded ? loaded.problems : [];
    expect(problem).toMatchObject({ line: 5, message: expect.stringContaining("frames a message") as string });
  });
});
