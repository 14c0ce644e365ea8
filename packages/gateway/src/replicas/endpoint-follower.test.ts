import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import type { PoolConfig } from "../config/schema.ts";
import { EndpointFollower } from "./endpoint-follower.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const alone = {
  gateway: "g",
  startedAtMs: 0,
  load: () => ({
    requests: 7,
    running: 2,
    held: 1,
    idleMs: 0,
    queued: null,
    kvUsage: null,
    ttft: null,
    tpot: null,
    tokens: { prompt: 900, output: 40, ended: 2, promptTokenMs: null },
    replicas: [{ address: "127.0.0.1:1", requests: 2 }],
  }),
  isWaiting: () => false,
};

const replica = (address: string | null, draining = false) => ({ address, draining });

const at = ({ host, port }: { readonly host: string; readonly port: number }): string => `${host}:${port}`;

/** Polls once; returns the replicas of each pool, and the log. */
async function followedOnce(
  setup: { readonly endpoint: string; readonly folder: string },
  items: unknown,
): Promise<{ readonly taken: readonly string[]; readonly logged: readonly string[] }> {
  const server = createServer((_request, response) => void response.end(JSON.stringify({ sequence: 1, items })));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const tokenFile = path.join(setup.folder, "token");
  writeFileSync(tokenFile, "secret\n");
  let taken: readonly string[] = [];
  const logged: string[] = [];
  const follower = new EndpointFollower({
    ...alone,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: { file: tokenFile },
    intervalMs: 60_000,
    file: path.join(setup.folder, "endpoints.json"),
    pools: () => [{ name: "p", endpoint: setup.endpoint } as PoolConfig],
    take: (_pool, urls) => (taken = urls.map(at)),
    log: (line) => logged.push(line),
  });
  await follower.start();
  follower.stop();
  server.close();
  return { taken, logged };
}

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-follower-"));
  folders.push(folder);
  return folder;
}

it("does not follow an endpoint of another team that has the same name", async () => {
  const folder = newFolder();
  const other = { name: "chat", team: "other", list: [replica("127.0.0.1:9")] };
  const own = { name: "chat", team: "default", list: [replica("127.0.0.1:1")] };
  expect((await followedOnce({ endpoint: "chat", folder }, [other, own])).taken).toEqual(["127.0.0.1:1"]);
  expect(await followedOnce({ endpoint: "chat", folder }, [other])).toEqual({
    taken: [],
    logged: ["the control plane lists no endpoint chat"],
  });
});

it("sends no requests to loopback addresses that a control plane on another machine lists", () => {
  const folder = newFolder();
  const file = path.join(folder, "endpoints.json");
  writeFileSync(file, JSON.stringify({ "a/chat": ["127.0.0.1:1", "10.0.0.7:2"] }));
  let taken: readonly string[] = [];
  const logged: string[] = [];
  const follower = new EndpointFollower({
    ...alone,
    url: "http://192.0.2.1:9",
    token: { file: path.join(folder, "no token") },
    intervalMs: 60_000,
    file,
    pools: () => [{ name: "p", endpoint: "a/chat" } as PoolConfig],
    take: (_pool, urls) => (taken = urls.map(at)),
    log: (line) => logged.push(line),
  });
  void follower.start();
  follower.stop();
  expect(taken).toEqual(["10.0.0.7:2"]);
  expect(logged.join()).toContain("run the gateway on its machine");
});

it("takes an overflow that it does not understand for one that lets nothing leave, and says so once", async () => {
  const folder = newFolder();
  const overflow = { targets: ["a"], queueTimeMs: "soon" };
  const chat = { name: "chat", team: "a", overflow, list: [replica("127.0.0.1:1")] };
  const { taken, logged } = await followedOnce({ endpoint: "a/chat", folder }, [chat]);
  expect(taken).toEqual(["127.0.0.1:1"]);
  expect(logged).toEqual([expect.stringContaining("the overflow of endpoint a/chat is not understood")]);
  expect(readFileSync(path.join(folder, "endpoints.json"), "utf8")).toContain('"overflow":"unreadable"');
  expect((await followedOnce({ endpoint: "a/chat", folder }, [chat])).logged).toEqual([]);
});

it("follows the new endpoint while the replaced one of its name is being stopped", async () => {
  const stopping = { name: "chat", team: "a", list: [replica("127.0.0.1:1", true)] };
  const fresh = { name: "chat", team: "a", list: [replica("127.0.0.1:2")] };
  const { taken } = await followedOnce({ endpoint: "a/chat", folder: newFolder() }, [stopping, fresh]);
  expect(taken).toEqual(["127.0.0.1:2"]);
});

it("keeps the last replicas of an endpoint that is missing in a list that was cut", async () => {
  const folder = newFolder();
  const chat = { name: "chat", team: "a", list: [replica("127.0.0.1:1")] };
  const others = Array.from({ length: 1_000 }, (_, index) => ({ name: `x${index}`, team: "b", list: [] }));
  await followedOnce({ endpoint: "a/chat", folder }, [chat]);
  const cut = await followedOnce({ endpoint: "a/chat", folder }, others);
  expect(cut.taken).toEqual(["127.0.0.1:1"]);
  expect(cut.logged).toEqual(["the control plane lists no endpoint a/chat, whose list is cut at 1000"]);
  expect((await followedOnce({ endpoint: "a/chat", folder }, others.slice(1))).taken).toEqual([]);
});

it("takes over the replicas that take requests, and keeps the last ones while no list comes", async () => {
  const folder = newFolder();
  const tokenFile = path.join(folder, "token");
  writeFileSync(tokenFile, "secret\n");
  let status = 200;
  let items: unknown = [
    { name: "chat", team: "b", list: [replica("127.0.0.1:9")] },
    { name: "chat", team: "a", list: [replica("127.0.0.1:1"), replica("127.0.0.1:2", true), replica(null)] },
  ];
  const server = createServer((request, response) => {
    expect(request.headers.authorization).toBe("Bearer secret");
    expect(request.url).toBe("/v1/endpoints");
    response.writeHead(status).end(JSON.stringify({ sequence: 1, items }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const taken: string[][] = [];
  const logged: string[] = [];
  const follower = (): EndpointFollower =>
    new EndpointFollower({
      ...alone,
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      token: { file: tokenFile },
      intervalMs: 60_000,
      file: path.join(folder, "endpoints.json"),
      pools: () => [{ name: "p", endpoint: "a/chat" } as PoolConfig, { name: "q" } as PoolConfig],
      take: (pool, urls) => taken.push([pool, ...urls.map(at)]),
      log: (line) => logged.push(line),
    });
  const polledOnce = async (): Promise<string[][]> => {
    const own = follower();
    await own.start();
    own.stop();
    return taken.splice(0);
  };
  expect(await polledOnce()).toEqual([["p", "127.0.0.1:1"]]);
  // A new process begins with the last known replicas, and keeps them while the list cannot be read.
  status = 503;
  expect(await polledOnce()).toEqual([["p", "127.0.0.1:1"]]);
  expect(logged.splice(0).join()).toContain("status 503; the last replicas stay");
  status = 200;
  items = "not a list";
  expect(await polledOnce()).toEqual([["p", "127.0.0.1:1"]]);
  // The addresses of an endpoint that has ended may belong to other work.
  items = [];
  expect(await polledOnce()).toEqual([["p", "127.0.0.1:1"], ["p"]]);
  server.close();
});

it("reports the load of an endpoint, and not again for a while after a refusal", async () => {
  const folder = newFolder();
  const tokenFile = path.join(folder, "token");
  writeFileSync(tokenFile, "secret\n");
  const reports: unknown[] = [];
  const endpoint = { name: "chat", team: "default", workloadId: "w1", autoscaled: true, list: [] };
  const server = createServer((request, response) => {
    if (request.method === "GET") return void response.end(JSON.stringify({ sequence: 1, items: [endpoint] }));
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      reports.push({ path: request.url, ...(JSON.parse(body) as object) });
      response.writeHead(403).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const logged: string[] = [];
  const taken: boolean[] = [];
  const follower = new EndpointFollower({
    ...alone,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: { file: tokenFile },
    intervalMs: 60_000,
    file: path.join(folder, "endpoints.json"),
    pools: () => [{ name: "p", endpoint: "chat" } as PoolConfig],
    take: (_pool, _urls, { isAutoscaled }) => taken.push(isAutoscaled),
    log: (line) => logged.push(line),
  });
  await follower.start();
  await follower.poke();
  follower.stop();
  server.close();
  expect(reports).toEqual([
    { path: "/v1/endpoints/w1/load", version: 1, gateway: "g", startedAtMs: 0, ...alone.load() },
  ]);
  expect(taken).toEqual([true, true]);
  expect(logged).toEqual([
    "the control plane refuses the load of endpoint w1 (status 403), so its replicas do not follow traffic: give the gateway a token with role operator on the team",
  ]);
});
