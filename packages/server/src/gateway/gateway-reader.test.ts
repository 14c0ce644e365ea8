/** The read of a gateway's overview: bounded, checked, shared, and never with the token in clear over the network. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import { checkGatewayAddress, GatewayReader } from "./gateway-reader.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const overview = {
  id: "edge",
  startedAtMs: 1,
  nowMs: 2,
  notReady: [],
  inProgress: 0,
  held: 0,
  connections: 0,
  minutes: [],
  refused: [],
  teamCount: 0,
  teams: [],
  poolCount: 0,
  pools: [],
  errors: [],
};

async function readerOf(answer: RequestListener): Promise<GatewayReader> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-gateway-reader-"));
  const tokenFile = path.join(directory, "admin-token");
  writeFileSync(tokenFile, "the-token-of-the-gateway\n");
  cleanups.push(
    () => rmSync(directory, { recursive: true }),
    () => new Promise((resolve) => server.close(resolve)),
    () => server.closeAllConnections(),
  );
  return new GatewayReader({ admin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tokenFile });
}

it("asks once for many callers, with the token", async () => {
  const seen: unknown[] = [];
  const reader = await readerOf(({ url, headers }, response) => {
    seen.push([url, headers.authorization]);
    response.end(JSON.stringify(overview));
  });
  const answers = await Promise.all([reader.read(), reader.read(), reader.read()]);
  expect(answers.map(({ id }) => id)).toEqual(["edge", "edge", "edge"]);
  expect(seen).toEqual([["/v1/overview", "Bearer the-token-of-the-gateway"]]);
});

it.each<[string, RequestListener]>([
  ["that refuses the token", (_, response) => response.writeHead(401).end("{}")],
  ["with another form", (_, response) => response.end(JSON.stringify({ ...overview, teams: "none" }))],
  ["that is no JSON", (_, response) => response.end("<html>")],
  ["that is too large", (_, response) => response.end(" ".repeat(3 * 1024 * 1024))],
  ["that leads elsewhere", (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()],
  ["that breaks off", (_, response) => response.destroy()],
])("reports an answer %s", async (_name, answer) => {
  const reader = await readerOf(answer);
  await expect(reader.read()).rejects.toMatchObject({ code: "gatewayUnavailable" });
});

it("is off without an address, and does not send the token over the network in clear", () => {
  const off = new GatewayReader(null);
  expect(off.isConfigured).toBe(false);
  expect(() => off.read()).toThrow(/--gateway/);
  const check =
    (admin: string, insecure = false) =>
    () =>
      checkGatewayAddress({ admin, tokenFile: "x" }, insecure);
  for (const admin of ["http://127.0.0.1:8081", "http://[::1]:8081", "http://localhost:1", "https://gateway.example"])
    expect(check(admin), admin).not.toThrow();
  for (const admin of ["http://10.0.0.1:8081", "gateway", "ftp://127.0.0.1/", "http://127.0.0.1.evil.example/"])
    expect(check(admin), admin).toThrow(/is no address|in clear/);
  expect(check("http://10.0.0.1:8081", true)).not.toThrow();
});
