import { createHash, randomBytes } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { contentDigest } from "@headroom/platform";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NodeCache } from "./cache/node-cache.ts";
import type { TransferredBytes } from "./cache/flights.ts";
import { readStore, storeConflict } from "./objects/store-declaration.ts";
import type { StoreDeclaration } from "./objects/store-declaration.ts";
import { StoreSet } from "./store-set.ts";
import { SmallS3Server } from "./testing/small-s3-server.ts";
import { findContent } from "./transfers/found-content.ts";
import { abandonLeft, upload } from "./transfers/upload.ts";

let folder = "";
let server = new SmallS3Server();
let stores: StoreSet;
let cache: NodeCache;
const opened: NodeCache[] = [];

function declared(value: object): StoreDeclaration {
  const reading = readStore({ kind: "store", ...value });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.declaration;
}

function openCache(capacity = 1 << 30, bootId = "boot"): NodeCache {
  for (const each of opened) void each.close();
  const made = new NodeCache({ dir: path.join(folder, "cache"), capacity, bootId });
  opened.push(made);
  return made;
}

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-stores-"));
  server = new SmallS3Server();
  const endpoint = await server.listen();
  const keys = { accessKey: "env:ACCESS", secretKey: "env:SECRET" };
  mkdirSync(path.join(folder, "shared"));
  const declarations = [
    declared({ name: "lake", type: "s3", bucket: "lake", endpoint, concurrency: 3, ...keys }),
    declared({ name: "narrow", type: "s3", bucket: "lake", prefix: "narrow/", endpoint, concurrency: 1, ...keys }),
    declared({ name: "nfs", type: "shared", path: path.join(folder, "shared"), cached: true }),
  ];
  stores = new StoreSet({ declarations: () => declarations, readSecret: () => "secret", partBytes: 1_000_000 });
  cache = openCache();
});

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  await stores.close();
  await server.close();
  const writable = (dir: string): void => {
    chmodSync(dir, 0o755);
    for (const entry of readdirSync(dir, { withFileTypes: true }))
      if (entry.isDirectory()) writable(path.join(dir, entry.name));
  };
  writable(folder);
  rmSync(folder, { recursive: true });
});

const signal = new AbortController().signal;

async function obtain(
  uri: string,
  options: {
    digest?: string;
    holder?: string;
    from?: NodeCache;
    signal?: AbortSignal;
    parallel?: number;
    onStaged?: () => void;
    onTransferred?: (moved: TransferredBytes) => void;
  } = {},
): Promise<string> {
  const place = stores.placeOf(uri);
  if (place === null) throw new Error(`no store for ${uri}`);
  const { store, turns } = await stores.open(place.declaration);
  const wanted = {
    store,
    turns,
    key: place.key,
    uri,
    digest: options.digest ?? null,
    parallel: options.parallel ?? 3,
    onTransferred: options.onTransferred,
  };
  return (options.from ?? cache).obtain(wanted, options.holder ?? "w1.1", {
    signal: options.signal ?? signal,
    onStaged: options.onStaged ?? (() => {}),
  });
}

const sha = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const large = randomBytes(2_500_000);

describe("downloads", () => {
  it("reads a large object in parallel ranges, once for all that want it", async () => {
    server.objects.set("models/chat", large);
    const uri = "s3://lake/models/chat";
    const paths = await Promise.all(
      Array.from({ length: 32 }, (_, at) => obtain(uri, { digest: sha(large), holder: `w${at + 1}.1` })),
    );
    expect(new Set(paths).size).toBe(1);
    expect(readFileSync(paths[0] ?? "").equals(large)).toBe(true);
    expect(server.readsOf("models/chat")).toBe(3);
    expect(server.mostAtOnce).toBeLessThanOrEqual(3);
    // The bytes are there when the store is not.
    server.faultOf = () => 503;
    expect(await obtain(uri, { digest: sha(large), holder: "w99.1" })).toBe(paths[0]);
  });

  it("goes on after cut answers and errors that pass, and reads no byte twice that arrived", async () => {
    server.objects.set("models/chat", large);
    let faults = 4;
    server.faultOf = ({ method }) => (method === "GET" && faults-- > 0 ? (faults % 2 === 0 ? 503 : "cut") : null);
    const at = await obtain("s3://lake/models/chat", { digest: sha(large) });
    expect(readFileSync(at).equals(large)).toBe(true);
  });

  it("continues the transfer of a process that ended", async () => {
    server.objects.set("narrow/chat", large);
    let served = 0;
    server.faultOf = ({ method }) => (method === "GET" && ++served > 2 ? 403 : null);
    await expect(obtain("s3://lake/narrow/chat", { digest: sha(large), parallel: 1 })).rejects.toThrow(
      "refuses the access",
    );
    server.faultOf = () => null;
    server.requests.length = 0;
    const later = openCache();
    expect(
      await contentDigest(await obtain("s3://lake/narrow/chat", { digest: sha(large), from: later })),
    ).toMatchObject({ digest: sha(large) });
    expect(server.readsOf("narrow/chat")).toBe(1);
  });

  it("reports the bytes that a store sent once, also those of a process that was killed", async () => {
    for (const isKilled of [false, true]) {
      const key = `narrow/${isKilled ? "killed" : "cut"}`;
      server.objects.set(key, large);
      let served = 0;
      server.faultOf = ({ method }) => (method === "GET" && ++served > 2 ? 403 : null);
      const moved: TransferredBytes[] = [];
      const onTransferred = (each: TransferredBytes): void => void moved.push(each);
      const uri = `s3://lake/${key}`;
      const cut = { digest: sha(large), onTransferred, from: openCache(), parallel: 1 };
      await expect(obtain(uri, cut)).rejects.toThrow("refuses");
      const [first] = moved.splice(0);
      expect(first).toMatchObject({ bytes: 2_000_000, isFailed: true, isResumed: false });
      // A process that is killed has reported nothing.
      const drafts = path.join(folder, "cache/drafts");
      if (isKilled) for (const name of readdirSync(drafts)) rmSync(path.join(drafts, name, "reported"));
      server.faultOf = () => null;
      const at = await obtain(uri, { digest: sha(large), onTransferred, from: openCache() });
      expect(moved).toMatchObject([{ bytes: isKilled ? 2_500_000 : 500_000, isFailed: false, isResumed: true }]);
      expect(readdirSync(path.dirname(at))).not.toContain("reported");
    }
  });

  it("gives no name to bytes that do not match the digest, and reads them again the next time", async () => {
    server.objects.set("models/chat", large);
    server.faultOf = ({ method }) => (method === "GET" ? "wrong" : null);
    await expect(obtain("s3://lake/models/chat", { digest: sha(large) })).rejects.toThrow(
      "has other bytes than the version",
    );
    expect((await cache.report()).items).toEqual([]);
    server.faultOf = () => null;
    expect(await contentDigest(await obtain("s3://lake/models/chat", { digest: sha(large) }))).toMatchObject({
      digest: sha(large),
    });
  });

  it("brings directories, and refuses keys that are no paths in them", async () => {
    for (const name of ["a/one", "b", "a/two"]) server.objects.set(`data/v6/${name}`, Buffer.from(name));
    server.objects.set("data/v6/empty", Buffer.alloc(0));
    server.objects.set("data/v6/a/", Buffer.alloc(0));
    const at = await obtain("s3://lake/data/v6");
    expect(readFileSync(path.join(at, "a/two"), "utf8")).toBe("a/two");
    expect(readdirSync(at)).toEqual(["a", "b", "empty"]);
    expect(statSync(at).mode & 0o222).toBe(0);
    for (const hostile of ["../../escaped", "a/../../escaped", "a//b", "./x", `${"n".repeat(300)}`]) {
      server.objects.set(`evil/${hostile}`, Buffer.from("x"));
      await expect(obtain("s3://lake/evil")).rejects.toThrow("no path in it");
      server.objects.delete(`evil/${hostile}`);
    }
    expect(existsSync(path.join(folder, "cache/escaped"))).toBe(false);
    await expect(obtain("s3://lake/none")).rejects.toThrow("s3://lake/none does not exist");
  });

  it("refuses keys that no directory can have beside each other, and lists without end", async () => {
    for (const key of ["tree/a", "tree/a/b"]) server.objects.set(key, Buffer.from("x"));
    await expect(obtain("s3://lake/tree")).rejects.toMatchObject({ code: "badObject" });
    const place = stores.placeOf("s3://lake/x");
    if (place === null) throw new Error("no store");
    const { store } = await stores.open(place.declaration);
    let pages = 0;
    async function* endless() {
      for (;;) yield ((++pages, []));
    }
    const wanted = { store: { ...store, head: async () => null, list: endless }, key: "x", uri: "s3://lake/x" };
    await expect(findContent(wanted, signal)).rejects.toThrow("a list without end");
    expect(pages).toBeLessThan(1_000_000);
  });

  it("stages from a folder, and follows no links there", async () => {
    writeFileSync(path.join(folder, "shared/text"), "text");
    expect(readFileSync(await obtain(`file://${folder}/shared/text`), "utf8")).toBe("text");
    symlinkSync("/etc/passwd", path.join(folder, "shared/link"));
    await expect(obtain(`file://${folder}/shared/link`)).rejects.toThrow("is a link or a special file");
    mkdirSync(path.join(folder, "outside"));
    writeFileSync(path.join(folder, "outside/token"), "token");
    symlinkSync(path.join(folder, "outside"), path.join(folder, "shared/way"));
    await expect(obtain(`file://${folder}/shared/way/token`)).rejects.toThrow("is behind a link");
    await expect(obtain(`file://${folder}/shared/way`)).rejects.toThrow("is a link");
    expect(stores.placeOf(`file://${folder}/shared/../cache`)).toBeNull();
  });

  it("keeps no bytes of another range than it asked for", async () => {
    server.objects.set("shifted", large);
    let count = 0;
    server.faultOf = ({ method, key }) =>
      method === "GET" && key === "shifted" && ++count === 2 ? "otherRange" : null;
    expect(readFileSync(await obtain("s3://lake/shifted")).equals(large)).toBe(true);
  });

  it("ends a transfer that everybody has left, and goes on for the others", async () => {
    server.objects.set("models/chat", large);
    const first = new AbortController();
    const left = obtain("s3://lake/models/chat", {
      digest: sha(large),
      signal: first.signal,
      onStaged: () => first.abort(new Error("stopped")),
    });
    const stays = obtain("s3://lake/models/chat", { digest: sha(large), holder: "w2.1" });
    await expect(left).rejects.toThrow("stopped");
    expect(await contentDigest(await stays)).toMatchObject({ digest: sha(large) });
  });
});

describe("the cache", () => {
  const put = (name: string): void => void server.objects.set(name, randomBytes(1000));

  it("evicts what was unused longest and is not held, and refuses what does not fit", async () => {
    const small = openCache(2_500);
    for (const name of ["a", "b", "c", "d"]) put(name);
    await obtain("s3://lake/a", { from: small, holder: "w1.1" });
    await obtain("s3://lake/b", { from: small, holder: "w2.1" });
    await expect(obtain("s3://lake/c", { from: small, holder: "w3.1" })).rejects.toThrow("no space for 1000 bytes");
    small.release("w1.1");
    await obtain("s3://lake/c", { from: small, holder: "w3.1" });
    expect((await small.report()).items.map(({ uri }) => uri)).toEqual(["s3://lake/b", "s3://lake/c"]);
    // After a restart the leases of work that goes on still hold.
    const later = openCache(2_500);
    await later.keepHolders(new Set(["w2.1"]));
    await obtain("s3://lake/d", { from: later, holder: "w4.1" });
    expect((await later.report()).items.map(({ uri }) => uri).toSorted()).toEqual(["s3://lake/b", "s3://lake/d"]);
  });

  it("checks after a restart of the machine what was not on the disk yet", async () => {
    const bytes = new Map(["kept", "lost", "unknown"].map((name) => [name, randomBytes(1000)]));
    const digestOf = (name: string): { digest?: string } =>
      name === "unknown" ? {} : { digest: sha(bytes.get(name) ?? Buffer.alloc(0)) };
    const recordOf = (at: string): string => path.join(path.dirname(at), "entry.json");
    for (const [name, data] of bytes) {
      server.objects.set(name, data);
      const at = await obtain(`s3://lake/${name}`, digestOf(name));
      // The bytes are synced soon after the work has them.
      await expect.poll(() => readFileSync(recordOf(at), "utf8")).not.toContain("unsynced");
      const record = JSON.parse(readFileSync(recordOf(at), "utf8")) as object;
      writeFileSync(recordOf(at), JSON.stringify({ ...record, unsynced: "boot" }));
      if (name !== "lost") continue;
      chmodSync(at, 0o644);
      writeFileSync(at, Buffer.alloc(1000));
    }
    server.requests.length = 0;
    for (let start = 0; start < 2; start++) {
      const from = openCache(1 << 30, "next boot");
      for (const [name, data] of bytes)
        expect(readFileSync(await obtain(`s3://lake/${name}`, { ...digestOf(name), from })).equals(data)).toBe(true);
    }
    expect([...bytes.keys()].map((name) => server.readsOf(name))).toEqual([0, 1, 1]);
  });

  it("reads again in the same boot what the disk refused", async () => {
    put("refused");
    const handle = await open("/dev/null");
    const files = Object.getPrototypeOf(handle) as typeof handle;
    await handle.close();
    const sync = vi.spyOn(files, "sync").mockRejectedValueOnce(Object.assign(new Error("EIO"), { code: "EIO" }));
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      await obtain("s3://lake/refused");
      await expect
        .poll(() => warned.mock.calls.map(([text]) => String(text)).join())
        .toContain("s3://lake/refused could not be written to the disk (EIO)");
    } finally {
      sync.mockRestore();
      warned.mockRestore();
    }
    const reads = server.readsOf("refused");
    await obtain("s3://lake/refused", { from: openCache() });
    expect(server.readsOf("refused")).toBe(2 * reads);
  });

  it("serves the surviving bytes after a restart, and not those that were changed", async () => {
    put("a");
    put("b");
    await obtain("s3://lake/a");
    const changed = await obtain("s3://lake/b");
    chmodSync(changed, 0o644);
    appendFileSync(changed, "x");
    server.requests.length = 0;
    const later = openCache();
    await obtain("s3://lake/a", { from: later });
    expect(server.readsOf("a")).toBe(0);
    expect((await contentDigest(await obtain("s3://lake/b", { from: later }))).bytes).toBe(1000);
    expect(server.readsOf("b")).toBe(1);
  });
});

describe("the folder of a cache", () => {
  it("belongs to one control plane, and its other files stay", async () => {
    server.objects.set("a", randomBytes(1000));
    mkdirSync(path.join(folder, "cache/entries/mine"), { recursive: true });
    await obtain("s3://lake/a");
    expect(existsSync(path.join(folder, "cache/entries/mine"))).toBe(true);
    const other = new NodeCache({ dir: path.join(folder, "cache"), capacity: 1 << 30, bootId: "boot" });
    await expect(obtain("s3://lake/a", { from: other })).rejects.toThrow("is used by process");
    await cache.close();
    await obtain("s3://lake/a", { from: other });
    await other.close();
  });

  it("gives bytes to nobody who knows only their digest", async () => {
    server.objects.set("narrow/secret", large);
    await obtain("s3://lake/narrow/secret", { digest: sha(large) });
    server.objects.set("mine", Buffer.from("x"));
    await expect(obtain("s3://lake/mine", { digest: sha(large) })).rejects.toThrow("has other bytes");
  });

  it("removes cut transfers before it has no space, and keeps the leases of this process", async () => {
    const small = openCache(3_000_000);
    server.objects.set("narrow/cut", large);
    let served = 0;
    server.faultOf = ({ method }) => (method === "GET" && ++served > 2 ? 403 : null);
    await expect(obtain("s3://lake/narrow/cut", { from: small, digest: sha(large) })).rejects.toThrow(
      "refuses the access",
    );
    server.faultOf = () => null;
    expect(readdirSync(path.join(folder, "cache/drafts"))).toHaveLength(1);
    const other = randomBytes(2_500_000);
    server.objects.set("other", other);
    await obtain("s3://lake/other", { from: small, digest: sha(other), holder: "w2.1" });
    expect(readdirSync(path.join(folder, "cache/drafts"))).toEqual([]);
    await small.keepHolders(new Set());
    expect((await small.report()).items).toMatchObject([{ holders: ["w2.1"] }]);
  });
});

describe("uploads", () => {
  const transfer = async (uri: string) => {
    const place = stores.placeOf(uri);
    if (place === null) throw new Error("no store");
    const { store, turns } = await stores.open(place.declaration);
    const memory = stores.uploadMemory;
    const made = { store, turns, memory, holder: {}, uri, parallel: 3, signal, onBytes: () => {} };
    return { key: place.key, transfer: made };
  };
  const notesDir = (): string => path.join(folder, "notes");

  it.each(["s3://lake", "file"])("writes files and directories to %s and brings them back", async (kind) => {
    const root = kind === "file" ? `file://${folder}/shared` : kind;
    mkdirSync(path.join(folder, "out/deep"), { recursive: true });
    writeFileSync(path.join(folder, "out/model"), large);
    writeFileSync(path.join(folder, "out/deep/config"), "{}");
    const expected = await contentDigest(path.join(folder, "out"));
    const { key, transfer: made } = await transfer(`${root}/models/v1`);
    let faults = 3;
    server.faultOf = ({ method }) => (method === "PUT" && faults-- > 0 ? 503 : null);
    await upload(made, path.join(folder, "out"), { key, expected, notesDir: notesDir() });
    expect(server.uploads.size).toBe(0);
    const at = await obtain(`${root}/models/v1`, { digest: expected.digest });
    expect(readFileSync(path.join(at, "model")).equals(large)).toBe(true);
  });

  it("refuses bytes that changed, and abandons what a killed process left", async () => {
    const file = path.join(folder, "model");
    writeFileSync(file, large);
    const expected = await contentDigest(file);
    const { key, transfer: made } = await transfer("s3://lake/models/v2");
    appendFileSync(file, "x");
    await expect(upload(made, file, { key, expected, notesDir: notesDir() })).rejects.toThrow(
      "changed while it was uploaded",
    );
    expect([server.uploads.size, readdirSync(notesDir())]).toEqual([0, []]);
    const { id } = await made.store.write("models/v3", large.length, signal);
    writeFileSync(path.join(notesDir(), "note"), JSON.stringify({ key: "models/v3", id }));
    expect(server.uploads.size).toBe(1);
    await abandonLeft(made.store, notesDir());
    expect(server.uploads.size).toBe(0);
  });
});

describe("uploads to places that are not empty", () => {
  const sent = async (uri: string, source: string) => {
    const place = stores.placeOf(uri);
    if (place === null) throw new Error("no store");
    const { store, turns } = await stores.open(place.declaration);
    const memory = stores.uploadMemory;
    const transfer = { store, turns, memory, holder: {}, uri, parallel: 3, signal, onBytes: () => {} };
    const expected = await contentDigest(source);
    return upload(transfer, source, { key: place.key, expected, notesDir: path.join(folder, "notes") });
  };

  it("take no earlier object of the same size for the one that failed", async () => {
    writeFileSync(path.join(folder, "model"), "weights");
    server.objects.set("m", Buffer.from("garbage"));
    server.faultOf = ({ method }) => (method === "PUT" ? 403 : null);
    await expect(sent("s3://lake/m", path.join(folder, "model"))).rejects.toThrow("refuses the access");
  });

  it("refuse a directory with files of an earlier upload", async () => {
    mkdirSync(path.join(folder, "out"));
    writeFileSync(path.join(folder, "out/model"), "weights");
    server.objects.set("d/left", Buffer.from("left"));
    await expect(sent("s3://lake/d", path.join(folder, "out"))).rejects.toThrow("an object of an earlier upload");
  });

  it("follow no link in a folder, neither to write nor to read", async () => {
    mkdirSync(path.join(folder, "outside"));
    writeFileSync(path.join(folder, "outside/token"), "token");
    symlinkSync(path.join(folder, "outside"), path.join(folder, "shared/artifacts"));
    writeFileSync(path.join(folder, "model"), "weights");
    const to = `file://${folder}/shared/artifacts/x/m`;
    await expect(sent(to, path.join(folder, "model"))).rejects.toThrow("is a link or no folder");
    expect(readdirSync(path.join(folder, "outside"))).toEqual(["token"]);
    symlinkSync(path.join(folder, "outside"), path.join(folder, "swapped"));
    await expect(sent("s3://lake/t", path.join(folder, "swapped/token"))).rejects.toThrow("no regular file");
    expect(server.objects.has("t")).toBe(false);
  });

  it("abandon no writing of this process", async () => {
    const file = path.join(folder, "model");
    writeFileSync(file, large);
    const asked = Promise.withResolvers<void>();
    server.faultOf = ({ method }) => {
      if (method !== "PUT") return null;
      asked.resolve();
      return null;
    };
    const sending = sent("s3://lake/m", file);
    await asked.promise;
    const place = stores.placeOf("s3://lake/m");
    if (place === null) throw new Error("no store");
    await abandonLeft((await stores.open(place.declaration)).store, path.join(folder, "notes"));
    await sending;
    expect(server.objects.get("m")?.equals(large)).toBe(true);
  });
});

it("refuses declarations with secrets, two stores of one place, and paths with ..", () => {
  const s3 = { kind: "store", name: "x", type: "s3", bucket: "lake", accessKey: "env:A", secretKey: "env:B" };
  expect(readStore({ ...s3, secretKey: "abcdef" })).toMatchObject({ ok: false });
  expect(readStore({ ...s3, endpoint: "http://key:secret@host" })).toMatchObject({ ok: false });
  expect(readStore({ kind: "store", name: "x", type: "shared", path: "/data/../etc" })).toMatchObject({ ok: false });
  expect(storeConflict([declared(s3)], declared({ ...s3, name: "y" }))).toContain("The store x has the same place");
});
