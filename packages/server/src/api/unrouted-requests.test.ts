/**
 * Tests requests that end before a handler: those without a route, those that are not HTTP, broken requests, and
 * previews of links.
 */
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchange, removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

describe("requests that reach no route", () => {
  const host = "Host: localhost\r\n";
  const problemOfBytes = (text: string) => {
    const [head = "", body = ""] = text.split("\r\n\r\n", 2);
    expect(head).toContain("application/problem+json");
    return { status: Number(head.split(" ")[1]), code: (JSON.parse(body) as { code: string }).code };
  };

  it.each([
    [
      "has two Host headers",
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n`,
      400,
      "ambiguousHost",
    ],
    [
      "has two Host headers in other case",
      `GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nHOST: evil\r\n\r\n`,
      400,
      "ambiguousHost",
    ],
    [
      "has two Host headers and a target with a host",
      `GET http://127.0.0.1/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: x\r\n\r\n`,
      400,
      "ambiguousHost",
    ],
    ["has no Host header", `GET /v1/status HTTP/1.1\r\n\r\n`, 403, "forbiddenHost"],
    ["expects what is not met", `POST /v1/apply HTTP/1.1\r\n${host}Expect: magic\r\n\r\n`, 417, "invalidRequest"],
    ["asks for a tunnel", `CONNECT a:1 HTTP/1.1\r\n${host}\r\n`, 405, "methodNotAllowed"],
    ["is not HTTP", "hello\r\n\r\n", 400, "invalidRequest"],
  ])("answers in the problem format where one %s", async (_what, bytes, status, code) => {
    const text = await exchange(live.url, bytes, (answer) => answer.includes("}"));
    expect(problemOfBytes(text)).toEqual({ status, code });
  });
  it("names the methods of an address however it is encoded", async () => {
    const response = await live.request("/%761/status", { method: "DELETE" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
  it("does not report uploads that break off as bugs", async () => {
    const before = live.complaints.length;
    const head = `POST /v1/apply HTTP/1.1\r\n${host}Authorization: Bearer ${live.token}\r\nContent-Type: application/json\r\n`;
    for (const [length, sent] of [
      [1_000, 10],
      [500_000, 300_000],
    ] as const) {
      const socket = connect(Number(new URL(live.url).port), "127.0.0.1");
      socket.on("error", () => undefined);
      await new Promise<void>((resolve) => {
        socket.write(`${head}Content-Length: ${length}\r\n\r\n${"[".repeat(sent)}`, () => resolve());
      });
      socket.resetAndDestroy();
    }
    await live.client.status();
    expect(live.complaints.slice(before)).toEqual([]);
  });
});

describe("a login link", () => {
  it("survives the HEAD request of a preview", async () => {
    const { url } = await live.client.createLoginLink();
    const link = new URL(url);
    const target = live.url + link.pathname + link.search;
    expect((await fetch(target, { method: "HEAD" })).status).toBe(405);
    expect((await fetch(target, { redirect: "manual" })).status).toBe(303);
    expect((await fetch(target, { redirect: "manual" })).status).toBe(403);
  });
});
