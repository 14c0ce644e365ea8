import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { attemptId } from "@headroom/model";
import { expect, it } from "vitest";
import type { ExecutorInput } from "../executor.ts";
import { ReadinessProber } from "./readiness-prober.ts";

it("reports a replica when it answers, and again when it fails three times in a row", async () => {
  let status = 503;
  let requestCount = 0;
  const server = createServer((incoming, response) => {
    requestCount++;
    expect(incoming.url).toBe("/health");
    response.writeHead(status).end("not read");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const reports: ExecutorInput[] = [];
  let wake: () => void = () => {};
  const prober = new ReadinessProber((input) => {
    reports.push(input);
    wake();
  });
  const nextReport = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  const replica = attemptId("w1.0.1");

  const unready = nextReport();
  prober.start("a", { attemptId: replica, port, path: "/health" });
  await unready;
  const ready = nextReport();
  status = 302;
  await ready;
  const asked = requestCount;
  const gone = nextReport();
  status = 500;
  await gone;
  expect(requestCount - asked).toBeGreaterThanOrEqual(3);
  expect(reports).toEqual([
    { kind: "replicaNotReady", attemptId: replica, detail: `/health on port ${port}: status 503` },
    { kind: "replicaReady", attemptId: replica, address: `127.0.0.1:${port}` },
    { kind: "replicaNotReady", attemptId: replica, detail: `/health on port ${port}: status 500` },
  ]);
  prober.close();
  server.close();
});
