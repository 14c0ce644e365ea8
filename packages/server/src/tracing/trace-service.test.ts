/** Spans of a complete control plane, at a collector that is down at first. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
}

interface LogRecord {
  readonly traceId?: string;
  readonly severityText: string;
  readonly body: { readonly stringValue: string };
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

it("sends queue, launch and run of an attempt as one trace of its workload, also when the collector comes late", async () => {
  const spans: Span[] = [];
  const logs: LogRecord[] = [];
  const headers: (string | undefined)[] = [];
  let isUp = false;
  const collector = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      headers.push(request.headers.authorization);
      if (isUp && request.url === "/v1/traces") {
        const sent = JSON.parse(Buffer.concat(pieces).toString("utf8")) as {
          readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: Span[] }[] }[];
        };
        spans.push(...sent.resourceSpans.flatMap((each) => each.scopeSpans.flatMap((scope) => scope.spans)));
      }
      if (isUp && request.url === "/v1/logs") {
        const sent = JSON.parse(Buffer.concat(pieces).toString("utf8")) as {
          readonly resourceLogs: readonly { readonly scopeLogs: readonly { readonly logRecords: LogRecord[] }[] }[];
        };
        logs.push(...sent.resourceLogs.flatMap((each) => each.scopeLogs.flatMap((scope) => scope.logRecords)));
      }
      response.writeHead(isUp ? 200 : 503).end();
    });
  }).listen(0, "127.0.0.1");
  await once(collector, "listening");
  const home = temporaryHome();
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const live = await startLive(home, { tracing: { endpoint, headers: { authorization: "Bearer t" } } });
  try {
    const spec = { kind: "train", name: "traced", team: "default", run: "true", gang: { accelerators: 1 } } as const;
    await live.client.submitWorkload(spec);
    await expect.poll(() => headers.length, { timeout: 30_000 }).toBeGreaterThan(0);
    expect(headers[0]).toBe("Bearer t");
    isUp = true;
    await expect
      .poll(() => spans.map(({ name }) => name).toSorted(), { timeout: 30_000 })
      .toEqual(["attempt 1", "launch", "queue", "run", "workload traced"]);
    await expect
      .poll(() => logs.map(({ body }) => body.stringValue), { timeout: 30_000 })
      .toContain("Workloads: Ended");
  } finally {
    await live.close();
    collector.close();
    collector.closeAllConnections();
    removeHome(home);
  }
  const named = (name: string): Span => spans.find((each) => each.name === name)!;
  const [root, attempt] = [named("workload traced"), named("attempt 1")];
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(root).toMatchObject({ parentSpanId: "", traceId: expect.stringMatching(/^[0-9a-f]{32}$/) as string });
  expect([named("queue").parentSpanId, attempt.parentSpanId]).toEqual([root.spanId, root.spanId]);
  expect([named("launch").parentSpanId, named("run").parentSpanId]).toEqual([attempt.spanId, attempt.spanId]);
  expect(named("launch").endTimeUnixNano).toBe(named("run").startTimeUnixNano);
  expect(named("queue").endTimeUnixNano).toBe(attempt.startTimeUnixNano);
  expect(spans.every(({ status }) => status.code === 1)).toBe(true);
  const ofAttempt = logs.filter(({ traceId }) => traceId === root.traceId);
  expect(ofAttempt.map(({ body, severityText }) => `${severityText} ${body.stringValue}`)).toEqual([
    "INFO Workloads: Submitted",
    "INFO Attempts: Placed",
    "INFO Attempts: Started",
    "INFO Attempts: Attempt ended",
    "INFO Workloads: Ended",
  ]);
  expect(ofAttempt[3]?.attributes).toContainEqual({ key: "headroom.outcome", value: { stringValue: "succeeded" } });
});
