/** A job of the control plane's user exchanges names in the directory that the cache shares with it. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { HeldDirectory } from "@headroom/platform";
import { HostileFolder } from "../../../../tools/testing/hostile-folder.ts";
import type { ByteRange, ObjectStore, StoredObject } from "../objects/object-store.ts";
import { FairTurns } from "../transfers/fair-turns.ts";
import { Flights } from "./flights.ts";
import { NodeCache } from "./node-cache.ts";

const folder = HostileFolder.forEachTest();
let cache: NodeCache;
const at = (...names: string[]): string => folder.shared("cache", "inputs", ...names);
const open = (): NodeCache => new NodeCache({ dir: at(), trusted: folder.shared(), bootId: "boot" });

beforeEach(() => {
  cache = open();
});
afterEach(() => cache.close());

/** A directory of two files in directories. `meanwhile` runs while the first one arrives. */
function directory(meanwhile: () => void): ObjectStore {
  const objects = ["a/one", "b/two"].map((name) => ({ key: `x/${name}`, bytes: 3, tag: name }));
  let count = 0;
  return {
    partBytes: 1_000,
    head: () => Promise.resolve(null),
    async *list() {
      yield await Promise.resolve(objects);
    },
    async *copy(_: StoredObject, { from }: ByteRange, file: FileHandle) {
      if (++count === 1) meanwhile();
      yield (await file.write("new", from)).bytesWritten;
    },
    close: () => {},
  } as unknown as ObjectStore;
}

function obtain(meanwhile: () => void): Promise<string> {
  const wanted = { store: directory(meanwhile), key: "x", uri: "s3://s/x", digest: null, turns: new FairTurns(1) };
  const signal = AbortSignal.timeout(30_000);
  return cache.obtain({ ...wanted, parallel: 1 }, "holder", { signal, onStaged: () => {} });
}

function exchange(...names: string[]): void {
  const [key = ""] = readdirSync(at("drafts"));
  folder.exchange(at("drafts", key, ...names));
}

it.each([[["content"]], [["content", "b"]], [[]]])(
  "writes nothing through a link at %j of its draft",
  async (names) => {
    const isNew = names.length === 2;
    const obtained = obtain(() => {
      if (isNew) symlinkSync(folder.private(), at("drafts", readdirSync(at("drafts"))[0] ?? "", ...names));
      else exchange(...names);
    });
    await expect(obtained).rejects.toMatchObject({ code: "ENOTDIR" });
    expect(folder.leaked()).toEqual([]);
    // The next transfer begins with a draft of its own.
    if (names.length > 0) return;
    const content = await obtain(() => {});
    expect(readFileSync(path.join(content, "b", "two"), "utf8")).toBe("new");
    expect(folder.leaked()).toEqual([]);
  },
);

it("removes an entry without what a link in it leads to", async () => {
  writeFileSync(folder.private("token"), "secret", { mode: 0o400 });
  const content = await obtain(() => {});
  rmSync(path.join(content, "b"), { recursive: true });
  symlinkSync(folder.private(), path.join(content, "b"));
  expect(await obtain(() => {})).toBe(content);
  expect(readFileSync(path.join(content, "b", "two"), "utf8")).toBe("new");
  expect(folder.leaked()).toEqual(["token"]);
});

it("makes its folders again when they were removed", async () => {
  await obtain(() => {});
  rmSync(folder.shared("cache"), { recursive: true });
  const content = await obtain(() => {});
  expect(readFileSync(path.join(content, "b", "two"), "utf8")).toBe("new");
});

it("uses no folder that is a link", async () => {
  symlinkSync(folder.private(), folder.shared("cache"));
  await expect(obtain(() => {})).rejects.toMatchObject({ code: "unusableDirectory" });
  expect(folder.leaked()).toEqual([]);
});

it("overwrites no file through the link of a lease", async () => {
  await cache.report();
  writeFileSync(folder.private("token"), "secret");
  symlinkSync(folder.private("token"), at("leases", "holder"));
  await expect(obtain(() => {})).rejects.toThrow(/ELOOP/);
  expect(readFileSync(folder.private("token"), "utf8")).toBe("secret");
});

it("uses the folders that took the places of its own, and those of its holders stay known", async () => {
  await obtain(() => {});
  renameSync(folder.shared("cache"), folder.at("moved"));
  const content = await obtain(() => {});
  expect(readFileSync(path.join(content, "b", "two"), "utf8")).toBe("new");
  expect(readdirSync(at("leases"))).toEqual(["holder"]);
  await cache.close();
  cache = open();
  expect((await cache.report()).items).toMatchObject([{ holders: ["holder"] }]);
});

it("opens with links, folders, pipes and large files in the places of leases, which it removes", async () => {
  mkdirSync(at("leases", "folder"), { recursive: true });
  writeFileSync(folder.private("token"), "secret");
  symlinkSync(folder.private("token"), at("leases", "link"));
  symlinkSync(folder.private(), at("leases", "links"));
  execFileSync("mkfifo", [at("leases", "pipe")]);
  const pipe = openSync(at("leases", "pipe"), constants.O_RDWR);
  for (const bytes of [2 ** 20 + 1, 2 ** 30, 2 ** 32]) {
    writeFileSync(at("leases", `large-${bytes}`), "");
    truncateSync(at("leases", `large-${bytes}`), bytes);
  }
  // More lines than an array can have elements.
  writeFileSync(at("leases", "lines"), Buffer.alloc(140_000_000, "\n"));
  try {
    await obtain(() => {});
  } finally {
    closeSync(pipe);
  }
  expect(readdirSync(at("leases"))).toEqual(["holder"]);
  expect(folder.leaked()).toEqual(["token"]);
});

it("reads an entry again whose record is larger than records are", async () => {
  const content = await obtain(() => {});
  await cache.close();
  const record = at("entries", readdirSync(at("entries"))[0] ?? "", "entry.json");
  truncateSync(record, 2 ** 30);
  cache = open();
  expect((await cache.report()).items).toEqual([]);
  expect(await obtain(() => {})).toBe(content);
});

/** From now on the file system does not give files of this name. */
function makeUnreadable(file: string): { readonly mockRestore: () => void } {
  const { read } = HeldDirectory.prototype;
  return vi.spyOn(HeldDirectory.prototype, "read").mockImplementation(async function (
    this: HeldDirectory,
    name,
    bytesMax,
  ) {
    if (name !== file) return await read.call(this, name, bytesMax);
    throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
  });
}

it("keeps leases that the file system does not give, and reads them at the next request", async () => {
  await obtain(() => {});
  await cache.close();
  cache = open();
  const unreadable = makeUnreadable("holder");
  await expect(cache.report()).rejects.toMatchObject({ code: "EMFILE" });
  unreadable.mockRestore();
  expect((await cache.report()).items).toMatchObject([{ holders: ["holder"] }]);
});

it("keeps an entry whose record the file system does not give, and reads it at the next opening", async () => {
  await obtain(() => {});
  await cache.close();
  cache = open();
  const unreadable = makeUnreadable("entry.json");
  expect((await cache.report()).items).toEqual([]);
  unreadable.mockRestore();
  await cache.close();
  cache = open();
  expect((await cache.report()).items).toMatchObject([{ holders: ["holder"] }]);
});

it("forgets a transfer that could not begin", async () => {
  const flights = new Flights();
  const passenger = { signal: AbortSignal.timeout(30_000), onStaged: () => {}, onTransferred: undefined };
  const refused = flights.join("key", passenger, () => Promise.reject(new Error("closed")));
  await expect(refused).rejects.toThrow("closed");
  expect(flights.size).toBe(0);
  expect(await flights.join("key", passenger, () => Promise.resolve("/content"))).toBe("/content");
});
