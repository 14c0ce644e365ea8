/** A job of the control plane's user exchanges names in the directory that the cache shares with it. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { ByteRange, ObjectStore, StoredObject } from "../objects/object-store.ts";
import { FairTurns } from "../transfers/fair-turns.ts";
import { NodeCache } from "./node-cache.ts";

let root = "";
let cache: NodeCache;
const at = (...names: string[]): string => path.join(root, "shared", "cache", "inputs", ...names);
const outside = (): readonly string[] => readdirSync(path.join(root, "private"), { recursive: true }) as string[];

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-names-"));
  for (const name of ["shared", "private"]) mkdirSync(path.join(root, name));
  cache = new NodeCache({ dir: at(), trusted: path.join(root, "shared"), bootId: "boot" });
});
afterEach(async () => {
  await cache.close();
  rmSync(root, { recursive: true });
});

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

/** Moves a directory of the draft away, and puts a link to the private directory in its place. */
function exchange(...names: string[]): void {
  const [key = ""] = readdirSync(at("drafts"));
  renameSync(at("drafts", key, ...names), path.join(root, "aside"));
  symlinkSync(path.join(root, "private"), at("drafts", key, ...names));
}

it.each([[["content"]], [["content", "b"]], [[]]])(
  "writes nothing through a link at %j of its draft",
  async (names) => {
    const isNew = names.length === 2;
    const obtained = obtain(() => {
      if (isNew) symlinkSync(path.join(root, "private"), at("drafts", readdirSync(at("drafts"))[0] ?? "", ...names));
      else exchange(...names);
    });
    await expect(obtained).rejects.toMatchObject({ code: "ENOTDIR" });
    expect(outside()).toEqual([]);
    // The next transfer begins with a draft of its own.
    if (names.length > 0) return;
    const content = await obtain(() => {});
    expect(readFileSync(path.join(content, "b", "two"), "utf8")).toBe("new");
    expect(outside()).toEqual([]);
  },
);

it("removes an entry without what a link in it leads to", async () => {
  writeFileSync(path.join(root, "private", "token"), "secret", { mode: 0o400 });
  const content = await obtain(() => {});
  rmSync(path.join(content, "b"), { recursive: true });
  symlinkSync(path.join(root, "private"), path.join(content, "b"));
  expect(await obtain(() => {})).toBe(content);
  expect(readFileSync(path.join(content, "b", "two"), "utf8")).toBe("new");
  expect(outside()).toEqual(["token"]);
});

it("makes its folders again when they were removed", async () => {
  await obtain(() => {});
  rmSync(path.join(root, "shared", "cache"), { recursive: true });
  const content = await obtain(() => {});
  expect(readFileSync(path.join(content, "b", "two"), "utf8")).toBe("new");
});

it("uses no folder that is a link", async () => {
  symlinkSync(path.join(root, "private"), path.join(root, "shared", "cache"));
  await expect(obtain(() => {})).rejects.toMatchObject({ code: "unusableDirectory" });
  expect(outside()).toEqual([]);
});

it("overwrites no file through the link of a lease", async () => {
  await cache.report();
  writeFileSync(path.join(root, "private", "token"), "secret");
  symlinkSync(path.join(root, "private", "token"), at("leases", "holder"));
  await expect(obtain(() => {})).rejects.toThrow(/ELOOP/);
  expect(readFileSync(path.join(root, "private", "token"), "utf8")).toBe("secret");
});
