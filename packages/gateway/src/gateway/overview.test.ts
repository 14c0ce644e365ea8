/** The page of the admin address and its figures: behind the token, and bounded whatever the configuration has. */
import { hash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import { RecentMinutes } from "../telemetry/recent-minutes.ts";
import type { ExchangeSummary } from "../exchange/runtime.ts";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";
import { pageAnswers } from "./admin-page.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function start(teams: string): Promise<TestGateway> {
  const mock = new MockUpstream();
  await mock.start();
  cleanups.push(() => mock.kill());
  const gateway = await testGateway(
    `teams: [${teams}]\npools: [{ name: p, engine: vllm, attempts: 1, replicas: ["${mock.url}", "http://127.0.0.1:9"] }]\nmodels: [{ name: m, pools: [p], price: { input: 1000, output: 1000 } }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

const keyOf = (name: string): string => `{ name: ${name}, sha256: ${hash("sha256", name)} }`;

it("shows teams, keys, limits, replicas and failures to who has the token", async () => {
  const gateway = await start(
    `{ name: a, keys: [${keyOf("first")}, ${keyOf("second")}], requestsPerMinute: 2, budget: 5 USD/day }, { name: b }`,
  );
  for (let count = 0; count < 3; count++) await (await chat(gateway.url, {}, "first")).text();
  await (await chat(gateway.url, { model: "none" }, "second")).text();
  await (await chat(gateway.url, {}, "wrong")).text();
  expect((await fetch(`${gateway.adminUrl!}/v1/overview`)).status).toBe(401);
  const overview = (await (await gateway.admin("/v1/overview")).json()) as { minutes: Record<string, number>[] };
  expect(overview).toMatchObject({
    notReady: [],
    teamCount: 2,
    teams: [
      {
        name: "a",
        completed: 2,
        limited: 1,
        inputTokens: 6,
        outputTokens: 10,
        costUsd: 0.016,
        limits: [
          { kind: "requests", limit: 2, used: 2, remaining: 0, period: "minute" },
          { kind: "money", limit: 5, used: 0.016, period: "day" },
        ],
        keyCount: 2,
        keys: [
          { name: "first", state: "active", requests: 3, costUsd: 0.016, expiresAtMs: null },
          { name: "second", state: "active", requests: 0 },
        ],
      },
      { name: "b", completed: 0, limits: [], keys: [] },
    ],
    pools: [{ name: "p", engine: "vllm", replicaCount: 2 }],
    errors: [{ status: 404, team: "a", key: "second", model: "none" }],
    refused: expect.arrayContaining([
      { reason: "unauthenticated", count: 1 },
      { reason: "modelNotFound", count: 1 },
    ]) as unknown,
  });
  const total = (kind: string): number => overview.minutes.reduce((sum, minute) => sum + (minute[kind] ?? 0), 0);
  expect([overview.minutes.length, total("completed"), total("limited")]).toEqual([60, 2, 1]);
});

it("is bounded with thousands of teams", async () => {
  const teams = Array.from({ length: 3000 }, (_, at) => `{ name: t${at}, requestsPerMinute: 5 }`).join(", ");
  const gateway = await start(`${teams}, { name: last, keys: [${keyOf("first")}] }`);
  await (await chat(gateway.url, {}, "first")).text();
  const text = await (await gateway.admin("/v1/overview")).text();
  expect(text.length).toBeLessThan(100_000);
  const { teams: shown, teamCount } = JSON.parse(text) as { teams: { name: string }[]; teamCount: number };
  expect([shown.length, shown[0]?.name, teamCount]).toEqual([100, "last", 3001]);
});

it("forgets minutes after an hour, and states times within a seventh", () => {
  const minutes = new RecentMinutes();
  const ended = (endedAtMs: number, tookMs: number): void =>
    minutes.observe({
      record: { outcome: "completed" },
      startedAtMs: endedAtMs - tookMs,
      firstByteAtMs: endedAtMs - tookMs / 2,
      endedAtMs,
    } as ExchangeSummary);
  for (const tookMs of [1, 10, 100, 1000, 100_000]) {
    const atMs = 3_600_000 * tookMs;
    ended(atMs, tookMs);
    const last = minutes.figures(atMs).at(-1)!;
    expect(last.completed).toBe(1);
    expect(Math.abs((last.durationP50Ms ?? 0) / tookMs - 1), `${tookMs}`).toBeLessThan(1 / 7);
  }
  const laterMs = 3_600_000 * 100_000 + 59 * 60_000;
  expect(minutes.figures(laterMs)[0]).toMatchObject({ completed: 1 });
  expect(minutes.figures(laterMs + 60_000).some(({ completed }) => completed > 0)).toBe(false);
});

it("serves the files of its page alone", async () => {
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-page-"));
  cleanups.push(async () => rmSync(directory, { recursive: true }));
  writeFileSync(path.join(directory, "gateway.html"), "<!doctype html>");
  const answers = pageAnswers(directory);
  const asked: unknown[] = [];
  const response = {
    writeHead: (status: number, headers: object) => {
      asked.push([status, headers]);
      return { end: () => undefined };
    },
  };
  const ask = (method: string, at: string, etag?: string): boolean =>
    answers({ method, headers: { "if-none-match": etag } } as never, at, response as never);
  expect([ask("GET", "/"), ask("POST", "/"), ask("GET", "/../admin-token"), ask("GET", "/replicas")]).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(asked).toMatchObject([
    [
      200,
      {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": expect.stringContaining("'self'") as string,
      },
    ],
  ]);
});
