import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchange, removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

const page = "<!doctype html><title>console</title>";
let live: LiveControlPlane;
beforeAll(async () => {
  const home = temporaryHome();
  const consoleDir = path.join(home, "dist");
  mkdirSync(path.join(consoleDir, "assets"), { recursive: true });
  writeFileSync(path.join(consoleDir, "index.html"), page);
  writeFileSync(path.join(consoleDir, "assets", "main-1a2b3c.js"), "export {};");
  writeFileSync(path.join(consoleDir, "icon.svg"), "<svg/>");
  live = await startLive(home, { consoleDir });
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

const get = (target: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(live.url + target, { headers });

describe("the console's files", () => {
  it("come with their types, and those named by their content may be kept for ever", async () => {
    const script = await get("/assets/main-1a2b3c.js");
    expect([script.status, script.headers.get("content-type")]).toEqual([200, "text/javascript; charset=utf-8"]);
    expect(script.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    const index = await get("/");
    expect([await index.text(), index.headers.get("cache-control")]).toEqual([page, "no-cache"]);
    expect((await get("/icon.svg")).headers.get("content-type")).toBe("image/svg+xml");
  });

  it("are not sent again to whoever has them", async () => {
    const etag = (await get("/icon.svg")).headers.get("etag") ?? "";
    const again = await get("/icon.svg", { "if-none-match": etag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  });

  it("include the page for every address of the console, and nothing for files that are not there", async () => {
    expect(await (await get("/workloads/w17?tab=logs")).text()).toBe(page);
    for (const missing of ["/assets/gone.js", "/assets/gone", "/favicon.ico", "/v1", "/v1/"]) {
      expect((await get(missing)).status, missing).toBeGreaterThanOrEqual(401);
    }
  });

  it.each(["/../token", "/..%2ftoken", "/%2e%2e/token", "//etc/passwd", "/assets/../../token"])(
    "do not include %s",
    async (target) => {
      const answer = await exchange(live.url, `GET ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`);
      expect(answer).not.toContain(live.token ?? "none");
      expect(answer.includes(page) || answer.startsWith("HTTP/1.1 404 ")).toBe(true);
    },
  );
});
