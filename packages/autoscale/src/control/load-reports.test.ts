import { expect, it } from "vitest";
import type { LoadReport } from "@headroom/protocol";
import { ColdStarts } from "./cold-starts.ts";
import { LoadReports } from "./load-reports.ts";

const report = (changes: Partial<LoadReport> = {}): LoadReport => ({
  version: 1,
  gateway: "a",
  startedAtMs: 1,
  requests: 0,
  running: 0,
  held: 0,
  idleMs: 0,
  queued: null,
  kvUsage: null,
  ttft: null,
  tpot: null,
  replicas: [],
  ...changes,
});

it("adds gateways, and takes rates from their counters", () => {
  const reports = new LoadReports();
  reports.take("w1", report({ requests: 100, running: 3 }), 0);
  reports.take("w1", report({ requests: 120, running: 4, replicas: [{ address: "h:1", requests: 4 }] }), 10_000);
  reports.take("w1", report({ gateway: "b", held: 2, replicas: [{ address: "h:1", requests: 1 }] }), 10_000);
  expect(reports.load("w1", 10_000)).toMatchObject({ gateways: 2, running: 4, held: 2, requestsPerSecond: 2 });
  expect(reports.requestsAt("w1", "h:1")).toBe(5);
  expect(reports.requestsAt("w1", "h:2")).toBeNull();
  expect(reports.load("w2", 10_000)).toBeNull();
});

it("counts a gateway that started again from zero, and one whose counter went back", () => {
  const reports = new LoadReports();
  reports.take("w1", report({ requests: 1_000 }), 0);
  reports.take("w1", report({ requests: 5, startedAtMs: 2 }), 1_000);
  expect(reports.load("w1", 1_000)?.requestsPerSecond).toBe(0);
  reports.take("w1", report({ requests: 3, startedAtMs: 2 }), 2_000);
  reports.take("w1", report({ requests: 7, startedAtMs: 2 }), 4_000);
  expect(reports.load("w1", 4_000)?.requestsPerSecond).toBe(2);
});

it("keeps the last reading of a silent gateway, and forgets it only beside others", () => {
  const reports = new LoadReports();
  reports.take("w1", report({ running: 3, idleMs: 50 }), 0);
  expect(reports.load("w1", 60_000)).toMatchObject({ gateways: 0, silentGateways: 1, running: 3, reportedAtMs: 0 });
  reports.keepOnly(new Set(["w1"]), 600_000);
  expect(reports.load("w1", 600_000)).not.toBeNull();
  reports.take("w1", report({ gateway: "b", running: 1 }), 600_000);
  expect(reports.load("w1", 600_000)).toMatchObject({ gateways: 1, silentGateways: 1, running: 1 });
  reports.keepOnly(new Set(["w1"]), 600_000);
  expect(reports.load("w1", 600_000)).toMatchObject({ gateways: 1, silentGateways: 0 });
  reports.keepOnly(new Set(), 600_000);
  expect(reports.load("w1", 600_000)).toBeNull();
});

it("adds two gateways that have the same id, and drops one that was started again", () => {
  const reports = new LoadReports();
  const busy = report({ startedAtMs: 1, running: 9, requests: 100, idleMs: 0 });
  const idle = report({ startedAtMs: 2, requests: 0, idleMs: 900_000 });
  for (let atMs = 0; atMs <= 10_000; atMs += 1_000) {
    reports.take("w1", { ...busy, requests: 100 + atMs / 100 }, atMs);
    reports.take("w1", idle, atMs);
  }
  expect(reports.load("w1", 10_000)).toMatchObject({ gateways: 2, running: 9, requestsPerSecond: 10, idleMs: 0 });
  reports.take("w2", report({ startedAtMs: 1, running: 9 }), 0);
  reports.take("w2", report({ startedAtMs: 2, running: 4 }), 1_000);
  expect(reports.load("w2", 1_000)).toMatchObject({ gateways: 1, silentGateways: 0, running: 4 });
});

it("bounds the gateways of an endpoint, and counts one that it has no room for as silent", () => {
  const reports = new LoadReports();
  for (let index = 0; index < 64; index++) reports.take("w1", report({ gateway: `g${index}` }), 0);
  expect(reports.load("w1", 0)).toMatchObject({ gateways: 64, silentGateways: 0 });
  reports.take("w1", report({ gateway: "another", running: 5 }), 1_000);
  expect(reports.load("w1", 1_000)).toMatchObject({ gateways: 64, silentGateways: 1, running: 0 });
  reports.take("w1", report({ gateway: "another", running: 5 }), 60_000);
  expect(reports.load("w1", 60_000)).toMatchObject({ gateways: 1, silentGateways: 63, running: 5 });
});

it("takes the median of the last five starts, each replica once", () => {
  const starts = new ColdStarts();
  expect(starts.usualMs).toBe(30_000);
  const attempt = (id: string, tookMs: number): Parameters<ColdStarts["learn"]>[0][number] => ({
    id: id as never,
    placedAtMs: 1_000,
    ready: { atMs: 1_000 + tookMs, address: "h:1" },
  });
  starts.learn([attempt("a", 10_000), attempt("b", 90_000), attempt("c", 12_000)]);
  starts.learn([attempt("a", 500_000)]);
  expect(starts.usualMs).toBe(12_000);
});

it("adds the requests that left over gateways", () => {
  const reports = new LoadReports();
  expect(reports.overflow("w1")).toBeNull();
  const overflow = { left: { noReplica: 2 }, stayed: {}, nanoUsd: 5, spentNanoUsd: 7 };
  reports.take("w1", report({ overflow }), 0);
  reports.take("w1", report({ gateway: "b", overflow: { ...overflow, left: { noReplica: 1, queueTime: 4 } } }), 0);
  expect(reports.overflow("w1")).toEqual({
    left: { noReplica: 3, queueTime: 4 },
    stayed: {},
    targets: {},
    nanoUsd: 10,
    spentNanoUsd: 14,
  });
});

it("counts tokens of all gateways, part of a long silence, and none where a gateway reports none", () => {
  const reports = new LoadReports();
  const tokens = { prompt: 5_000, output: 100, ended: 4, promptTokenMs: 0.2 };
  reports.take("w1", report({ requests: 10, tokens }), 0);
  reports.take("w1", report({ gateway: "b", tokens: { ...tokens, promptTokenMs: null } }), 0);
  reports.take("w1", report({ requests: 40, tokens: { ...tokens, prompt: 8_000, ended: 6 } }), 15_000);
  expect(reports.load("w1", 15_000)).toMatchObject({
    arrived: 30,
    newestAtMs: 15_000,
    tokens: { prompt: 3_000, output: 0, ended: 2, promptTokenMs: 0.2 },
  });
  reports.take("w1", report({ requests: 140, tokens: { ...tokens, prompt: 18_000 } }), 135_000);
  expect(reports.load("w1", 135_000)).toMatchObject({ arrived: 80, tokens: { prompt: 8_000 } });
  // Reports of the other gateway went on: the silent one adds no more than a usual interval.
  for (let atMs = 136_000; atMs <= 195_000; atMs += 1_000) reports.take("w1", report({ gateway: "b", tokens }), atMs);
  reports.take("w1", report({ requests: 740, tokens: { ...tokens, prompt: 78_000 } }), 195_000);
  expect(reports.load("w1", 195_000)).toMatchObject({ arrived: 140, tokens: { prompt: 14_000 } });
  // The clock was set back: counts go on, and no reading is of the future.
  reports.take("w1", report({ requests: 750, tokens: { ...tokens, prompt: 79_000 } }), 135_000);
  expect(reports.load("w1", 135_000)).toMatchObject({ arrived: 150, newestAtMs: 135_000, tokens: { prompt: 15_000 } });
  reports.take("w1", report({ gateway: "old" }), 135_000);
  expect(reports.load("w1", 135_000)?.tokens).toBeNull();
});
