/**
 * Lines of the access log explain what happened to a request: which replica was chosen and why, or why the request was
 * refused.
 */
import { hash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
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
});
