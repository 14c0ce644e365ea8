/** Health, readiness, the list of models, and addresses without TLS. */
import { hash } from "node:crypto";
import { afterEach, expect, it } from "vitest";
import { checkAddresses } from "../config/exposure.ts";
import { loadConfig } from "../config/load.ts";
import { ModelLists } from "../protocols/model-lists.ts";
import { Fleet } from "../replicas/fleet.ts";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { testGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const config = (pool: string): string =>
  `teams: [{ name: t, keys: [{ sha256: ${hash("sha256", "key")} }] }]\npools: [{ name: p, engine: vllm, probe: { interval: 50ms }, ${pool} }]\nmodels: [{ name: m, pools: [p] }]\n`;

it("is ready while a replica takes requests, and healthy even without one, at both addresses without a key", async () => {
  const mock = new MockUpstream();
  await mock.start();
  cleanups.push(() => mock.kill());
  const gateway = await testGateway(config(`replicas: ["${mock.url}"]`));
  cleanups.push(() => gateway.stop());
  const ask = async (path: string): Promise<unknown> =>
    Promise.all(
      [gateway.url, gateway.adminUrl!].map(async (url) => {
        const response = await fetch(url + path);
        return [response.status, await response.json()];
      }),
    );
  const both = (...answer: unknown[]): unknown[][] => [answer, answer];
  expect(await ask("/readyz")).toEqual(both(200, { status: "ready", reasons: [] }));
  mock.isHealthy = false;
  const reason = { code: "noReplica", detail: expect.any(String) as string };
  await expect.poll(() => ask("/readyz")).toEqual(both(503, { status: "notReady", reasons: [reason] }));
  expect(await ask("/healthz")).toEqual(both(200, { status: "ok" }));
  expect(await ask("/health")).toEqual(both(200, { status: "ok" }));
  const post = await fetch(`${gateway.url}/readyz`, { method: "POST" });
  expect(post.status).toBe(405);
  await gateway.reload(config("wake: { command: [sh, -c, 'exit 1'] }"));
  await expect.poll(() => ask("/readyz")).toMatchObject(both(200, { status: "ready" }));
});

function loaded(yaml: string): Parameters<typeof checkAddresses>[0] {
  const outcome = loadConfig(
    `access: open\npools: [{ name: p, replicas: ["http://127.0.0.1:9"] }]\nmodels: [{ name: m, pools: [p] }, { name: n, pools: [p] }]\n${yaml}`,
  );
  if ("config" in outcome) return outcome.config;
  throw new Error(outcome.problems.map(({ message }) => message).join("\n"));
}

it.each([
  ["listen: 127.0.0.1:8080", []],
  ["listen: '[::1]:8080'\nadmin: localhost:9090", []],
  ["listen: 0.0.0.0:8080", "read API keys"],
  ["listen: '[::]:8080'", "read API keys"],
  ["listen: 0.0.0.0:8080\nadmin: 10.0.0.1:9090\ntls: { certificate: a, key: b }", "create keys"],
  ["listen: 0.0.0.0:8080\ntls: { certificate: a, key: b }", []],
  ["listen: 0.0.0.0:8080\nadmin: 0.0.0.0:9090\ninsecure: true", ["each API key travels", "the admin token travels"]],
])("addresses: %j", (yaml, expected) => {
  const check = (): readonly string[] => checkAddresses(loaded(yaml));
  if (typeof expected === "string") expect(check).toThrow(expected);
  else expect(check()).toEqual(expected.map((part) => expect.stringContaining(part) as string));
});

it("builds a list of models once for a configuration and what a caller may use", () => {
  const { models } = new Fleet(loaded(""), 1);
  const lists = new ModelLists();
  const allowed = new Set(["n"]);
  const ids = (body: Buffer): string[] =>
    (JSON.parse(body.toString()) as { data: { id: string }[] }).data.map(({ id }) => id);
  const all = lists.bodyFor(models, undefined);
  const own = lists.bodyFor(models, allowed);
  expect([ids(all), ids(own)]).toEqual([["m", "n"], ["n"]]);
  expect(
    [lists.bodyFor(models, undefined), lists.bodyFor(models, allowed)].every((each, at) => each === [all, own][at]),
  ).toBe(true);
  const changed = models.slice(0, 1);
  expect([ids(lists.bodyFor(changed, undefined)), ids(lists.bodyFor(changed, allowed))]).toEqual([["m"], []]);
});
