/**
 * An endpoint as users run it: `headroom up` runs the replicas, a gateway follows them, and requests go on while the
 * endpoint grows, shrinks, loses its control plane and gets other revisions.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Endpoint } from "@headroom/protocol";
import { headroom } from "../testing/recorded-terminal.ts";
import { startProgram, type RunningProgram } from "../testing/running-program.ts";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";

/** An OpenAI server that finishes its requests after SIGTERM. */
const SERVER = `
import { createServer } from "node:http";
const server = createServer((request, response) => {
  request.resume();
  if (request.url === "/health") return response.end("ok");
  if (process.env.BROKEN === "yes") return request.socket.destroy();
  setTimeout(() => {
    response.setHeader("content-type", "application/json");
    const message = { role: "assistant", content: "hello" };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    response.end(JSON.stringify({ id: "1", object: "chat.completion", created: 1, model: "chat",
      version: process.env.VERSION ?? "1", from: process.env.MODEL_DIR, choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
  }, 20);
});
server.listen(Number(process.env.PORT), "127.0.0.1");
// Gateways learn within a second that a replica drains; requests that come until then are answered too.
process.on("SIGTERM", () => setTimeout(() => process.exit(0), 3000));
`;

let root = "";
let home = "";
let work = "";
let plane: RunningProgram;
let gateway: RunningProgram | undefined;
const ready = /runs on (http:\/\/127\.0\.0\.1:(\d+))[^]*Ctrl-C/;
const command = (...args: readonly string[]) =>
  headroom(args, { workingDirectory: work, env: { HEADROOM_HOME: home } });

/** The endpoint as the API lists it: a command for each look would start a process. */
async function listed(url: string): Promise<Endpoint | undefined> {
  const headers = { authorization: `Bearer ${readFileSync(path.join(home, "token"), "utf8").trim()}` };
  const answer = await fetch(`${url}/v1/endpoints`, { headers }).catch(() => null);
  if (answer?.status !== 200) return undefined;
  const { items } = (await answer.json()) as { readonly items: readonly Endpoint[] };
  return items.find(({ name }) => name === "chat");
}

async function up(port: string): Promise<RegExpExecArray> {
  plane = startProgram(["up", "--no-console", "--port", port, "--slots", "4"], { home });
  return plane.saying(ready);
}

beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-endpoint-"));
  [home, work] = [path.join(root, "home"), path.join(root, "work")];
  for (const directory of [home, work]) mkdirSync(directory);
});
afterAll(async () => {
  gateway?.process.kill("SIGTERM");
  await gateway?.ended;
  plane.process.kill("SIGTERM");
  await plane.ended;
  rmSync(root, { recursive: true, maxRetries: 5 });
});

it("grows, shrinks and outlives its control plane without a failed request", async () => {
  const [, url = "", port = ""] = await up("0");
  writeFileSync(path.join(work, "server.mjs"), SERVER);
  writeFileSync(
    path.join(work, "chat.yaml"),
    `kind: serve\nname: chat\nrun: exec ${process.execPath} server.mjs\ngang: { accelerators: 1 }\nreplicas: { min: 1, max: 3 }\ngrace: 10s\n`,
  );
  expect(await command("apply", "-f", "chat.yaml", "--yes")).toMatchObject({ code: 0 });
  const replicas = async (): Promise<string> => {
    const endpoint = await listed(url);
    return `${endpoint?.replicas.ready} of ${endpoint?.replicas.wanted}`;
  };
  await expect.poll(replicas, { timeout: 60_000 }).toBe("1 of 1");

  writeFileSync(
    path.join(work, "gateway.yaml"),
    `listen: 127.0.0.1:0\nstate: ${path.join(root, "gateway")}\nteams: [{ name: default }]\ncontrolPlane: { url: "${url}", token: { file: "${path.join(home, "token")}" }, interval: 200ms, accessTokens: true }\npools: [{ name: p, endpoint: chat, probe: { path: /health } }]\nmodels: [{ name: chat, pools: [p] }]\n`,
  );
  const created = await command("token", "create", "app", "--for", "app", "--team", "default", "--json");
  const { secret } = JSON.parse(created.stdout) as { readonly secret: string };
  const headers = { authorization: `Bearer ${secret}` };
  gateway = startProgram(["gateway", "--config", "gateway.yaml"], { home, cwd: work });
  const [, gatewayUrl = ""] = await gateway.saying(/listens on (http:\S+?)[.,]?\s/);
  const failures: string[] = [];
  const versions = new Set<string>();
  let answered = 0;
  let isOver = false;
  const client = async (): Promise<void> => {
    while (!isOver) {
      const body = JSON.stringify({ model: "chat", messages: [{ role: "user", content: `hi ${answered}` }] });
      const response = await fetch(`${gatewayUrl}/v1/chat/completions`, { method: "POST", headers, body });
      const text = await response.text();
      for (const [, version = "", from = ""] of text.matchAll(/"version":"(.*?)"(?:,"from":"(.*?)")?/g))
        versions.add(version + from);
      if (response.status === 200 && text.includes("hello")) answered++;
      else failures.push(`${response.status} ${text}`);
    }
  };
  const clients = [client(), client(), client(), client()];

  expect(await command("set", "chat", "replicas=3")).toMatchObject({ code: 0 });
  await expect.poll(replicas, { timeout: 60_000 }).toBe("3 of 3");
  plane.process.kill("SIGKILL");
  await plane.ended;
  const before = answered;
  await expect.poll(() => answered, { timeout: 20_000 }).toBeGreaterThan(before + 200);
  await up(port);
  await expect.poll(replicas, { timeout: 60_000 }).toBe("3 of 3");
  expect(await command("set", "chat", "replicas=1")).toMatchObject({ code: 0 });
  await expect.poll(replicas, { timeout: 60_000 }).toBe("1 of 1");
  const after = answered;
  await expect.poll(() => answered, { timeout: 20_000 }).toBeGreaterThan(after + 100);
  if (isTurnOf("rollouts")) await rollOut({ url, versions, answered: () => answered });
  isOver = true;
  await Promise.all(clients);
  expect(await command("token", "revoke", "app")).toMatchObject({ code: 0 });
  const models = async (): Promise<number> => (await fetch(`${gatewayUrl}/v1/models`, { headers })).status;
  await expect.poll(models, { timeout: 10_000 }).toBe(401);
  await command("stop", "chat");
  await expect
    .poll(async () => (await command("list", "--json")).stdout, { timeout: 60_000 })
    .not.toContain('"stopping"');
  expect(failures).toEqual([]);
  console.log(`endpoint: ${answered} requests answered, 0 failed`);
});

interface Traffic {
  readonly url: string;
  /** Versions that answered. */
  readonly versions: Set<string>;
  answered(): number;
}

/** A canary that is promoted by its verdict, one that is rolled back by it, one that is aborted, and an alias that moves. */
async function rollOut({ url, versions, answered }: Traffic): Promise<void> {
  const file = path.join(work, "chat.yaml");
  const document = readFileSync(file, "utf8");
  const steps = "rollout: { steps: [50%, 100%], every: 1s, abort: { errorRate: 1% } }\n";
  const apply = async (text: string): Promise<void> => {
    writeFileSync(file, text);
    expect(await command("apply", "-f", "chat.yaml", "--yes")).toMatchObject({ code: 0 });
  };
  const revision = async (): Promise<string> => {
    const shown = await listed(url);
    return shown?.rollout == null ? `${shown?.revision}` : `${shown.revision} to ${shown.rollout.number}`;
  };
  await apply(document + steps);
  expect(await revision()).toBe("1");
  await apply(`${document}${steps}env: { VERSION: "2" }\n`);
  expect(await revision()).toBe("1 to 2");
  await expect.poll(revision, { timeout: 60_000 }).toBe("2");
  expect([...versions]).toEqual(["1", "2"]);

  // The connections of a broken canary end before the first byte, so that the gateway answers from another replica.
  await apply(`${document}${steps}env: { VERSION: "3", BROKEN: "yes" }\n`);
  await expect.poll(revision, { timeout: 60_000 }).toBe("2");
  expect((await command("history", "chat")).stdout).toMatch(/rolled the new revision back.*errors 100%/);

  await apply(`${document}${steps}env: { VERSION: "4" }\n`);
  await expect.poll(() => versions.has("4"), { timeout: 60_000 }).toBe(true);
  await command("rollout", "abort", "chat");
  const nextVersions = async (): Promise<readonly string[]> => {
    versions.clear();
    const before = answered();
    await expect.poll(answered, { timeout: 10_000 }).toBeGreaterThan(before + 50);
    return [...versions];
  };
  await expect.poll(nextVersions, { timeout: 20_000 }).toEqual(["2"]);
  expect(await nextVersions()).toEqual(["2"]);

  const register = async (): Promise<void> => {
    const directory = mkdtempSync(path.join(root, "model-"));
    writeFileSync(path.join(directory, "weights"), directory);
    const registered = await command("artifact", "register", "model:chat", directory, "--alias", "production");
    expect(registered).toMatchObject({ code: 0 });
  };
  await register();
  await apply(`${document}env: { VERSION: "2" }\nmodel: model:chat@production\n`);
  const settled = async (): Promise<number> => {
    const shown = await listed(url);
    return shown?.rollout === null ? shown.revision : 0;
  };
  await expect.poll(settled, { timeout: 60_000 }).toBeGreaterThan(2);
  const before = await settled();
  await register();
  await expect.poll(settled, { timeout: 60_000 }).toBeGreaterThan(before);
}
