/** Search over the output of attempts, on real processes: pages, context, readers of a team, and hostile expressions. */
import type { LogChunk } from "@headroom/executors";
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient, LogMatch, LogSearchQuery } from "@headroom/protocol";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";
import { LineScanner, STREAM_START } from "./line-scanner.ts";

let live: LiveControlPlane;
const gang = { accelerators: 1, coresMilli: 0, memoryMib: 0 };

async function ended(name: string, run: string, team = "default"): Promise<string> {
  const { workloadId } = await live.client.submitWorkload({ kind: "train", name, team, run, gang });
  const isOver = async (): Promise<void> => expect((await live.client.getWorkload(workloadId)).phase).toBe("succeeded");
  await vi.waitFor(isOver, { timeout: 60_000, interval: 100 });
  return workloadId;
}

/** All matches, page by page. */
async function all(client: Pick<HeadroomClient, "searchLogs">, query: LogSearchQuery): Promise<readonly LogMatch[]> {
  const items: LogMatch[] = [];
  for (let cursor: string | undefined, pages = 0; pages < 100; pages++) {
    const page = await client.searchLogs({ ...query, cursor });
    items.push(...page.items);
    if (page.nextCursor === null) return items;
    cursor = page.nextCursor;
  }
  throw new Error("the search does not end");
}

beforeAll(async () => {
  live = await startLive(temporaryHome(), { retention: { keptMax: 2 } });
  const teams = ["lab", "other"].map((name) => ({ name, parent: null }));
  await live.client.apply({ teams });
  await ended("removed", "echo line 0 of removed");
  await ended("counts", "for i in $(seq 1 30); do echo \"line $i of counts\"; done; echo 'Loss: NaN' >&2", "lab");
  await ended("secret", `echo 'line 7 of secret'; printf 'a%.0s' $(seq 1 60); echo '!'; printf 'no end'`, "other");
}, 120_000);
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

describe("log search", () => {
  it("finds each line once, newest attempts first, however small the pages are", async () => {
    const whole = await all(live.client, { text: "line " });
    expect(whole.map(({ text }) => text)).toEqual([
      "line 7 of secret",
      ...Array.from({ length: 30 }, (_, index) => `line ${index + 1} of counts`),
    ]);
    for (const limit of [1, 7]) expect(await all(live.client, { text: "line ", limit })).toEqual(whole);
    expect(whole[1]).toMatchObject({ name: "counts", team: "lab", number: 1, worker: 0, stream: "stdout", before: [] });
    expect(await all(live.client, { text: "no end" })).toMatchObject([{ text: "no end", name: "secret" }]);
    const { attempts, notSearched, bytes } = await live.client.searchLogs({ text: "nowhere" });
    expect(attempts).toEqual({ total: 2, done: 2 });
    expect(notSearched).toMatchObject([{ name: "removed", reason: "its output was removed" }]);
    expect(bytes).toBeGreaterThan(500);
  });

  it("takes expressions, letters of both cases, filters and lines around a match", async () => {
    const found = await all(live.client, { text: "loss: +nan", regex: true, ignoreCase: true });
    expect(found).toMatchObject([{ text: "Loss: NaN", stream: "stderr" }]);
    const query = { text: "line (2|4) of", regex: true, context: 2, team: "lab" };
    const around = await all(live.client, { ...query, limit: 1 });
    expect(around.map(({ before, after }) => [before, after])).toEqual([
      [["line 1 of counts"], ["line 3 of counts", "line 4 of counts"]],
      // A page that begins in mid-stream knows nothing of the lines before.
      [["line 3 of counts"], ["line 5 of counts", "line 6 of counts"]],
    ]);
    expect(await all(live.client, { text: "line 7 of", sinceMs: Date.now() + 60_000 })).toEqual([]);
    await expect(live.client.searchLogs({ text: "(", regex: true })).rejects.toMatchObject({ code: "invalidRequest" });
    await expect(live.client.searchLogs({ text: "a", team: "none" })).rejects.toMatchObject({ code: "unknownTeam" });
    await expect(live.client.searchLogs({ text: "a", cursor: "abc" })).rejects.toMatchObject({ code: "invalidCursor" });
  });

  it("ends an expression that a line makes endless, while the control plane answers others", async () => {
    const others = Array.from({ length: 3 }, () => all(live.client, { text: "line 7 of" }));
    expect((await Promise.all(others)).map(({ length }) => length)).toEqual([2, 2, 2]);
    const endless = live.client.searchLogs({ text: "(a+)+$", regex: true }).catch((error: unknown) => error);
    expect((await live.client.status()).version).toBeTypeOf("string");
    expect(await endless).toMatchObject({ code: "tookTooLong" });
    expect(await all(live.client, { text: "line 7 of", regex: true })).toHaveLength(2);
  });

  it("shows the reader of a team nothing of others", async () => {
    const { secret } = await live.client.createToken({ name: "reader", user: "alice", team: "lab", role: "viewer" });
    const reader = createHttpClient({
      baseUrl: live.url,
      token: secret,
      fetch: (target, request) => fetch(target, request as RequestInit),
    });
    const hidden = (await all(live.client, { text: "secret" })).map(({ workloadId }) => workloadId);
    expect(hidden).toHaveLength(1);
    expect((await all(reader, { text: "line 7 of" })).map(({ name }) => name)).toEqual(["counts"]);
    expect((await reader.searchLogs({ text: "a" })).attempts.total).toBe(1);
    await expect(reader.searchLogs({ text: "a", workload: hidden[0] })).rejects.toMatchObject({
      code: "unknownWorkload",
    });
    await expect(reader.searchLogs({ text: "a", team: "other" })).rejects.toMatchObject({ code: "unknownTeam" });
  });
});

describe("lines", () => {
  it("keep their position over pieces, and continue after every line", () => {
    const texts = ["first\nsec", "ond\nthird\n", "\nlast"];
    let byte = 0;
    const chunks = texts.map((text): LogChunk => {
      const fromByte = byte;
      byte += text.length;
      return { worker: 0, stream: "stdout", fromByte, toByte: byte, atMs: null, text };
    });
    const scan = (at: typeof STREAM_START) => {
      const scanner = new LineScanner(at);
      const pieces = chunks.filter(({ fromByte }) => fromByte >= at.byte);
      return [...pieces.flatMap((chunk) => scanner.push(chunk)), ...scanner.end()];
    };
    const lines = scan(STREAM_START);
    expect(lines.map(({ text }) => text)).toEqual(["first", "second", "third", "", "last"]);
    for (const [index, { next }] of lines.entries())
      expect(scan(next).map(({ text }) => text)).toEqual(lines.slice(index + 1).map(({ text }) => text));
  });
});
