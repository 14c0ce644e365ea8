/**
 * A control plane beside Debian's Prometheus, Alertmanager and node exporter, each started once: scrape, queries, remote write in both
 * directions, every query of the dashboards and every alert rule; one alert fires and ends.
 */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../tools/testing/rotating.ts";
import { startLive } from "../src/api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../src/api/testing/live-control-plane.ts";

const deploy = path.resolve(import.meta.dirname, "..", "..", "..", "deploy", "monitoring");
const programs = ["prometheus", "prometheus-alertmanager", "prometheus-node-exporter", "promtool"];
const missing = programs.find((each) => spawnSync(each, ["--version"]).status !== 0) ?? null;
if (missing !== null) process.stderr.write(`SKIPPED: Debian's package with ${missing} is not installed\n`);

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: { readonly result: readonly { readonly metric: Readonly<Record<string, string>> }[] };
}

interface Alert {
  readonly status: string;
  readonly labels: Readonly<Record<string, string>>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const patience = { timeout: 60_000, interval: 250 } as const;
const folder = mkdtempSync(path.join(tmpdir(), "headroom-monitoring-"));
const children: ChildProcess[] = [];
const alerts: Alert[] = [];
let live: LiveControlPlane;
let prometheusUrl = "";
let nodeExporterUrl = "";
let isFakeUp = true;
let heldId = "";

const start = (command: string, ...args: readonly string[]): void =>
  void children.push(spawn(command, args, { stdio: "ignore", cwd: folder }));

const dcgm = `DCGM_FI_DEV_GPU_UTIL{gpu="0"} 40
DCGM_FI_DEV_FB_USED{gpu="0"} 1000
DCGM_FI_DEV_FB_FREE{gpu="0"} 3000
DCGM_FI_DEV_GPU_TEMP{gpu="0"} 55
DCGM_FI_DEV_POWER_USAGE{gpu="0"} 300
DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu="0"} 0
`;
const engine = `vllm:num_requests_running{model_name="m"} 2
vllm:num_requests_waiting{model_name="m"} 1
vllm:kv_cache_usage_perc{model_name="m"} 0.5
`;
let tokenCount = 0;

/** An exporter whose counters grow, and the receiver of Alertmanager's messages. */
const fake = createServer((request, response) => {
  if (request.url === "/alerts") {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      alerts.push(...(JSON.parse(Buffer.concat(pieces).toString("utf8")) as { readonly alerts: Alert[] }).alerts);
      response.end();
    });
    return;
  }
  tokenCount += 100;
  const counters = [
    "prompt_tokens_total",
    "generation_tokens_total",
    "time_to_first_token_seconds_sum",
    "time_to_first_token_seconds_count",
  ];
  const grown = counters.map((name) => `vllm:${name}{model_name="m"} ${tokenCount}\n`).join("");
  if (request.url === "/dcgm" && !isFakeUp) response.writeHead(500).end("down");
  else response.end(request.url === "/dcgm" ? dcgm : engine + grown);
});

const query = async (text: string): Promise<Answer> =>
  (await (await fetch(`${prometheusUrl}/api/v1/query?query=${encodeURIComponent(text)}`)).json()) as Answer;
const found = async (text: string): Promise<number> =>
  await query(text).then(
    ({ data }) => data.result.length,
    () => 0,
  );

async function begin(): Promise<void> {
  fake.listen(0, "127.0.0.1");
  await once(fake, "listening");
  const fakeUrl = `http://127.0.0.1:${(fake.address() as AddressInfo).port}`;
  const [port, alertPort, nodePort] = [await freePort(), await freePort(), await freePort()];
  prometheusUrl = `http://127.0.0.1:${port}`;
  nodeExporterUrl = `http://127.0.0.1:${nodePort}/metrics`;
  live = await startLive(path.join(folder, "home"), {
    local: { nodeName: "n1", slotCount: 2, accelerators: "declared" },
    remoteWrite: { url: `${prometheusUrl}/api/v1/write`, token: null },
  });
  writeFileSync(path.join(folder, "headroom.token"), live.token ?? "", { mode: 0o600 });
  const rules = readFileSync(path.join(deploy, "control-plane-alerts.yaml"), "utf8");
  writeFileSync(path.join(folder, "control-plane-alerts.yaml"), rules.replaceAll(/for: \d+m/g, "for: 1s"));
  const config = readFileSync(path.join(deploy, "control-plane-prometheus.yaml"), "utf8")
    .replaceAll("15s", "1s")
    .replace("127.0.0.1:7070", new URL(live.url).host)
    .replace("127.0.0.1:9093", `127.0.0.1:${alertPort}`);
  const more = `  - job_name: node
    static_configs: [{ targets: ["127.0.0.1:${nodePort}"], labels: { instance: n1 } }]
remote_write:
  - url: ${live.url}/api/v1/write
    authorization: { credentials_file: headroom.token }
    write_relabel_configs: [{ source_labels: [job], regex: node, action: keep }]
`;
  writeFileSync(path.join(folder, "prometheus.yaml"), config.replace("rule_files:", `${more}rule_files:`));
  const receiver = `receivers: [{ name: hook, webhook_configs: [{ url: "${fakeUrl}/alerts", send_resolved: true }] }]`;
  const route = "route: { receiver: hook, group_wait: 1s, group_interval: 1s, repeat_interval: 1h }";
  writeFileSync(path.join(folder, "alertmanager.yaml"), `${route}\n${receiver}\n`);
  start("prometheus-node-exporter", `--web.listen-address=127.0.0.1:${nodePort}`);
  start(
    "prometheus-alertmanager",
    "--config.file=alertmanager.yaml",
    "--storage.path=alerts",
    "--cluster.listen-address=",
    `--web.listen-address=127.0.0.1:${alertPort}`,
  );
  start(
    "prometheus",
    "--config.file=prometheus.yaml",
    "--storage.tsdb.path=data",
    "--web.enable-remote-write-receiver",
    `--web.listen-address=127.0.0.1:${port}`,
  );
  await declareAll(fakeUrl);
}

async function declareAll(fakeUrl: string): Promise<void> {
  const { client } = live;
  const { workloadId } = await client.submitWorkload({
    kind: "serve",
    name: "chat",
    run: "sleep 600",
    gang: { workers: 1, accelerators: 1 },
    replicas: { min: 1, max: 1 },
    hold: true,
  } as never);
  await client.submitWorkload({ kind: "train", name: "done", run: "true", gang: { accelerators: 1 } } as never);
  const held = { kind: "train", name: "held", run: "sleep 600", gang: { accelerators: 1 } };
  heldId = (await client.submitWorkload(held as never)).workloadId;
  const scrape = (targets: readonly object[]) => ({ targets, every: "1s" }) as never;
  const declare = client.declareMetricSource.bind(client);
  await declare("dcgm", { type: "scrape", settings: scrape([{ url: `${fakeUrl}/dcgm`, node: "n1" }]) });
  await declare("engines", { type: "scrape", settings: scrape([{ url: `${fakeUrl}/engine`, endpoint: workloadId }]) });
  await declare("nodes", { type: "scrape", settings: scrape([{ url: nodeExporterUrl, node: "n1" }]) });
  await declare("written", { type: "remote-write", settings: { every: "1s" } });
  const queries = [{ value: "scrapesUp", query: 'sum by (instance) (up{job="node"})' }];
  await declare("site", { type: "prometheus", settings: { url: prometheusUrl, every: "5s", queries } });
}

describe.skipIf(missing !== null || !isTurnOf("monitoring"))("beside Prometheus", () => {
  beforeAll(begin, 240_000);
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL");
    if (heldId !== "") await live.client.stopWorkload(heldId);
    await live.close();
    fake.close();
    fake.closeAllConnections();
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  it("has rules that promtool accepts", () => {
    const checked = spawnSync("promtool", ["check", "rules", path.join(deploy, "control-plane-alerts.yaml")]);
    expect(checked.stdout.toString()).toContain("12 rules found");
    expect(checked.status).toBe(0);
  });

  it("reads a real node exporter, and queries of Prometheus, as series of the node", async () => {
    const names = async (): Promise<readonly string[]> =>
      (await live.client.series({ subject: "node:n1" })).metrics.map(({ name }) => name);
    await expect
      .poll(names, patience)
      .toEqual(expect.arrayContaining(["load1", "cpuPercent", "memoryUsedBytes", "scrapesUp"]));
    const { metrics } = await live.client.series({ subject: "node:n1" });
    const last = (name: string): number | null | undefined =>
      metrics.find((each) => each.name === name)?.values.findLast((each) => each !== null);
    expect(last("memoryUsedBytes")).toBeGreaterThan(1e8);
    expect(last("cpuPercent")).toBeLessThanOrEqual(100);
    expect(last("scrapesUp")).toBe(1);
  });

  it("takes what Prometheus writes for its nodes", async () => {
    await live.client.removeMetricSource("nodes");
    const newest = async (): Promise<number> => {
      const { atMs, metrics } = await live.client.series({ subject: "node:n1" });
      const load = metrics.find(({ name }) => name === "load1")?.values ?? [];
      return atMs[load.findLastIndex((each) => each !== null)] ?? 0;
    };
    const removedAtMs = Date.now();
    await expect.poll(newest, patience).toBeGreaterThan(removedAtMs + 1_000);
    const wrong = await live.request("/api/v1/write", {
      method: "POST",
      body: "x",
      headers: { "content-type": "application/x-protobuf" },
    });
    expect(wrong.status).toBe(422);
    expect((await fetch(`${live.url}/api/v1/write`, { method: "POST", body: "x" })).status).toBe(401);
  });

  it("writes its metrics and series to Prometheus", async () => {
    await expect.poll(() => found('headroom_series_load1{kind="node", subject="n1"}'), patience).toBe(1);
    const { remoteWrite } = await live.client.metricSources();
    expect(remoteWrite?.sent).toBeGreaterThan(100);
    expect(remoteWrite).toMatchObject({ dropped: 0, problem: null });
  });

  it.each(["control-plane-dashboard.json", "endpoints-dashboard.json"])("answers every query of %s", async (file) => {
    const { panels } = JSON.parse(readFileSync(path.join(deploy, file), "utf8")) as {
      readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
    };
    const queries = panels.flatMap(({ targets }) =>
      targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "1m")),
    );
    for (const text of queries) {
      await expect.poll(() => found(text), { ...patience, message: text }).toBeGreaterThan(0);
      expect((await query(text)).status, text).toBe("success");
    }
  });

  it("loads every alert, with names of metrics that exist", async () => {
    const { data } = (await (await fetch(`${prometheusUrl}/api/v1/rules`)).json()) as {
      readonly data: { readonly groups: readonly { readonly rules: readonly { readonly query: string }[] }[] };
    };
    const rules = data.groups.flatMap((group) => group.rules);
    expect(rules).toHaveLength(12);
    for (const { query: text } of rules) {
      expect((await query(text)).status, text).toBe("success");
      for (const [selector] of text.matchAll(/\b(?:headroom_\w+|up)\{[^}]*\}/g))
        await expect.poll(() => found(selector), { ...patience, message: selector }).toBeGreaterThan(0);
    }
  });

  it("fires an alert for a silent target through Alertmanager, and ends it", async () => {
    const seen = (status: string): readonly string[] =>
      alerts.filter((each) => each.status === status).map(({ labels }) => `${labels["alertname"]} ${labels["source"]}`);
    isFakeUp = false;
    await expect.poll(() => seen("firing"), patience).toContain("HeadroomTargetsSilent dcgm");
    isFakeUp = true;
    await expect.poll(() => seen("resolved"), patience).toContain("HeadroomTargetsSilent dcgm");
  });
});
