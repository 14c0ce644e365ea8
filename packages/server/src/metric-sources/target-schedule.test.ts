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
