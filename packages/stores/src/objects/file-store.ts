/** A folder as a store, such as a shared file system. Keys are paths in it; links are not followed. */
import { constants } from "node:fs";
import { lstat, mkdir, open, opendir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { OperationalError, syncPath } from "@headroom/platform";
import { changedObject, missingObject, unreachableStore } from "./object-store.ts";
import type { ByteRange, ObjectStore, ObjectWriting, StoredObject } from "./object-store.ts";
import type { PlaceDeclaration } from "./store-declaration.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
const PIECE_BYTES = 1024 * 1024;
const PAGE = 1_000;
const DEPTH_MAX = 64;
/** Beside the objects, so that a finished draft gets its name in one step. */
const DRAFTS = ".headroom-drafts";

type FolderDeclaration = Pick<PlaceDeclaration & { readonly type: "shared" }, "name" | "path">;

export class FileStore implements ObjectStore {
  readonly #store: FolderDeclaration;
  readonly partBytes: number;

  constructor(store: FolderDeclaration, partBytes: number) {
    this.partBytes = partBytes;
    this.#store = store;
  }

  async head(key: string): Promise<StoredObject | null> {
    const stat = await this.#stat(key);
    if (stat === null || stat.isDirectory()) return null;
    if (!stat.isFile()) throw this.#refusal(key, "is a link or a special file");
    return { key, bytes: Number(stat.size), tag: tagOf(stat) };
  }

  async *list(prefix: string): AsyncGenerator<readonly StoredObject[]> {
    const folder = prefix.endsWith("/") ? prefix.slice(0, -1) : path.posix.dirname(prefix);
    let page: StoredObject[] = [];
    for await (const object of this.#walk(folder === "." ? "" : folder, 0)) {
      if (!object.key.startsWith(prefix)) continue;
      page.push(object);
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
    yield page;
  }

  async *#walk(folder: string, depth: number): AsyncGenerator<StoredObject> {
    if (depth > DEPTH_MAX) throw this.#refusal(folder, `has more than ${DEPTH_MAX} levels`);
    const stat = await this.#stat(folder);
    if (stat === null || !stat.isDirectory()) return;
    for await (const entry of await opendir(this.#pathOf(folder))) {
      if (folder === "" && entry.name === DRAFTS) continue;
      const key = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) yield* this.#walk(key, depth + 1);
      else {
        const object = await this.head(key);
        if (object !== null) yield object;
      }
    }
  }

  async *read(object: StoredObject, { from, to }: ByteRange, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const file = await open(this.#pathOf(object.key), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
      throw this.#problem(error, object.key);
    });
    try {
      const uri = `file://${this.#pathOf(object.key)}`;
      if (tagOf(await file.stat({ bigint: true })) !== object.tag) throw changedObject(uri);
      for (let at = from; at < to;) {
        signal.throwIfAborted();
        const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, to - at));
        const { bytesRead } = await file.read(piece, 0, piece.length, at);
        if (bytesRead === 0) throw changedObject(uri);
        at += bytesRead;
        yield piece.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  async write(key: string): Promise<ObjectWriting> {
    const target = this.#pathOf(key);
    const id = `${process.pid}-${Date.now().toString(36)}-${Math.trunc(performance.now() * 1_000)}`;
    const draft = path.join(this.#store.path, DRAFTS, id);
    await mkdir(path.dirname(draft), { recursive: true });
    const file = await open(draft, "wx", 0o644).catch((error: unknown) => {
      throw this.#problem(error, key);
    });
    const abort = async (): Promise<void> => {
      await file.close().catch(() => {});
      await rm(draft, { force: true });
    };
    return {
      id,
      partBytes: this.partBytes,
      part: async (number, data) => {
        await file.write(data, 0, data.length, number * this.partBytes);
      },
      complete: async () => {
        await file.sync();
        await file.close();
        await mkdir(path.dirname(target), { recursive: true });
        await rename(draft, target);
        syncPath(path.dirname(target));
      },
      abort,
    };
  }

  async abandon(_: string, writing: string): Promise<void> {
    if (/^[0-9a-z-]+$/.test(writing)) await rm(path.join(this.#store.path, DRAFTS, writing), { force: true });
  }

  close(): void {}

  async #stat(key: string) {
    try {
      return await lstat(this.#pathOf(key), { bigint: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ENOTDIR") return null;
      throw this.#problem(error, key);
    }
  }

  #pathOf(key: string): string {
    const at = path.join(this.#store.path, key);
    if (key.split("/").includes("..") || key.includes("\0")) throw this.#refusal(key, "leaves the store");
    return at;
  }

  #problem(error: unknown, key: string): OperationalError {
    const { code = "error" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return missingObject(`file://${path.join(this.#store.path, key)}`);
    if (code === "ELOOP") return this.#refusal(key, "is a link");
    return unreachableStore(this.#store.name, code, error);
  }

  #refusal(key: string, problem: string): OperationalError {
    return new OperationalError("badObject", `${JSON.stringify(key)} in the store ${this.#store.name} ${problem}.`);
  }
}

const tagOf = ({
  size,
  mtimeNs,
  ino,
}: {
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ino: bigint;
}): string => `${size}-${mtimeNs}-${ino}`;
