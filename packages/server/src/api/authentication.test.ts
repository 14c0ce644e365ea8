import { operationNames, operations } from "@headroom/protocol";
import type { Operation, OperationName } from "@headroom/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchange, removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
  await live.client.submitWorkload({ kind: "train", name: "seed", run: "true", gang: { accelerators: 99 } });
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

/** Bodies that are valid for authenticated requests, so that a bypass of the authentication would record an event. */
const bodies: Readonly<Partial<Record<OperationName, object>>> = {
  submitWorkload: { kind: "train", name: "bypass", run: "true", gang: { accelerators: 99 } },
  apply: { teams: [{ name: "bypass" }] },
  setPolicy: { preset: "fifo" },
  drainNode: { running: "wait" },
  noticeNode: { inMs: 60_000 },
};

const percentEncoded = (text: string): string =>
  text.replace(/[^/]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`);

/** Targets that the router maps to the same route as `path`. */
const sameRoute: Readonly<Record<string, (path: string) => string>> = {
  "as it is": (path) => path,
  "with an encoded first letter": (path) => path.replace("/v1", "/%761"),
  "with an encoded digit": (path) => path.replace("/v1", "/v%31"),
  "with every letter encoded": percentEncoded,
  "with every letter encoded in capitals": (path) => percentEncoded(path).toUpperCase(),
  "in absolute form": (path) => live.url + path,
  "in absolute form, encoded": (path) => live.url + percentEncoded(path),
};

/** Targets that some URL parsers treat like `path`. They must not run an operation either. */
const otherRoute: Readonly<Record<string, (path: string) => string>> = {
  "in capitals": (path) => path.toUpperCase(),
  "with a capital": (path) => path.replace("/v1", "/V1"),
  "with an encoded capital": (path) => path.replace("/v1", "/%561"),
  "encoded twice": (path) => path.replace("/v1", "/%25761"),
  "with two slashes": (path) => `/${path}`,
  "with an encoded slash": (path) => path.replace("/v1/", "/v1%2F"),
  "behind a dot": (path) => `/.${path}`,
  "behind a parent": (path) => `/login/..${path}`,
  "behind an encoded parent": (path) => `/login/%2e%2e${path}`,
  "with a backslash": (path) => path.replace("/v1/", "/v1\\"),
  "in absolute form of capitals": (path) => live.url.toUpperCase() + path,
  "of another host in absolute form": (path) => `http://evil.example${path}`,
  "of another scheme": (path) => live.url.replace("http:", "ftp:") + path,
  "with an open address as its query": (path) => `${path}?/healthz`,
  "with an open address as its fragment": (path) => `${path}#/healthz`,
};

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function send(name: OperationName, target: string, headers = ""): Promise<Answer> {
  const operation: Operation = operations[name];
  const body = operation.body === null ? "" : JSON.stringify(bodies[name] ?? {});
  const content = operation.body === null ? "" : "content-type: application/json\r\n";
  const head = `${operation.method} ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}${content}content-length: ${body.length}\r\nconnection: close\r\n\r\n`;
  const text = await exchange(live.url, head + body, (so) => so.includes("\r\n\r\n") && operation.stream);
  return { status: Number(text.slice(9, 12)), text };
}

const pathOf = (name: OperationName): string => operations[name].path.replace(/\{\w+\}/g, "w1");

describe("every operation", () => {
  it.each(Object.entries(sameRoute))("needs authentication %s", async (_what, form) => {
    const { sequence } = live.driver.status();
    const statuses = await Promise.all(
      operationNames.map(async (name) => `${name} ${(await send(name, form(pathOf(name)))).status}`),
    );
    expect(statuses).toEqual(operationNames.map((name) => `${name} 401`));
    expect(live.driver.status().sequence).toBe(sequence);
  });

  it.each(Object.entries(otherRoute))("does not run without authentication %s", async (_what, form) => {
    const { sequence } = live.driver.status();
    const answers = await Promise.all(
      operationNames.map(async (name) => ({ name, ...(await send(name, form(pathOf(name)))) })),
    );
    // A GET of any other address is answered with the console's page.
    const run = answers.filter(({ status, text }) => status < 400 && !text.includes("content-type: text/html"));
    expect(run.map(({ name, status }) => `${name} ${status}`)).toEqual([]);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    expect(live.driver.status().sequence).toBe(sequence);
  });

  it("is the same with the token in every form that reaches it", async () => {
    const bearer = `authorization: Bearer ${live.token}\r\n`;
    for (const form of Object.values(sameRoute)) {
      expect((await send("getWorkload", form("/v1/workloads/w1"), bearer)).status).toBe(200);
      expect((await send("status", form("/v1/status"), bearer)).status).toBe(200);
    }
    const other = (path: string): string => `http://evil.example${path}`;
    expect((await send("status", other("/v1/status"), bearer)).status).toBe(403);
  });
});

describe("an address that no route matches", () => {
  it.each([
    "GET /v1",
    "GET /v1/",
    "GET /v1/nothing",
    "GET /%761/nothing",
    "POST /nothing",
    "POST /",
    "PATCH /v1/fleet",
  ])("is answered by asking for authentication: %s", async (line) => {
    const answer = await exchange(live.url, `${line} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe("a command without an actor", () => {
  it("is refused by the driver, whatever let it through", async () => {
    const { sequence } = live.driver.status();
    const command = live.driver.command({ kind: "setPolicy", policy: {} as never, actor: "", idempotencyKey: null });
    await expect(command).rejects.toThrow("has no actor");
    expect(live.driver.status().sequence).toBe(sequence);
  });
});
