/** Stores that send slowly. The clock of requests is that of the test. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { HeldDirectory } from "@headroom/platform";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ByteRange, ObjectStore, StoredObject } from "../objects/object-store.ts";
import { CONTENT, download } from "./download.ts";
import { FairTurns } from "./fair-turns.ts";

let dir = "";
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout"], shouldAdvanceTime: true, advanceTimeDelta: 2_000 });
  dir = mkdtempSync(path.join(tmpdir(), "headroom-slow-"));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(dir, { recursive: true });
});

const object: StoredObject = { key: "x", bytes: 1_000_000, tag: "1" };
const content = { files: [{ object, name: "" }], bytes: object.bytes };

/** Sends `pieceBytes` every ten seconds, and counts requests. */
class SlowStore {
  readonly partBytes = 1_000_000;
  requests = 0;
  readonly started = Promise.withResolvers<void>();
  readonly #pieceBytes: number;

  constructor(pieceBytes: number) {
    this.#pieceBytes = pieceBytes;
  }

  async *copy(_: StoredObject, { from, to }: ByteRange, file: FileHandle): AsyncGenerator<number> {
    this.requests += 1;
    this.started.resolve();
    for (let at = from; at < to; at += this.#pieceBytes) {
      vi.advanceTimersByTime(10_000);
      await Promise.resolve();
      yield (await file.write(Buffer.alloc(Math.min(this.#pieceBytes, to - at), 1), 0, null, at)).bytesWritten;
    }
  }
}

const transfer = (store: SlowStore, turns: FairTurns) => ({
  store: store as unknown as ObjectStore,
  turns,
  holder: {},
  uri: "s3://slow/x",
  parallel: 1,
  signal: AbortSignal.timeout(60_000),
  onBytes: () => {},
});

it("counts a request that drips as cut, and ends after a few tries", async () => {
  const store = new SlowStore(10);
  const target = { dir: await HeldDirectory.open(dir), bootId: "boot" };
  await expect(download(transfer(store, new FairTurns(1)), content, target)).rejects.toMatchObject({
    code: "storeSlow",
    retryable: true,
  });
  expect(store.requests).toBe(6);
});

it("passes the turn on to a transfer that waits, and reads on afterwards", async () => {
  const store = new SlowStore(100_000);
  const turns = new FairTurns(1);
  const order: string[] = [];
  const held = await HeldDirectory.make(dir, ["first"]);
  const first = download(transfer(store, turns), content, { dir: held, bootId: "boot" });
  await store.started.promise;
  const other = turns.take({}, new AbortController().signal).then((giveBack) => {
    order.push("other");
    giveBack();
  });
  await first;
  order.push("first");
  await other;
  expect(order).toEqual(["other", "first"]);
  expect(store.requests).toBe(2);
  expect(readFileSync(path.join(dir, "first", CONTENT)).every((byte) => byte === 1)).toBe(true);
});
