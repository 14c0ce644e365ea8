import { afterEach, describe, expect, it, vi } from "vitest";
import { outputOf, startPinned } from "../processes.ts";
import { fileURLToPath } from "node:url";
import type { ChildProcess } from "node:child_process";
import { Histogram } from "./histogram.ts";
import type { LoadOptions, LoadResult } from "./load.ts";

const worker = fileURLToPath(new URL("../worker.ts", import.meta.url));
const children: ChildProcess[] = [];
const never = new AbortController().signal;

function upstream(kind: string, options: object = {}): Promise<number> {
  return listening(kind, "upstream", { port: 0, delayMs: 0, eventsPerStream: 20, eventIntervalMs: 2, ...options });
}

async function listening(kind: string, role: string, setting: object): Promise<number> {
  const child = startPinned([process.execPath, worker, role, JSON.stringify(setting)], undefined, {
    HEADROOM_BENCH_SOCKETS: kind,
  });
  children.push(child);
  const line = await new Promise<string>((resolve) => child.stdout?.once("data", (bytes) => resolve(String(bytes))));
  return (JSON.parse(line) as { port: number }).port;
}

async function load(port: number, kind: string, options: Partial<LoadOptions>): Promise<LoadResult> {
  const setting = {
    port,
    connections: 8,
    durationMs: 250,
    warmUpMs: 50,
    promptBytes: 400,
    isStreaming: false,
    headers: {},
    path: "/v1/chat/completions",
    model: "bench",
    ...options,
  };
  const child = startPinned([process.execPath, worker, "load", JSON.stringify(setting)], undefined, {
    HEADROOM_BENCH_SOCKETS: kind,
  });
  return JSON.parse(await outputOf(child, never)) as LoadResult;
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  vi.unstubAllEnvs();
});

describe.each(["native", "node"])("load and mock upstream with %s sockets", (kind) => {
  it("complete every request in a closed loop, long prompts too", async () => {
    const port = await upstream(kind);
    for (const promptBytes of [400, 300_000]) {
      const result = await load(port, kind, { promptBytes });
      expect(result.failed).toBe(0);
      expect(result.completed).toBeGreaterThan(0);
    }
    const stats = (await (await fetch(`http://127.0.0.1:${port}/bench/stats`)).json()) as { requests: number };
    expect(stats.requests).toBeGreaterThan(0);
  });

  it("stream every event once", async () => {
    const port = await upstream(kind);
    const result = await load(port, kind, { isStreaming: true, durationMs: 500 });
    expect(result).toMatchObject({ failed: 0, lostEvents: 0, doubledEvents: 0 });
    expect(result.events).toBeGreaterThan(0);
  });

  it("pass through the relay unchanged", async () => {
    const upstreamPort = await upstream(kind);
    const port = await listening(kind, "relay", { port: 0, upstreamPort });
    const long = await load(port, kind, { promptBytes: 300_000, connections: 2, durationMs: 1500 });
    expect(long.failed).toBe(0);
    expect(long.completed).toBeGreaterThan(0);
    const streams = await load(port, kind, { isStreaming: true, connections: 2, durationMs: 1500 });
    expect(streams).toMatchObject({ failed: 0, lostEvents: 0, doubledEvents: 0 });
    expect(streams.events).toBeGreaterThan(0);
  });

  it("report a target that is not there instead of hanging", async () => {
    const result = await load(1, kind, { durationMs: 5000 });
    expect(result.completed).toBe(0);
    expect(result.firstFailure).toMatch(/closed or refused/);
  });
});

it("an open loop keeps its rate and measures from the time a request was due", async () => {
  const port = await upstream("native", { delayMs: 50 });
  const result = await load(port, "native", { connections: 4, ratePerSecond: 200, durationMs: 1000 });
  // Four connections with 50 ms per request serve 80 requests a second, so some requests were due earlier and waited.
  expect(result.lateRequests).toBeGreaterThan(50);
  expect(result.latencyUs.p99).toBeGreaterThan(200_000);
});

it("an open loop counts requests without a reply with their age", async () => {
  const port = await upstream("native", { delayMs: 60_000 });
  const result = await load(port, "native", { connections: 4, ratePerSecond: 100, durationMs: 1000 });
  expect(result.completed).toBe(0);
  // One hundred requests are due in the measured second. The last ones may be due after the last tick.
  expect(result.unfinishedRequests).toBeGreaterThan(80);
  expect(result.latencyUs.p50).toBeGreaterThan(300_000);
  expect(result.latencyUs.max).toBeGreaterThan(900_000);
});

it("a histogram's quantiles are within 1%", () => {
  const histogram = new Histogram();
  for (let us = 1; us <= 100_000; us += 1) histogram.add(us);
  for (const quantile of [0.5, 0.9, 0.99, 0.999]) {
    const error = histogram.quantileUs(quantile) / (quantile * 100_000);
    expect(error).toBeGreaterThan(0.99);
    expect(error).toBeLessThan(1.011);
  }
});
