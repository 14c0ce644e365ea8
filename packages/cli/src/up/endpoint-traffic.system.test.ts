/**
 * An endpoint that follows traffic, as users run it: no replica at first, three under load, none without requests, while
 * replicas, the gateway and the control plane are killed. `HEADROOM_KILLS=100` kills as often, and with
 * `HEADROOM_AWAY_S=600` the control plane is away for so many seconds in the end, and after that the link between gateway and
 * control plane loses all bytes for as long.
 */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";
import { cutLink, type CutLink } from "../testing/cut-link.ts";
import { startProgram, type RunningProgram } from "../testing/running-program.ts";

/** An OpenAI server that needs a second to start and finishes its requests after SIGTERM. */
const SERVER = `
import { createServer } from "node:http";
let running = 0;
const server = createServer((request, response) => {
  request.resume();
  if (request.url === "/health") return response.end("ok");
  running++;
  setTimeout(() => {
    running--;
    response.setHeader("content-type", "application/json");
    const message = { role: "assistant", content: "hello" };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    response.end(JSON.stringify({ id: "1", object: "chat.completion", created: 1, model: "chat", pid: process.pid,
      choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
  }, 150);
});
setTimeout(() => server.listen(Number(process.env.PORT), "127.0.0.1"), 1000);
process.on("SIGTERM", () => setTimeout(() => process.exit(0), 3000));
`;

const KILLS = Number(process.env["HEADROOM_KILLS"] ?? 3);
const AWAY_S = Number(process.env["HEADROOM_AWAY_S"] ?? 5);

let root = "";
let home = "";
let work = "";
let plane: RunningProgram;
let gateway: RunningProgram | undefined;
let link: CutLink | undefined;
const ready = /runs on (http:\/\/127\.0\.0\.1:(\d+))[^]*Ctrl-C/;
const command = (...args: readonly string[]) =>
  headroom(args, { workingDirectory: work, env: { HEADROOM_HOME: home } });

async function up(port: string): Promise<RegExpExecArray> {
  plane = startProgram(["up", "--no-console", "--port", port, "--slots", "4"], { home });
  return plane.saying(ready);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function upGateway(): Promise<void> {
  gateway = startProgram(["gateway", "--config", "gateway.yaml"], { home, cwd: work });
  await gateway.saying(/listens on (http:\S+?)[.,]?\s/);
}

beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-traffic-"));
  [home, work] = [path.join(root, "home"), path.join(root, "work")];
  for (const directory of [home, work]) mkdirSync(directory);
});
afterAll(async () => {
  gateway?.process.kill("SIGTERM");
  await gateway?.ended;
  plane.process.kill("SIGTERM");
  await plane.ended;
  link?.close();
  rmSync(root, { recursive: true, maxRetries: 5 });
});

it("goes from no replica to three and back, through kills, without a failed request", async () => {
  const [, url = "", planePort = ""] = await up("0");
  link = await cutLink(Number(planePort));
  const port = await freePort();
  writeFileSync(path.join(work, "server.mjs"), SERVER);
  writeFileSync(
    path.join(work, "chat.yaml"),
    [
      "kind: serve",
      "name: chat",
      `run: exec ${process.execPath} server.mjs`,
      "gang: { accelerators: 1 }",
      "replicas: { min: 0, max: 3 }",
      "scale: { concurrency: 4, idleToZero: 5s, downAfter: 5s }",
      "retries: { backoff: 100ms, maxBackoff: 1s }",
      "grace: 10s",
      "",
    ].join("\n"),
  );
  writeFileSync(
    path.join(work, "gateway.yaml"),
    `listen: 127.0.0.1:${port}\nstate: ${path.join(home, "gateway")}\naccess: open\ncontrolPlane: { url: "http://127.0.0.1:${link.port}", token: { file: "${path.join(home, "token")}" }, interval: 200ms }\npools: [{ name: p, endpoint: chat, probe: { path: /health } }]\nmodels: [{ name: chat, pools: [p] }]\n`,
  );
  expect(await command("apply", "-f", "chat.yaml", "--yes")).toMatchObject({ code: 0 });
  await upGateway();
  const shown = async (): Promise<{ readonly wanted: number; readonly ready: number }> => {
    const { stdout } = await command("show", "chat", "--json");
    return (JSON.parse(stdout) as { replicas: { wanted: number; ready: number } }).replicas;
  };
  expect(await shown()).toMatchObject({ wanted: 0, ready: 0 });

  const failures: string[] = [];
  const pids = new Set<number>();
  const answeredIds: string[] = [];
  let answered = 0;
  let isOver = false;
  let gatewayKills = 0;
  let isGatewayUp = true;
  /** Only a request whose connection ends with the killed gateway is sent again. Any other broken connection is a failure. */
  const request = async (): Promise<void> => {
    const [killsBefore, wasUp] = [gatewayKills, isGatewayUp];
    const broken = (how: string): void => {
      if (wasUp && killsBefore === gatewayKills) failures.push(how);
    };
    const body = JSON.stringify({ model: "chat", messages: [{ role: "user", content: `hi ${answered}` }] });
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: "POST", body }).catch(
      () => null,
    );
    if (response === null) {
      broken("no answer");
      return void (await new Promise((resolve) => setTimeout(resolve, 50)));
    }
    const text = await response.text().catch(() => null);
    if (text === null) return broken("an answer that was cut off");
    const { pid } = JSON.parse(text) as { pid?: number };
    if (response.status !== 200 || pid === undefined) return void failures.push(`${response.status} ${text}`);
    pids.add(pid);
    answeredIds.push(response.headers.get("x-request-id") ?? "");
    answered++;
  };
  const client = async (): Promise<void> => {
    while (!isOver) await request();
  };
  // All of them find no replica, and are held until the first one is ready.
  const clients = Array.from({ length: 12 }, client);
  await expect.poll(shown, { timeout: 30_000 }).toEqual(expect.objectContaining({ wanted: 3, ready: 3 }));
  expect(failures).toEqual([]);

  for (let kill = 0; kill < KILLS; kill++) {
    const before = answered;
    if (kill % 3 === 0) for (const pid of [...pids].slice(-1)) killed(pid);
    else if (kill % 3 === 1) {
      gatewayKills++;
      isGatewayUp = false;
      gateway?.process.kill("SIGKILL");
      await gateway?.ended;
      await upGateway();
      isGatewayUp = true;
    } else {
      plane.process.kill("SIGKILL");
      await plane.ended;
      await expect.poll(() => answered, { timeout: 20_000 }).toBeGreaterThan(before + 50);
      await up(planePort);
    }
    await expect.poll(() => answered, { timeout: 20_000 }).toBeGreaterThan(before + 100);
  }
  /** Requests are answered and settled while the control plane is out of reach. */
  const outage = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 1000 * AWAY_S));
    const before = answered;
    await expect.poll(() => answered, { timeout: 20_000 }).toBeGreaterThan(before + 50);
    expect(await settledRequests()).toBeGreaterThan(before);
  };
  plane.process.kill("SIGKILL");
  await plane.ended;
  await outage();
  await up(planePort);
  link.isCut = true;
  await outage();
  expect(link.lostBytes).toBeGreaterThan(0);
  link.isCut = false;
  isOver = true;
  await Promise.all(clients);
  await expect.poll(shown, { timeout: 40_000 }).toMatchObject({ wanted: 0, ready: 0 });
  expect(failures).toEqual([]);
  const lines = usageLines();
  expect(answeredIds.filter((id) => lines.get(id) !== 1)).toEqual([]);
  expect([...lines.values()].filter((count) => count > 1)).toEqual([]);
  expect(await settledRequests()).toBe(lines.size);
  expect(await chargedRequests(url)).toBe(lines.size);
  const { stdout } = await command("why", "chat");
  expect(stdout).toContain("no requests for");
  console.log(
    `endpoint: ${answered} requests answered, ${KILLS} kills, ${AWAY_S} s without link and control plane each, 0 failed`,
  );
});

/** Requests that the ledger has settled, from the usage files of the gateway. */
async function settledRequests(): Promise<number> {
  const [state, ledger] = [path.join(home, "gateway"), path.join(root, "ledger.json")];
  const { code, stdout, stderr } = await command("gateway", "usage", state, "--ledger", ledger, "--json");
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  const { sums } = JSON.parse(stdout) as { readonly sums: readonly { readonly requests: number }[] };
  return sums.reduce((sum, { requests }) => sum + requests, 0);
}

/** Requests in the costs that the control plane states. */
async function chargedRequests(url: string): Promise<number> {
  const token = readFileSync(path.join(home, "token"), "utf8").trim();
  const response = await fetch(`${url}/v1/costs`, { headers: { authorization: `Bearer ${token}` } });
  const { metered, problems } = (await response.json()) as {
    readonly metered: readonly { readonly subject: string; readonly requestCount: number }[];
    readonly problems: readonly string[];
  };
  expect(problems).toEqual([]);
  return metered.filter(({ subject }) => subject === "chat").reduce((sum, line) => sum + line.requestCount, 0);
}

/** Number of usage lines of each request. */
function usageLines(): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  for (const file of globSync(path.join(home, "gateway", "*", "usage", "usage-*.jsonl")))
    for (const line of readFileSync(file, "utf8").split("\n")) {
      if (line === "") continue;
      const { id } = JSON.parse(line) as { readonly id: string };
      lines.set(id, (lines.get(id) ?? 0) + 1);
    }
  return lines;
}

function killed(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The replica has ended since its last answer.
  }
}
