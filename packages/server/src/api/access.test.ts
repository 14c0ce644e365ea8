import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createHttpClient } from "@headroom/protocol";
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

const status = (headers: Record<string, string>): Promise<number> =>
  fetch(`${live.url}/v1/status`, { headers }).then((response) => response.status);
/** `fetch` sets the header `Host` itself, so these requests are written to a socket. */
const statusLine = async (head: string): Promise<string> =>
  (await exchange(live.url, `GET /v1/status HTTP/1.1\r\n${head}connection: close\r\n\r\n`)).split("\r\n", 1)[0] ?? "";

describe("the token", () => {
  it("lies in a file that only its owner can read, and opens the door", async () => {
    const file = path.join(live.home, "token");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = readFileSync(file, "utf8").trim();
    expect(await status({ authorization: `Bearer ${token}` })).toBe(200);
    expect(await status({ authorization: `bearer ${token}` })).toBe(200);
  });

  it.each([
    ["none", {}],
    ["an empty one", { authorization: "Bearer " }],
    ["a wrong one of the same length", { authorization: `Bearer ${"x".repeat(43)}` }],
    ["the right one with more behind it", { authorization: "Bearer TOKENx" }],
    ["another scheme", { authorization: "Basic TOKEN" }],
    ["a made-up cookie", { cookie: "headroom_00000000=9999999999999.x" }],
  ])("is needed: %s does not do", async (_what, headers: Record<string, string>) => {
    const given = Object.entries(headers).map(([name, value]) => [name, value.replace("TOKEN", live.token ?? "")]);
    expect(await status(Object.fromEntries(given) as Record<string, string>)).toBe(401);
  });

  it("is asked for before anything is said about what exists", async () => {
    const answers = ["/v1/nothing", "/v1/workloads/w1", "/v1/metrics", "/v1/events"].map((target) =>
      fetch(live.url + target),
    );
    expect((await Promise.all(answers)).map((response) => response.status)).toEqual([401, 401, 401, 401]);
  });

  it("is refused where others could read it or it is none", async () => {
    const home = temporaryHome();
    const file = path.join(home, "token");
    writeFileSync(file, `${"t".repeat(43)}\n`, { mode: 0o600 });
    chmodSync(file, 0o644);
    await expect(startLive(home)).rejects.toMatchObject({ code: "tokenExposed" });
    chmodSync(file, 0o600);
    writeFileSync(file, "\n");
    await expect(startLive(home)).rejects.toMatchObject({ code: "tokenDamaged" });
    removeHome(home);
  });
});

describe("users", () => {
  const submit = (headers: Record<string, string>): Promise<Response> =>
    live.request("/v1/workloads", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ kind: "train", name: "told", run: "true", gang: { accelerators: 64 } }),
    });
  const idOf = async (response: Response): Promise<string> =>
    ((await response.json()) as { workloadId: string }).workloadId;

  it("are named by a header, and by how they were let in without one", async () => {
    const ids = await Promise.all(
      [submit({ "headroom-user": "alice" }), submit({})].map(async (each) => idOf(await each)),
    );
    const workloads = await Promise.all(ids.map((id) => live.client.getWorkload(id)));
    expect(workloads.map(({ actor }) => actor)).toEqual(["alice", "token"]);
  });

  it("have idempotency keys of their own", async () => {
    const key = { "idempotency-key": "nightly" };
    const alice = await idOf(await submit({ ...key, "headroom-user": "alice" }));
    const bob = await idOf(await submit({ ...key, "headroom-user": "bob" }));
    expect(bob).not.toBe(alice);
    expect(await idOf(await submit({ ...key, "headroom-user": "alice" }))).toBe(alice);
  });

  it("are refused before anything is read where they cannot be, and only after the token", async () => {
    const before = live.driver.status().sequence;
    const unfit = await submit({ "headroom-user": "a b" });
    expect([unfit.status, await unfit.json()]).toMatchObject([
      422,
      { code: "invalidRequest", errors: [{ pointer: "Headroom-User" }] },
    ]);
    const kept = await submit({ "headroom-user": "console" });
    expect([kept.status, await kept.json()]).toMatchObject([422, { code: "reservedName" }]);
    const unknown = await submit({ "headroom-user": "console", authorization: "Bearer guessed" });
    expect([unknown.status, await unknown.json()]).toMatchObject([401, { code: "unauthorized" }]);
    expect(live.driver.status().sequence).toBe(before);
  });

  it("are what forecasts are for", async () => {
    const [alice, other] = ["alice", undefined].map((user) =>
      createHttpClient({
        baseUrl: live.url,
        token: live.token ?? undefined,
        user,
        fetch: (target, request) => fetch(target, request as RequestInit),
      }),
    );
    await other?.apply({ teams: [{ name: "lab", parent: null, limit: {}, userLimit: { slot: 1 } }] });
    const spec = { kind: "train", team: "lab", run: "sleep 600", gang: { accelerators: 1, coresMilli: 0 } } as const;
    const { workloadId } = (await alice?.submitWorkload({ ...spec, name: "first" })) ?? { workloadId: "" };
    const next = { ...spec, name: "next" };
    expect((await alice?.forecastWorkload(next))?.kind).toBe("waits");
    expect((await other?.forecastWorkload(next))?.kind).toBe("starts");
    await other?.stopWorkload(workloadId);
  });
});

describe("the browser", () => {
  const sessionOf = (response: Response): string =>
    new URLSearchParams(response.headers.get("location")?.split("#", 2)[1]).get("session") ?? "";

  it("is signed in by a link once, without a cookie, which every port of the host would get", async () => {
    const { url: link } = await live.client.createLoginLink();
    expect(link.startsWith(`${live.url}/login?code=`)).toBe(true);
    const first = await fetch(link, { redirect: "manual" });
    expect([first.status, first.headers.get("location")]).toEqual([303, expect.stringMatching(/^\/#session=/)]);
    expect(first.headers.get("set-cookie")).toBeNull();
    const session = sessionOf(first);
    expect(await status({ authorization: `Bearer ${session}` })).toBe(200);
    expect(await status({ authorization: `Bearer ${session.replace(/\.\d/, ".9")}` })).toBe(401);
    expect(await status({ authorization: `Bearer ${session}x` })).toBe(401);
    expect(await status({ cookie: `headroom=${session}` })).toBe(401);
    const again = await fetch(link, { redirect: "manual" });
    expect([again.status, again.headers.get("location")]).toEqual([403, null]);
    expect((await fetch(`${live.url}/login`)).status).toBe(403);
  });

  it("acts for whoever asked for the link", async () => {
    const link = await live.request("/v1/login-links", { method: "POST", headers: { "headroom-user": "alice" } });
    const { url } = (await link.json()) as { url: string };
    const session = sessionOf(await fetch(url, { redirect: "manual" }));
    const submitted = await fetch(`${live.url}/v1/workloads`, {
      method: "POST",
      headers: { authorization: `Bearer ${session}`, "content-type": "application/json" },
      body: JSON.stringify({ kind: "train", name: "clicked", run: "true", gang: { accelerators: 64 } }),
    });
    const { workloadId } = (await submitted.json()) as { workloadId: string };
    expect((await live.client.getWorkload(workloadId)).actor).toBe("alice");
  });

  it("gets pages that may run nothing but their own scripts, also where none were built", async () => {
    const page = await fetch(live.url);
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
    expect(await page.text()).toContain("npm run build");
  });
});

describe("requests that were meant for somebody else", () => {
  const bearer = (): string => `authorization: Bearer ${live.token}\r\n`;

  it.each(["evil.example", "evil.example:7070", "127.0.0.1.evil.example", "", "a b", "[::1"])(
    "are refused for the host %j",
    async (host) => {
      expect(await statusLine(`host: ${host}\r\n${bearer()}`)).toMatch(/^HTTP\/1\.1 (?:403|400) /);
    },
  );

  it.each(["127.0.0.1", "localhost:80", "LOCALHOST", "[::1]:7070", "10.1.2.3:7070"])(
    "are let in for the host %j",
    async (host) => {
      expect(await statusLine(`host: ${host}\r\n${bearer()}`)).toBe("HTTP/1.1 200 OK");
    },
  );

  it("are refused from pages of another origin, whatever they bring", async () => {
    const authorization = `Bearer ${live.token}`;
    expect(await status({ authorization, origin: live.url })).toBe(200);
    expect(await status({ authorization, origin: "http://evil.example" })).toBe(403);
    expect(await status({ authorization, origin: "null" })).toBe(403);
    expect(await status({ authorization, origin: live.url.replace(/:\d+$/, ":1") })).toBe(403);
  });
});

describe("listening", () => {
  it("without authentication is for this machine only", async () => {
    const home = temporaryHome();
    await expect(startLive(home, { auth: "off", host: "0.0.0.0" })).rejects.toMatchObject({ code: "authOffExposed" });
    const open = await startLive(home, { auth: "off" });
    expect((await fetch(`${open.url}/v1/status`)).status).toBe(200);
    await open.close();
    removeHome(home);
  });

  it("on a port that is taken is refused with what to do, and leaves the directory free", async () => {
    const home = temporaryHome();
    const port = Number(new URL(live.url).port);
    await expect(startLive(home, { port })).rejects.toMatchObject({ code: "portInUse" });
    const second = await startLive(home);
    await second.close();
    removeHome(home);
  });

  it("on a directory that another control plane has is refused", async () => {
    await expect(startLive(live.home)).rejects.toMatchObject({ code: "journalInUse" });
    expect(await status({ authorization: `Bearer ${live.token}` })).toBe(200);
  });
});
