/** Waking a pool: one command for all gateways of a machine, without the gateway's secrets, and honest Retry-After. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../config/load.ts";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";
import { Pool } from "./pool.ts";
import { Waker } from "./waker.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-waker-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
});

async function upstream(): Promise<MockUpstream> {
  const mock = new MockUpstream();
  await mock.start();
  cleanups.push(() => mock.kill());
  return mock;
}

const configOf = (script: string, more = ""): string =>
  `access: open\npools: [{ name: org/p, engine: vllm, probe: { interval: 100ms }, wake: { command: [sh, -c, ${JSON.stringify(script)}]${more} } }]\n` +
  "models: [{ name: m, pools: [org/p] }]\n";

async function start(id: string, yaml: string): Promise<TestGateway> {
  const gateway = await testGateway(`id: ${id}\n${yaml}`, folder);
  cleanups.push(() => gateway.stop());
  return gateway;
}

const written = (name: string): string => {
  try {
    return readFileSync(path.join(folder, name), "utf8");
  } catch {
    return "";
  }
};

describe("a wake command", () => {
  it("gets a small environment and the variables that the configuration lists", async () => {
    const mock = await upstream();
    process.env["HEADROOM_TEST_SECRET"] = "s3cret";
    process.env["HEADROOM_TEST_LISTED"] = "given";
    cleanups.push(() => {
      delete process.env["HEADROOM_TEST_SECRET"];
      delete process.env["HEADROOM_TEST_LISTED"];
    });
    const gateway = await start(
      "a",
      configOf(`env > ${folder}/env; echo ${mock.url}`, ", env: [HEADROOM_TEST_LISTED]"),
    );
    expect((await chat(gateway.url, {})).status).toBe(200);
    const names = written("env")
      .split("\n")
      .map((line) => line.split("=")[0]);
    expect(names).toEqual(expect.arrayContaining(["PATH", "HEADROOM_POOL", "HEADROOM_TEST_LISTED"]));
    expect(written("env")).not.toContain("s3cret");
    const expected = new Set([
      "PATH",
      "HOME",
      "USER",
      "LOGNAME",
      "SHELL",
      "LANG",
      "LC_ALL",
      "LC_CTYPE",
      "TZ",
      "TMPDIR",
    ]);
    const ofShell = new Set(["PWD", "OLDPWD", "SHLVL", "_", ""]);
    const others = names.filter((name) => !expected.has(name!) && !ofShell.has(name!));
    expect(new Set(others)).toEqual(new Set(["HEADROOM_POOL", "HEADROOM_TEST_LISTED"]));
  });

  it("runs once for three gateways with one state folder, and its address reaches all of them", async () => {
    const mock = await upstream();
    const yaml = configOf(`echo x >> ${folder}/runs; sleep 0.5; echo ${mock.url}`);
    const gateways = [await start("a", yaml), await start("b", yaml), await start("c", yaml)];
    const all = await Promise.all(
      gateways.flatMap(({ url }) => Array.from({ length: 20 }, async () => (await chat(url, {})).status)),
    );
    expect(new Set(all)).toEqual(new Set([200]));
    expect(written("runs")).toBe("x\n");
  });

  it("is not run by a gateway that gets its first request long after another has woken the pool", async () => {
    const mock = await upstream();
    const yaml = configOf(`echo x >> ${folder}/runs; echo ${mock.url}`);
    const [first, second] = [await start("a", yaml), await start("b", yaml)];
    expect((await chat(first.url, {})).status).toBe(200);
    // As if the wake had been an hour ago.
    const file = path.join(folder, ".wake", "org%2Fp", "last.json");
    const last = JSON.parse(readFileSync(file, "utf8")) as { readyAtMs: number };
    writeFileSync(file, JSON.stringify({ ...last, readyAtMs: last.readyAtMs - 3_600_000 }));
    expect((await chat(second.url, {})).status).toBe(200);
    expect(written("runs")).toBe("x\n");
  });

  it("that fails is not run by the next gateway before its back-off is over", async () => {
    const yaml = configOf(`echo x >> ${folder}/runs; exit 3`);
    const [first, second] = [await start("a", yaml), await start("b", yaml)];
    expect((await chat(first.url, {})).status).toBe(503);
    const refused = await chat(second.url, {});
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining("its command failed")]);
    expect(written("runs")).toBe("x\n");
  });

  it("that outlives its gateway is not run a second time by another", async () => {
    const yaml = configOf(`echo x >> ${folder}/runs; echo $$ > ${folder}/pid; exec sleep 30`);
    const [first, second] = [await testGateway(`id: a\n${yaml}`, folder), await start("b", yaml)];
    const abandoned = chat(first.url, {}).catch(() => undefined);
    await expect.poll(() => written("pid")).not.toBe("");
    cleanups.push(() => void process.kill(Number(written("pid"))));
    await first.close();
    await abandoned;
    const held = chat(second.url, {}).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(written("runs")).toBe("x\n");
    await second.close();
    await held;
  });
});

describe("Retry-After of a pool that wakes", () => {
  it("is the rest of the time that earlier wakes took, also for a gateway that has just started", async () => {
    const loaded = loadConfig(
      `access: open\npools: [{ name: p, engine: vllm, replicas: [http://127.0.0.1:9], wake: { command: [sh, -c, "echo x >> ${folder}/runs"] } }]\nmodels: [{ name: m, pools: [p] }]\n`,
    );
    if (!("config" in loaded)) throw new Error(JSON.stringify(loaded.problems));
    let nowMs = 1_000_000;
    const parts = { directory: folder, now: () => nowMs, log: () => undefined };
    const waker = new Waker(parts);
    const pool = new Pool(loaded.config.pools[0]!, 1);
    const [replica] = pool.replicas.values();
    const wakes = async (runCount: number): Promise<void> => {
      waker.wake(pool, 1, () => undefined);
      await expect.poll(() => written("runs")).toBe("x\n".repeat(runCount));
    };
    expect(waker.retryAfterMs(pool)).toBe(1000);
    await wakes(1);
    expect(waker.retryAfterMs(pool)).toBe(5000);
    nowMs += 40_000;
    replica!.health = "healthy";
    waker.check(pool);
    nowMs += 60_000;
    replica!.health = "unhealthy";
    replica!.probedAtMs = nowMs;
    await wakes(2);
    nowMs += 10_000;
    expect(waker.retryAfterMs(pool)).toBe(30_000);
    nowMs += 29_900;
    expect(waker.retryAfterMs(pool)).toBe(1000);
    waker.close();
    const fresh = new Waker(parts);
    fresh.wake(pool, 1, () => undefined);
    // A gateway looks about once a second. Until the command of the last wake has ended, no other one is run.
    const retryAfterMs = (): number => {
      fresh.check(pool);
      return fresh.retryAfterMs(pool);
    };
    await expect.poll(retryAfterMs).toBeGreaterThan(30_000);
    fresh.close();
  });
});

it("counts the wait for a replica as activity, also if the client leaves or no replica comes", async () => {
  const loaded = loadConfig(
    "access: open\ncontrolPlane: { url: http://127.0.0.1:9, token: { env: HOME } }\npools: [{ name: p, endpoint: chat, wake: { timeout: 5m } }]\nmodels: [{ name: m, pools: [p] }]\n",
  );
  if (!("config" in loaded)) throw new Error(JSON.stringify(loaded.problems));
  let nowMs = 1_000_000;
  const waker = new Waker({ directory: folder, now: () => nowMs, log: () => undefined });
  const pool = new Pool(loaded.config.pools[0]!, 1);
  const leave = waker.wake(pool, 1, () => undefined);
  expect(pool.lastActiveAtMs).toBe(1_000_000);
  nowMs += 60_000;
  leave?.();
  expect(pool.lastActiveAtMs).toBe(1_060_000);
  let isAnswered = false;
  waker.wake(pool, 1, () => (isAnswered = true));
  nowMs += 600_000;
  waker.check(pool);
  expect([isAnswered, pool.lastActiveAtMs]).toEqual([true, 1_660_000]);
  waker.close();
});
