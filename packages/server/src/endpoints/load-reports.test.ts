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

it("bounds the gateways of an endpoint", () => {
  const reports = new LoadReports();
  const taken = Array.from({ length: 70 }, (_, index) => reports.take("w1", report({ gateway: `g${index}` }), 0));
  expect(taken.filter(Boolean)).toHaveLength(64);
});

it("takes the median of the last five starts, each replica once", () => {
  const starts = new ColdStarts();
  expect(starts.usualMs).toBe(30_000);
  const attempt = (id: string, tookMs: number): Parameters<ColdStarts["learn"]>[0][number] => ({
    id: id as never,
    placedAtMs: 1_000,
    ready: { atMs: 1_000 + tookMs, address: "h:1" } as never,
  });
  starts.learn([attempt("a", 10_000), attempt("b", 90_000), attempt("c", 12_000)]);
  starts.learn([attempt("a", 500_000)]);
  expect(starts.usualMs).toBe(12_000);
});
