/** Metric sources on a complete control plane: exporters that answer, fall silent and come back; queries of a Prometheus. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

let home = "";
let live: LiveControlPlane;
const servers: Server[] = [];
const start = (): Promise<LiveControlPlane> =>
  startLive(home, { local: { nodeName: "n1", slotCount: 2, accelerators: "declared" } });
beforeAll(async () => {
  home = temporaryHome();
  live = await start();
});
afterAll(async () => {
  await live.close();
  removeHome(home);
});
afterEach(async () => {
  for (const { name } of (await live.client.metricSources()).items) await live.client.removeMetricSource(name);
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** Patience for machines that are busy with other work. */
const patience = { timeout: 20_000, interval: 100 } as const;

/** A server that answers with `answers()` by path, and the requests that it got. */
async function exporter(answers: (target: string) => string | null) {
  const requests: { readonly url: string; readonly authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? "", authorization: request.headers.authorization });
    const text = answers(request.url ?? "");
    if (text === null) response.writeHead(302, { location: "/elsewhere" }).end();
    else response.end(text);
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, server };
}

const declare = (name: string, type: "scrape" | "prometheus" | "remote-write", settings: object) =>
  live.client.declareMetricSource(name, { type, settings: settings as never });
const target = async () => (await live.client.metricTargets({})).items[0];
const seriesOf = async (subject: string) => {
  const { metrics } = await live.client.series({ subject, points: 100 });
  return Object.fromEntries(metrics.map(({ name, unit, values }) => [name, [values.at(-1), unit]]));
};

describe("a scraped exporter", () => {
  it("gives readings of its node alone, is silent when it fails, and is never followed elsewhere", async () => {
    const gpu = (index: number, busy: number, node: string): string =>
      `DCGM_FI_DEV_GPU_UTIL{gpu="${index}",Hostname="${node}"} ${busy}\nDCGM_FI_DEV_GPU_TEMP{gpu="${index}",Hostname="${node}"} 61\n`;
    let isUp = true;
    const { url, requests, server } = await exporter(() => (isUp ? gpu(0, 97, "n1") + gpu(1, 3, "other") : null));
    writeFileSync(path.join(home, "secret"), "exporter-token\n", { mode: 0o600 });
    const settings = {
      targets: [{ url: `${url}/metrics`, node: "n1" }],
      every: "1s",
      authorization: `file:${path.join(home, "secret")}`,
    };
    expect(await declare("dcgm", "scrape", settings)).toEqual({ name: "dcgm", action: "created" });
    expect(await declare("dcgm", "scrape", settings)).toEqual({ name: "dcgm", action: "unchanged" });
    await expect
      .poll(target, patience)
      .toMatchObject({ state: "up", subject: "node:n1", samples: 4, values: 4, problem: null });
    expect(requests[0]).toEqual({ url: "/metrics", authorization: "Bearer exporter-token" });
    expect(await seriesOf("accelerator:n1#0")).toEqual({ busyMilli: [970, "‰"], temperatureC: [61, "°C"] });
    await expect
      .poll(async () => (await live.client.nodeTelemetry("n1")).readings, patience)
      .toMatchObject({
        source: "exporter",
        accelerators: [
          { index: 0, busyMilli: 970 },
          { index: 1, busyMilli: 30 },
        ],
      });

    isUp = false;
    await expect.poll(target, patience).toMatchObject({ state: "silent", values: 0 });
    expect((await target())?.problem).toContain("HTTP 302");
    expect(requests.every((each) => each.url === "/metrics")).toBe(true);
    // Silence adds nothing to the series, and no zero.
    const before = (await live.client.series({ subject: "accelerator:n1#0" })).atMs.length;
    await expect.poll(() => requests.length, patience).toBeGreaterThan(4);
    expect((await live.client.series({ subject: "accelerator:n1#0" })).atMs.length).toBe(before);
    expect((await live.client.metricSources()).items).toMatchObject([{ name: "dcgm", up: 0, silent: 1 }]);

    isUp = true;
    await expect.poll(target, patience).toMatchObject({ state: "up" });
    server.closeAllConnections();
    server.close();
    await expect.poll(target, patience).toMatchObject({ state: "silent" });
    expect(await live.client.removeMetricSource("dcgm")).toEqual({ name: "dcgm" });
    expect((await live.client.metricTargets({})).items).toEqual([]);
  });

  it("is declared again after a restart, and without its secret it is not read and says so", async () => {
    const { url, requests } = await exporter(() => "node_load1 2.5\n");
    const token = path.join(home, "no-such-secret");
    await declare("nodes", "scrape", { targets: [{ url, node: "n1" }], every: "1s", authorization: `file:${token}` });
    expect((await live.client.metricSources()).items[0]?.problem).toContain("no such file");
    await live.close();
    writeFileSync(token, "x", { mode: 0o600 });
    live = await start();
    await expect.poll(target, patience).toMatchObject({ state: "up", samples: 1, values: 1 });
    expect(await seriesOf("node:n1")).toMatchObject({ load1: [2.5, ""] });
    expect(requests.every((each) => each.authorization === "Bearer x")).toBe(true);
  });

  it("gives readings that are compared with those of the comparable set", async () => {
    const text = Array.from(
      { length: 10 },
      (_, gpu) =>
        `DCGM_FI_DEV_GPU_UTIL{gpu="${gpu}"} 90\nDCGM_FI_DEV_GPU_TEMP{gpu="${gpu}"} ${gpu === 3 ? 91 : 60 + (gpu % 3)}\n`,
    ).join("");
    const { url } = await exporter(() => text);
    await declare("dcgm", "scrape", { targets: [{ url, node: "n1" }], every: "1s" });
    await expect
      .poll(() => live.client.comparePeers(), { timeout: 60_000, interval: 500 })
      .toMatchObject({
        compared: 10,
        items: [{ nodeId: "n1", accelerator: 3, metric: "temperatureC", unit: "°C", value: 91, median: 61 }],
      });
  }, 70_000);

  it("must answer with text of Prometheus, within its bounds", async () => {
    let answer = "<html>sign in</html>";
    const { url } = await exporter(() => answer);
    await declare("page", "scrape", { targets: [{ url, node: "n1" }], every: "1s" });
    await expect
      .poll(target, patience)
      .toMatchObject({ state: "silent", problem: "no text of Prometheus: <html>sign in</html>" });
    answer = "x".repeat(17 * 1024 * 1024);
    await expect.poll(async () => (await target())?.problem, patience).toBe("the answer has more than 16 MiB");
  });
});

describe("queries of a Prometheus", () => {
  it("give values of the nodes that the label names, and an empty result is no value", async () => {
    const row = (instance: string, value: string) => ({ metric: { instance }, value: [1, value] });
    let result: object[] = [row("n1:9100", "21.5"), row("n7:9100", "9"), row("n1", "NaN")];
    const { url, requests } = await exporter(() =>
      JSON.stringify({ status: "success", data: { resultType: "vector", result } }),
    );
    const queries = [{ value: "inletC", unit: "°C", query: "max by (instance) (ipmi_temperature_celsius)" }];
    await declare("site", "prometheus", { url, every: "5s", queries });
    await expect.poll(target, patience).toMatchObject({ state: "up", target: "inletC", samples: 3, values: 1 });
    expect((await target())?.problem).toContain('"n7:9100"');
    expect(requests[0]?.url).toBe("/api/v1/query?query=max%20by%20(instance)%20(ipmi_temperature_celsius)");
    expect(await seriesOf("node:n1")).toMatchObject({ inletC: [21.5, "°C"] });
    result = [];
    await expect
      .poll(target, patience)
      .toMatchObject({ state: "up", values: 0, problem: "the query has an empty result" });
  });
});

it("reads what a query gave while the control plane did not run, and nothing twice", async () => {
  let result: object[] = [{ metric: { instance: "n1" }, value: [1, "21"] }];
  const { url, requests } = await exporter((address) => {
    const { pathname, searchParams } = new URL(address, "http://h");
    if (!pathname.endsWith("/query_range"))
      return JSON.stringify({ status: "success", data: { resultType: "vector", result } });
    const end = Number(searchParams.get("end"));
    // Before the newest value that is known, and after it.
    const values = [end - 10_000, end - 0.002, end - 0.001].map((at, index) => [at, index === 0 ? "5" : "31"]);
    const series = [{ metric: { instance: "n1:9100" }, values }];
    return JSON.stringify({ status: "success", data: { resultType: "matrix", result: series } });
  });
  const queries = [{ value: "outletC", unit: "°C", query: "outlet" }];
  await declare("site", "prometheus", { url, every: "5s", queries });
  await expect.poll(target, patience).toMatchObject({ state: "up", values: 1 });
  const ranges = (): readonly string[] => requests.flatMap((each) => (each.url.includes("_range") ? [each.url] : []));
  expect(ranges()).toEqual([]);
  await live.close();
  // The value has vanished since, but the Prometheus has kept it.
  result = [];
  live = await start();
  const values = async (): Promise<readonly number[]> => {
    const { metrics } = await live.client.series({ subject: "node:n1", points: 100 });
    return metrics.find(({ name }) => name === "outletC")?.values.filter((value) => value !== null) ?? [];
  };
  // Values within two seconds of each other are one point with their mean.
  await expect.poll(async () => (await values()).at(-1), patience).toBeGreaterThan(21);
  expect(Math.min(...(await values()))).toBeGreaterThanOrEqual(21);
  expect(ranges().length).toBe(1);
  expect(Object.fromEntries(new URL(ranges()[0] ?? "", "http://h").searchParams)).toMatchObject({
    query: "outlet",
    step: expect.stringMatching(/^[5-9]$/),
  });
  await expect.poll(target, patience).toMatchObject({ problem: "the query has an empty result" });
});

it("lets an endpoint follow a query without a gateway, and holds its number while the value is not known", async () => {
  let jobs = "30";
  const { url } = await exporter(() => {
    const result = [{ metric: { endpoint: "default/worker" }, value: [1, jobs] }];
    return JSON.stringify({ status: "success", data: { resultType: "vector", result } });
  });
  const query = "sum by (endpoint) (jobs_queued)";
  const queries = [{ value: "jobsQueued", query, subject: "endpoint", label: "endpoint" }];
  const { workloadId } = await live.client.submitWorkload({
    kind: "serve",
    name: "worker",
    run: "sleep 60",
    replicas: { min: 0, max: 2 },
    scale: { metrics: [{ name: "jobsQueued", perReplicaMilli: 20_000 }], idleToZeroMs: 600_000 },
  });
  await declare("site", "prometheus", { url, every: "5s", queries });
  const endpoint = async () => (await live.client.endpoints()).items[0];
  await expect.poll(endpoint, patience).toMatchObject({
    replicas: { wanted: 2 },
    lastChange: { actor: "autoscaler", ground: { kind: "load", cause: "metric", metric: "jobsQueued" } },
    scaling: { metrics: [{ name: "jobsQueued", value: 30, target: 20, gap: null }] },
  });
  jobs = "NaN";
  await expect
    .poll(endpoint, patience)
    .toMatchObject({ replicas: { wanted: 2 }, scaling: { kept: "metric", metrics: [{ gap: "unsound" }] } });
  expect((await endpoint())?.scaling?.sentence).toContain("The value of jobsQueued is below zero or no number.");
  await live.client.stopWorkload(workloadId);
});

it("refuses declarations with every problem, and addresses that are never read", async () => {
  await expect(declare("bad", "scrape", { targets: ["ftp://h"], every: "0s" })).rejects.toMatchObject({
    code: "invalidRequest",
  });
  await declare("cloud", "scrape", { targets: [{ url: "http://169.254.169.254/latest", node: "n1" }] });
  expect(await target()).toMatchObject({ state: "refused", source: "cloud" });
  await expect(live.client.removeMetricSource("none")).rejects.toMatchObject({ code: "unknownMetricSource" });
});

describe("metrics by OTLP", () => {
  const point = (changes: object) => ({
    timeUnixNano: `${Date.now()}000000`,
    asInt: "42",
    attributes: [{ key: "gpu", value: { stringValue: "0" } }],
    ...changes,
  });
  const body = (...metrics: readonly object[]): string =>
    JSON.stringify({
      resourceMetrics: [
        {
          resource: { attributes: [{ key: "host.name", value: { stringValue: "n1" } }] },
          scopeMetrics: [{ metrics }],
        },
      ],
    });
  const post = (content: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>): Promise<Response> =>
    live.request("/v1/metrics", {
      method: "POST",
      body: content,
      headers: { "content-type": "application/json", ...headers },
    });

  it("become readings of the node that a label names, and rejected points are stated", async () => {
    expect((await post(body(), {})).status).toBe(404);
    await declare("otel", "remote-write", { label: "host_name", every: "1s" });
    await live.client.metricTargets({});
    const gauge = { name: "DCGM_FI_DEV_GPU_UTIL", gauge: { dataPoints: [point({})] } };
    const histogram = { name: "h", histogram: { dataPoints: [{}, {}] } };
    const answer = await post(new Uint8Array(gzipSync(body(gauge, histogram))), { "content-encoding": "gzip" });
    expect(await answer.json()).toMatchObject({ partialSuccess: { rejectedDataPoints: "2" } });
    await expect
      .poll(() => seriesOf("accelerator:n1#0"), patience)
      .toMatchObject({ busyMilli: [420, expect.anything()] });
  });

  it("are refused if they are damaged, of another type, too large, or without a token", async () => {
    await declare("otel", "remote-write", {});
    expect((await post("{", {})).status).toBe(422);
    expect((await post("x", { "content-encoding": "gzip" })).status).toBe(422);
    expect((await post("x", { "content-encoding": "zstd" })).status).toBe(422);
    const bomb = new Uint8Array(gzipSync(new Uint8Array(40 * 1024 * 1024)));
    expect((await post(bomb, { "content-encoding": "gzip" })).status).toBe(422);
    expect((await post(new Uint8Array([0x0a, 0x7f]), { "content-type": "application/x-protobuf" })).status).toBe(422);
    const protobuf = await post(new Uint8Array(), { "content-type": "application/x-protobuf" });
    expect([protobuf.status, (await protobuf.arrayBuffer()).byteLength]).toEqual([200, 0]);
    expect((await fetch(`${live.url}/v1/metrics`, { method: "POST", body: "{}" })).status).toBe(401);
  });
});
