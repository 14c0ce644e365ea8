/** A job exchanges the folders of the cache while requests look whether they are still there. */
import { readFileSync, renameSync } from "node:fs";
import type { Stats } from "node:fs";
import files from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { HostileFolder } from "../../../../tools/testing/hostile-folder.ts";
import type { ByteRange, ObjectStore, StoredObject } from "../objects/object-store.ts";
import { FairTurns } from "../transfers/fair-turns.ts";
import { NodeCache } from "./node-cache.ts";

/** The next look of the cache at a path waits for it, as on a slow file system. */
let slowLook: Promise<void> | null = null;
const { stat } = files;
beforeAll(() => {
  const slow = async (at: string): Promise<Stats> => {
    const look = slowLook;
    if (at.endsWith("/entries")) {
      slowLook = null;
      await look;
    }
    return stat(at);
  };
  Object.assign(files, { stat: slow });
  syncBuiltinESMExports();
});
afterAll(() => {
  Object.assign(files, { stat });
  syncBuiltinESMExports();
});

const folder = HostileFolder.forEachTest();
let cache: NodeCache;
afterEach(() => cache.close());

function storeOf(arrives: () => Promise<void>): ObjectStore {
  return {
    partBytes: 1_000,
    head: (key: string) => Promise.resolve({ key, bytes: 3, tag: "tag" }),
    async *copy(_: StoredObject, { from }: ByteRange, file: FileHandle) {
      await arrives();
      yield (await file.write("new", from)).bytesWritten;
    },
    close: () => {},
  } as unknown as ObjectStore;
}

it("keeps the folders of a transfer that began while another request looked for them", async () => {
  cache = new NodeCache({ dir: folder.shared("cache"), bootId: "boot" });
  await cache.report();
  const look = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const arrival = Promise.withResolvers<void>();
  slowLook = look.promise;
  const reported = cache.report();
  await vi.waitFor(() => expect(slowLook).toBeNull());
  const store = storeOf(() => {
    began.resolve();
    return arrival.promise;
  });
  const wanted = { store, key: "x", uri: "s3://s/x", digest: null, turns: new FairTurns(1), parallel: 1 };
  const signal = AbortSignal.timeout(30_000);
  const obtained = cache.obtain(wanted, "holder", { signal, onStaged: () => {} });
  await began.promise;
  renameSync(folder.shared("cache", "entries"), folder.at("aside"));
  look.resolve();
  await reported;
  arrival.resolve();
  const content = await obtained;
  const moved = content.replace(folder.shared("cache", "entries"), folder.at("aside"));
  expect(readFileSync(moved, "utf8")).toBe("new");
});
