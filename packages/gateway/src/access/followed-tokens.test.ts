import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import { OFFLINE_MS_MAX, TokenFollower, type FollowedToken } from "./followed-tokens.ts";

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).toReversed()) end();
});

const token: FollowedToken = { name: "app", team: "lab", sha256: "a".repeat(64), expiresAtMs: null };

/** A control plane that answers what `answer` returns; `null`: it cuts the connection. */
async function controlPlane(answer: (target: string) => unknown): Promise<string> {
  const server = createServer((request, response) => {
    const body = answer(request.url ?? "");
    if (body === null) request.socket.destroy();
    else response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function setup(url: string, now: () => number) {
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-tokens-"));
  ends.push(() => rmSync(folder, { recursive: true }));
  writeFileSync(path.join(folder, "token"), "secret\n");
  const taken: (readonly FollowedToken[])[] = [];
  const logged: string[] = [];
  const file = path.join(folder, "access-tokens.json");
  const start = async (): Promise<TokenFollower> => {
    const follower = new TokenFollower({
      url,
      token: { file: path.join(folder, "token") },
      intervalMs: 10,
      file,
      take: (items) => taken.push(items),
      now,
      log: (line) => logged.push(line),
    });
    ends.push(() => follower.stop());
    await follower.start();
    return follower;
  };
  return { start, taken, logged, file };
}

it("takes a list once, and again when it changes", async () => {
  let version = "1";
  const asked: string[] = [];
  const url = await controlPlane((target) => {
    asked.push(target);
    if (target.endsWith(`known=${version}`)) return { version, items: null };
    return { version, items: version === "1" ? [token] : [] };
  });
  const { start, taken, file } = setup(url, () => 1000);
  await start();
  expect(taken).toEqual([[token]]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await expect.poll(() => asked.length).toBeGreaterThan(3);
  expect(taken).toHaveLength(1);
  version = "2";
  await expect.poll(() => taken).toEqual([[token], []]);
});

it("takes as many tokens as a control plane lists: 10,000 of people, and its own", async () => {
  const items = Array.from({ length: 11_000 }, (_, index) => ({ ...token, name: `app-${index}` }));
  const url = await controlPlane(() => ({ version: "1", items }));
  const { start, taken, logged } = setup(url, () => 1000);
  await start();
  expect(taken[0]).toHaveLength(items.length);
  expect(logged).toEqual([]);
});

it("keeps the last list without the control plane, over a restart, for a day", async () => {
  let isUp = true;
  let nowMs = 1_000_000;
  const url = await controlPlane(() => (isUp ? { version: "1", items: [token] } : null));
  const { start, taken, logged, file } = setup(url, () => nowMs);
  (await start()).stop();
  isUp = false;
  nowMs += OFFLINE_MS_MAX - 1;
  await start();
  expect(taken.at(-1)).toEqual([token]);
  expect(logged.join()).toContain("does not list access tokens");
  nowMs += 120_000;
  await expect.poll(() => taken.at(-1)).toEqual([]);
  expect(logged.at(-1)).toContain("has not answered for 24 hours");
  isUp = true;
  await expect.poll(() => taken.at(-1)).toEqual([token]);
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ confirmedAtMs: nowMs });
});

it("changes nothing after an answer that is no list", async () => {
  let answer: unknown = { version: "1", items: [token] };
  let asked = 0;
  const url = await controlPlane(() => {
    asked++;
    return answer;
  });
  const { start, taken, logged } = setup(url, () => 1000);
  await start();
  for (const wrong of [{}, { version: "2", items: [{ ...token, sha256: "x" }] }, [], { version: "2" }]) {
    answer = wrong;
    const before = asked;
    await expect.poll(() => asked).toBeGreaterThan(before + 1);
  }
  expect(taken).toEqual([[token]]);
  expect(logged.join()).toContain("does not list access tokens");
});
