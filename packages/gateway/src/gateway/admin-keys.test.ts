/** Keys are created, rotated and revoked while a gateway runs, and no answer shows one again. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { changeKeyFile, readKeyFile } from "../access/key-file.ts";
import { withStoredKeys } from "../access/stored-config.ts";
import { createKey, revokeKey, rotateKey, type StoredKey } from "../access/stored-keys.ts";
import { Teams } from "../access/teams.ts";
import { loadConfig } from "../config/load.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";

let folder = "";
const cleanups: (() => Promise<void> | void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-keys-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const models = "models: [{ name: m, pools: [p] }, { name: n, pools: [p] }]\n";

function configOf(url: string, state: string): GatewayConfig {
  const teams = "teams: [{ name: search }, { name: other, models: [n] }]\n";
  const text = `listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstate: ${state}\nbounds: { shutdownTimeout: 2s }\n${teams}pools: [{ name: p, replicas: ["${url}"] }]\n${models}`;
  const loaded = loadConfig(text, {}, () => true);
  if ("config" in loaded) return loaded.config;
  throw new Error(JSON.stringify(loaded.problems));
}

async function started(): Promise<{ gateway: TestGateway; file: string }> {
  const upstream = new MockUpstream();
  await upstream.start();
  cleanups.push(() => upstream.kill());
  const file = path.join(folder, "gateway.keys.json");
  const yaml = `teams: [{ name: search, keys: [{ name: first, sha256: "${"0".repeat(64)}" }] }, { name: other, models: [n] }]\npools: [{ name: p, replicas: ["${upstream.url}"] }]\n${models}`;
  let applied = 0;
  const changed = async (): Promise<void> => {
    applied++;
    await gateway.apply(withStoredKeys(configOf(upstream.url, gateway.state), readKeyFile(file)));
  };
  const gateway = await testGateway(yaml, undefined, { file, changed });
  cleanups.push(() => {
    expect(applied).toBeGreaterThan(0);
    return gateway.stop();
  });
  return { gateway, file };
}

describe("keys through the admin address", () => {
  it("takes a created key at once, a rotated one until its overlap ends, and refuses a revoked one", async () => {
    const { gateway, file } = await started();
    const made = await gateway.admin("/v1/keys", { team: "search", name: "laptop", models: ["m"] });
    expect(made.status).toBe(201);
    const { key } = (await made.json()) as { key: string };
    expect((await chat(gateway.url, {}, key)).status).toBe(200);
    expect((await chat(gateway.url, { model: "n" }, key)).status).toBe(403);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toContain(key);
    const rotated = await gateway.admin("/v1/keys/rotate", { team: "search", name: "laptop", overlapMs: 3_600_000 });
    const { key: next } = (await rotated.json()) as { key: string };
    expect([(await chat(gateway.url, {}, key)).status, (await chat(gateway.url, {}, next)).status]).toEqual([200, 200]);
    const listing = await (await gateway.admin("/v1/keys")).text();
    expect((JSON.parse(listing) as { keys: { state: string }[] }).keys.map(({ state }) => state)).toEqual([
      "rotated",
      "active",
    ]);
    expect(listing).not.toMatch(/sha256|hr-/);
    const revoke = (onlyRotated: boolean): Promise<Response> =>
      gateway.admin("/v1/keys/revoke", { team: "search", name: "laptop", onlyRotated });
    expect(await (await revoke(true)).json()).toEqual({ revokedCount: 1 });
    expect([(await chat(gateway.url, {}, key)).status, (await chat(gateway.url, {}, next)).status]).toEqual([401, 200]);
    expect((await revoke(false)).status).toBe(200);
    expect((await chat(gateway.url, {}, next)).status).toBe(401);
    expect((await revoke(false)).status).toBe(404);
    expect(gateway.logged.join("\n")).not.toMatch(/hr-/);
  });

  it("refuses requests without the token, without the header, and what cannot be", async () => {
    const { gateway } = await started();
    const url = `${gateway.adminUrl!}/v1/keys`;
    const body = JSON.stringify({ team: "search", name: "a" });
    const authorization = `Bearer ${gateway.adminToken}`;
    expect((await fetch(url)).status).toBe(401);
    expect((await fetch(url, { headers: { authorization: "Bearer wrong" } })).status).toBe(401);
    expect((await fetch(`${url}?token=${gateway.adminToken}`)).status).toBe(401);
    expect((await fetch(url, { method: "POST", headers: { authorization }, body })).status).toBe(403);
    const cases: readonly (readonly [object, number])[] = [
      [{ team: "none", name: "a" }, 404],
      [{ team: "other", name: "a", models: ["m"] }, 404],
      [{ team: "search", name: "a b" }, 400],
      [{ team: "search", name: "a", expiresAtMs: 1 }, 400],
      [{ team: "search", name: "a", key: "hr-mine" }, 400],
      [{ team: "search", name: "a" }, 201],
      [{ team: "search", name: "a" }, 409],
    ];
    for (const [request, status] of cases)
      expect((await gateway.admin("/v1/keys", request)).status, JSON.stringify(request)).toBe(status);
    expect((await gateway.admin("/v1/keys", { team: "x".repeat(70_000), name: "a" })).status).toBe(413);
  });
});

describe("the file of keys", () => {
  it("loses no change of writers at the same time, and is refused if others may write it", async () => {
    const file = path.join(folder, "k.json");
    const names = Array.from({ length: 8 }, (_, at) => `k${at}`);
    await Promise.all(
      names.map((name) => changeKeyFile(file, (keys) => createKey(keys, { team: "t", name }, Date.now()))),
    );
    expect(
      readKeyFile(file)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(names);
    writeFileSync(path.join(folder, "open.json"), '{"version":1,"keys":[]}', { mode: 0o666 });
    expect(() => readKeyFile(path.join(folder, "open.json"))).toThrow(/chmod 600/);
    writeFileSync(path.join(folder, "cut.json"), '{"version":1,"ke', { mode: 0o600 });
    expect(() => readKeyFile(path.join(folder, "cut.json"))).toThrow(/not valid JSON/);
  });

  it("ends keys by the clock, and never lengthens a life by a rotation", () => {
    const first = createKey([], { team: "t", name: "k", expiresAtMs: 1000 }, 0);
    const rotated = rotateKey(first.keys, { team: "t", name: "k", overlapMs: 5000 }, 400);
    expect(rotated.outcome.oldUntilMs).toBe(1000);
    expect(rotated.keys.map(({ expiresAtMs }) => expiresAtMs)).toEqual([1000, 1000]);
    expect(() => rotateKey(rotated.keys, { team: "t", name: "k", overlapMs: 1 }, 1000)).toThrow(/no such key/);
    expect(() => revokeKey(rotated.keys, { team: "t", name: "k", onlyRotated: false }, 1000)).toThrow(/no such key/);
    let nowMs = 999;
    const config = withStoredKeys(configOf("http://127.0.0.1:9", folder), named(first.keys, "search"));
    const teams = new Teams(config.teams, () => nowMs);
    expect(teams.find(first.outcome.key)?.key).toBe("k");
    nowMs = 1000;
    expect(teams.find(first.outcome.key)).toBeUndefined();
    expect(teams.find(first.outcome.key)).toBeUndefined();
  });
});

function named(keys: readonly StoredKey[], team: string): readonly StoredKey[] {
  return keys.map((key) => ({ ...key, team }));
}
