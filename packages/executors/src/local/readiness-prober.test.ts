import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createNetServer, type AddressInfo } from "node:net";
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

it("asks a replica again whose server switches protocols instead of answering", async () => {
  const answers = ["HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"];
  const server = createNetServer((connection) => {
    connection.on("error", () => {});
    connection.once("data", () => connection.end(answers.shift() ?? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const replica = attemptId("w1.0.1");
  let prober: ReadinessProber | undefined;
  const report = await new Promise<ExecutorInput>((resolve) => {
    prober = new ReadinessProber(resolve);
    prober.start("a", { attemptId: replica, port, path: "/health" });
  });
  expect(report).toEqual({ kind: "replicaReady", attemptId: replica, address: `127.0.0.1:${port}` });
  prober?.close();
  server.close();
});
