/** The schedule of readings with targets of which most never answer. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readMetricSource } from "@headroom/metrics";
import type { MetricTarget } from "@headroom/metrics";
import { expect, it } from "vitest";
import { TargetSchedule } from "./target-schedule.ts";

it("reads a target again and again while hundreds before it never answer", async () => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  const good = createServer((_, response) => void response.end("node_load1 1\n")).listen(0, "127.0.0.1");
  await Promise.all([once(silent, "listening"), once(good, "listening")]);
  const urlOf = (server: typeof good): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const read = readMetricSource({
    kind: "metricSource",
    name: "s",
    type: "scrape",
    targets: ["http://h/m"],
    every: "1s",
    timeout: "2s",
  });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const target = (url: string, node: string): MetricTarget => ({
    source: "s",
    kind: "exposition",
    url,
    node,
    endpoint: null,
    replica: null,
    query: null,
  });
  const targets = Array.from({ length: 600 }, (_, at) => target(`${urlOf(silent)}/${at}`, `n${at}`));
  let recordedCount = 0;
  const schedule = new TargetSchedule({
    record: (samples) => (recordedCount += samples.length),
    recordPast: async () => undefined,
    completeUntilMs: null,
    nowMs: () => Date.now(),
  });
  schedule.set({
    sources: [{ declaration: read.declaration, token: null }],
    targets: [...targets, target(urlOf(good), "good")],
    nodes: new Set(["good"]),
    endpoints: [],
  });
  try {
    await expect.poll(() => recordedCount, { timeout: 20_000, interval: 100 }).toBeGreaterThan(4);
  } finally {
    schedule.close();
    for (const server of [silent, good]) {
      server.closeAllConnections();
      server.close();
    }
  }
}, 30_000);

type Answer = (isRange: boolean, answer: (status?: number) => void) => void;

/** A schedule with one query of a Prometheus, whose interval of five seconds passes in a tenth of a second. */
async function queried(onRequest: Answer) {
  const recorded: number[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://h");
    const isRange = pathname.endsWith("_range");
    const values = isRange ? { values: [[Number(searchParams.get("end")) - 1, "1"]] } : { value: [0, "2"] };
    const data = { resultType: isRange ? "matrix" : "vector", result: [{ metric: {}, ...values }] };
    onRequest(isRange, (status = 200) => {
      response.writeHead(status).end(JSON.stringify({ status: "success", data }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const queries = [{ value: "load", unit: "", query: "load", subject: "fleet" }];
  const read = readMetricSource({ kind: "metricSource", name: "s", type: "prometheus", url, every: "5s", queries });
  if (!read.ok || read.declaration.type !== "prometheus") throw new Error(JSON.stringify(read));
  const nowMs = (): number => Math.round(1_000_000_000 + performance.now() * 50);
  const record = (samples: readonly { readonly values: Readonly<Record<string, number>> }[]): void =>
    void recorded.push(...samples.flatMap(({ values }) => Object.values(values)));
  const recordPast = async (samples: Parameters<typeof record>[0]): Promise<void> => record(samples);
  const schedule = new TargetSchedule({ record, recordPast, completeUntilMs: nowMs() - 1_000_000, nowMs });
  const query = read.declaration.queries[0] ?? null;
  schedule.set({
    sources: [{ declaration: read.declaration, token: null }],
    targets: [{ source: "s", node: null, endpoint: null, replica: null, url, kind: "query", query }],
    nodes: new Set(),
    endpoints: [],
  });
  const close = (): void => {
    schedule.close();
    server.closeAllConnections();
    server.close();
  };
  return { schedule, recorded, nowMs, close };
}

it("reads a query again only when its past is recorded", async () => {
  let requestCount = 0;
  let release: ((status?: number) => void) | undefined;
  const { recorded, nowMs, close } = await queried((isRange, answer) => {
    requestCount++;
    if (isRange && release === undefined) release = answer;
    else answer();
  });
  try {
    await expect.poll(() => release, { timeout: 20_000 }).toBeDefined();
    const beganAtMs = nowMs();
    await expect.poll(() => nowMs() - beganAtMs, { timeout: 20_000 }).toBeGreaterThan(50_000);
    expect([requestCount, recorded]).toEqual([2, []]);
    release?.();
    await expect.poll(() => recorded.length, { timeout: 20_000 }).toBeGreaterThan(2);
    expect(recorded.slice(0, 2)).toEqual([1, 2]);
  } finally {
    close();
  }
}, 30_000);

it("states a period on whose values could not be read", async () => {
  let rangeCount = 0;
  const { schedule, recorded, close } = await queried((isRange, answer) => {
    if (isRange) rangeCount++;
    answer(isRange ? 503 : 200);
  });
  try {
    await expect.poll(() => recorded.length, { timeout: 20_000 }).toBeGreaterThan(3);
    expect(rangeCount).toBe(3);
    expect(schedule.states).toMatchObject([
      {
        state: "up",
        problem: expect.stringMatching(/^values from 1970-01-12T\S+ to 1970-01-12T\S+ are unknown: HTTP 503/),
      },
    ]);
  } finally {
    close();
  }
}, 30_000);

it("reads a period again whose query failed, with the absence that follows, before it records newer values", async () => {
  let rangeCount = 0;
  let absentCount = 0;
  const { schedule, recorded, close } = await queried((isRange, answer) => {
    if (isRange) rangeCount++;
    // The Prometheus dies of the first query over a range, and is away for eight intervals.
    const isAbsent = isRange ? rangeCount === 1 : rangeCount === 1 && absentCount++ < 8;
    answer(isAbsent ? 503 : 200);
  });
  try {
    await expect.poll(() => recorded.length, { timeout: 20_000 }).toBeGreaterThan(3);
    expect([recorded.slice(0, 3), rangeCount]).toEqual([[1, 2, 2], 2]);
    expect(schedule.states).toMatchObject([{ state: "up", problem: null }]);
  } finally {
    close();
  }
}, 30_000);
