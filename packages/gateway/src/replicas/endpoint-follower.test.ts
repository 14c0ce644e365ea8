import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

const replica = (address: string | null, draining = false) => ({ address, draining });

it("takes over the replicas that take requests, and keeps the last ones while no list comes", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-follower-"));
  folders.push(folder);
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
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      token: { file: tokenFile },
      intervalMs: 60_000,
      file: path.join(folder, "endpoints.json"),
      pools: () => [{ name: "p", endpoint: "a/chat" } as PoolConfig, { name: "q" } as PoolConfig],
      take: (pool, urls) => taken.push([pool, ...urls.map(({ host, port }) => `${host}:${port}`)]),
      log: (line) => logged.push(line),
    });
  const followedOnce = async (): Promise<string[][]> => {
    const own = follower();
    await own.start();
    own.stop();
    return taken.splice(0);
  };
  expect(await followedOnce()).toEqual([["p", "127.0.0.1:1"]]);
  // A new process begins with the last known replicas, and keeps them while the list cannot be read.
  status = 503;
  expect(await followedOnce()).toEqual([["p", "127.0.0.1:1"]]);
  expect(logged.splice(0).join()).toContain("status 503; the last replicas stay");
  status = 200;
  items = "not a list";
  expect(await followedOnce()).toEqual([["p", "127.0.0.1:1"]]);
  // The addresses of an endpoint that has ended may belong to other work.
  items = [];
  expect(await followedOnce()).toEqual([["p", "127.0.0.1:1"], ["p"]]);
  server.close();
});
