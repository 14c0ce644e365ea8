/** Debian's Prometheus scrapes a gateway, loads its alert rules, and answers every query of its dashboard. */
import { spawn, spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { MockUpstream } from "../src/testing/mock-upstream.ts";
import { chat, testGateway } from "../src/testing/test-gateway.ts";

const deploy = path.resolve(import.meta.dirname, "..", "..", "..", "deploy", "monitoring");

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: { readonly result: readonly object[] };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

it("answers every query of the dashboard and loads every alert", async () => {
  if (spawnSync("prometheus", ["--version"]).status !== 0) {
    process.stderr.write("SKIPPED: Debian's package prometheus is not installed, no query was run\n");
    return;
  }
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-monitoring-"));
  const upstream = new MockUpstream();
  await upstream.start();
  const gateway = await testGateway(
    `teams: [{ name: a, budget: 9 USD/day, tokensPerMinute: 100000, keys: [{ name: k, sha256: ${hash("sha256", "secret")} }] }]\n` +
      `pools: [{ name: p, engine: vllm, price: { output: 2 }, replicas: ["${upstream.url}"] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  const port = await freePort();
  copyFileSync(path.join(deploy, "alerts.yaml"), path.join(folder, "alerts.yaml"));
  const config = readFileSync(path.join(deploy, "prometheus.yaml"), "utf8");
  const target = new URL(gateway.adminUrl!).host;
  const quick = config.replace("127.0.0.1:8081", target).replace("scrape_interval: 15s", "scrape_interval: 1s");
  writeFileSync(path.join(folder, "prometheus.yaml"), quick);
  const prometheus = spawn(
    "prometheus",
    [
      `--config.file=${folder}/prometheus.yaml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: "ignore" },
  );
  const ended = once(prometheus, "close");
  const ask = async (route: string): Promise<Answer> =>
    (await (await fetch(`http://127.0.0.1:${port}/api/v1/${route}`)).json()) as Answer;
  const query = (text: string): Promise<Answer> => ask(`query?query=${encodeURIComponent(text)}`);
  const use = async (): Promise<void> => {
    await (await chat(gateway.url, { stream: true, max_tokens: 5 }, "secret")).text();
    await chat(gateway.url, {}, "wrong");
  };
  try {
    await use();
    const scraped = async (): Promise<number> =>
      await query('count_over_time(up{job="headroom-gateway"}[1m])').then(
        ({ data }) => Number((data.result[0] as { value: [number, string] } | undefined)?.value[1] ?? 0),
        () => 0,
      );
    await expect.poll(scraped, { interval: 250 }).toBeGreaterThan(2);
    await use();
    const before = await scraped();
    await expect.poll(scraped, { interval: 250 }).toBeGreaterThan(before + 2);
    const { panels } = JSON.parse(readFileSync(path.join(deploy, "grafana-dashboard.json"), "utf8")) as Dashboard;
    const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(queries.length).toBeGreaterThan(15);
    for (const text of queries) {
      const answer = await query(text.replaceAll("$__rate_interval", "1m"));
      expect(answer.status, `${text}: ${answer.error ?? ""}`).toBe("success");
      expect(answer.data.result.length, text).toBeGreaterThan(0);
    }
    const rules = (await ask("rules")) as unknown as {
      data: { groups: { rules: { name: string; query: string }[] }[] };
    };
    const loaded = rules.data.groups.flatMap((group) => group.rules);
    expect(loaded.length).toBe(7);
    for (const { query: text } of loaded) {
      expect((await query(text)).status, text).toBe("success");
      // Without its comparison, the expression must find series: a misspelt name would never alert.
      const operands = text.split(/ (?:or|>|==|\/) /).filter((each) => !/^[\d.]+$/.test(each.trim()));
      for (const operand of operands.filter((each) => !each.includes("outcome=")))
        expect((await query(operand)).data.result.length, operand).toBeGreaterThan(0);
    }
  } finally {
    prometheus.kill("SIGKILL");
    await ended;
    await gateway.stop();
    await upstream.kill();
    rmSync(folder, { recursive: true });
  }
});
