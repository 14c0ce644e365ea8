/**
 * A folder as a store, such as a shared file system. Keys are paths in it. Work may write to the folder, so no link below it
 * is followed, also none that is put there meanwhile: a link could lead to files that only the control plane may read.
 */
import { constants } from "node:fs";
import { lstat, mkdir, open, opendir, realpath, rename, rm } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { OperationalError } from "@headroom/platform";
import { isAt } from "./open-files.ts";
import { changedObject, missingObject, unreachableStore } from "./object-store.ts";
import type { ByteRange, ObjectStore, ObjectWriting, StoredObject } from "./object-store.ts";
import { overlaps } from "./state-directory.ts";
import type { PlaceDeclaration } from "./store-declaration.ts";
import { writtenPieces } from "./written-pieces.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
const PIECE_BYTES = 1024 * 1024;
const PAGE = 1_000;
const DEPTH_MAX = 64;
/** Beside the objects, so that a finished draft gets its name in one step. */
const DRAFTS = ".headroom-drafts";

type FolderDeclaration = Pick<PlaceDeclaration & { readonly type: "shared" }, "name" | "path">;

export class FileStore implements ObjectStore {
  readonly #store: FolderDeclaration;
  readonly #stateDir: string | undefined;
  readonly partBytes: number;

  constructor(store: FolderDeclaration, partBytes: number, stateDir?: string) {
    this.partBytes = partBytes;
    this.#stateDir = stateDir;
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

  copy(object: StoredObject, range: ByteRange, target: FileHandle, signal: AbortSignal): AsyncIterable<number> {
    const uri = `file://${this.#pathOf(object.key)}`;
    return writtenPieces(this.#read(object, range, signal), { uri, ...range }, target);
  }

  async *#read(
    object: StoredObject,
    { from, to }: ByteRange,
    signal: AbortSignal,
  ): AsyncGenerator<readonly Uint8Array[]> {
    const file = await open(this.#pathOf(object.key), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
      throw this.#problem(error, object.key);
    });
    try {
      const uri = `file://${this.#pathOf(object.key)}`;
      if (tagOf(await file.stat({ bigint: true })) !== object.tag) throw changedObject(uri);
      if (!(await isAt(file, path.join(await this.#root(), object.key))))
        throw this.#refusal(object.key, "is behind a link");
      for (let at = from; at < to;) {
        signal.throwIfAborted();
        const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, to - at));
        const { bytesRead } = await file.read(piece, 0, piece.length, at);
        if (bytesRead === 0) throw changedObject(uri);
        at += bytesRead;
        yield [piece.subarray(0, bytesRead)];
      }
    } finally {
      await file.close();
    }
  }

  async write(key: string): Promise<ObjectWriting> {
    const target = path.relative(this.#store.path, this.#pathOf(key));
    const id = `${process.pid}-${Date.now().toString(36)}-${Math.trunc(performance.now() * 1_000)}`;
    const known = async <Result>(done: Promise<Result>): Promise<Result> =>
      done.catch((error: unknown) => {
        throw error instanceof OperationalError ? error : this.#problem(error, key);
      });
    const file = await known(this.#inFolder([DRAFTS], (drafts) => open(path.join(drafts, id), "wx", 0o644)));
    const finish = async (): Promise<void> => {
      await file.sync();
      await this.#inFolder(segmentsOf(path.dirname(target)), async (folder, handle) => {
        await this.#inFolder([DRAFTS], (drafts) =>
          rename(path.join(drafts, id), path.join(folder, path.basename(target))),
        );
        await handle.sync();
      });
      await file.close();
    };
    return {
      id,
      partBytes: this.partBytes,
      part: (number, data) => known(writeWhole(file, data, number * this.partBytes)),
      complete: () => known(finish()),
      abort: async () => {
        await file.close().catch(() => {});
        await this.abandon(key, id);
      },
    };
  }

  async remove(key: string): Promise<void> {
    const target = path.relative(this.#store.path, this.#pathOf(key));
    if ((await this.#stat(key)) === null) return;
    await this.#inFolder(segmentsOf(path.dirname(target)), async (folder, handle) => {
      await rm(path.join(folder, path.basename(target)), { force: true });
      await handle.sync();
    }).catch((error: unknown) => {
      throw error instanceof OperationalError ? error : this.#problem(error, key);
    });
  }

  async abandon(_: string, writing: string): Promise<void> {
    if (!/^[0-9a-z-]+$/.test(writing)) return;
    await this.#inFolder([DRAFTS], (drafts) => rm(path.join(drafts, writing), { force: true }));
  }

  close(): void {}

  /** Checked with each use: a link above the folder can lead elsewhere by now. */
  async #root(): Promise<string> {
    const root = await realpath(this.#store.path).catch((error: unknown) => {
      throw this.#problem(error, "");
    });
    if (this.#stateDir === undefined || !overlaps(root, this.#stateDir)) return root;
    throw new OperationalError(
      "badStore",
      `The folder of the store ${this.#store.name} contains the state directory of the control plane, or lies in it. Declare another folder.`,
    );
  }

  /** Creates the folder as needed. The path that `use` gets leads to it whatever happens to the names above. */
  async #inFolder<Result>(
    segments: readonly string[],
    use: (folder: string, handle: FileHandle) => Promise<Result>,
  ): Promise<Result> {
    let handle = await open(await this.#root(), O_RDONLY | O_DIRECTORY);
    try {
      for (const segment of segments) {
        const child = path.join(held(handle), segment);
        await mkdir(child).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "EEXIST") throw error;
        });
        const next = await open(child, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "ENOTDIR" && error.code !== "ELOOP") throw error;
          throw this.#refusal(segments.join("/"), "is a link or no folder");
        });
        await handle.close();
        handle = next;
      }
      return await use(held(handle), handle);
    } finally {
      await handle.close();
    }
  }

  async #stat(key: string) {
    const at = this.#pathOf(key);
    try {
      if (key !== "") {
        const folder = await realpath(path.dirname(at));
        if (folder !== path.join(await this.#root(), path.dirname(key))) throw this.#refusal(key, "is behind a link");
      }
      return await lstat(at, { bigint: true });
    } catch (error) {
      if (error instanceof OperationalError) throw error;
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

/** The folder itself, whatever its path leads to by now. */
const held = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}`;

const segmentsOf = (folder: string): readonly string[] =>
  folder.split("/").filter((each) => each !== "" && each !== ".");

async function writeWhole(file: FileHandle, data: Buffer, at: number): Promise<void> {
  for (let written = 0; written < data.length;) {
    const { bytesWritten } = await file.write(data, written, data.length - written, at + written);
    written += bytesWritten;
  }
}
