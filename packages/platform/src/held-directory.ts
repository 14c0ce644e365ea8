/**
 * A directory that is held open, and what is in it. In a directory in which others can exchange names, a path leads elsewhere by the next
 * call; each operation here is on a name in the held directory itself, and follows no link.
 */
import {
  chmod,
  close,
  closeSync,
  constants,
  fchmod,
  futimes,
  open as openNumber,
  openSync,
  writeFileSync,
} from "node:fs";
import { mkdir, open, opendir, rmdir, unlink, writeFile } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

const { O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;
/** open(2): a descriptor of a directory that this user may not read yet. Node does not name it. */
const O_PATH = 0o10000000;
/** Through a link, another file would be overwritten, and a pipe would wait for its other end. */
const OVERWRITE = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;
/** Each level of a removal holds a descriptor. */
const DEPTH_MAX = 600;
/** Names of a removal that are held in memory, and how often more are read: others can add names meanwhile. */
const BATCH_NAMES = 10_000;
const BATCHES_MAX = 1_000;
/** Names that are looked at for each that may be taken. */
const LOOKED_FACTOR = 10;
/** Plain numbers: what is not closed at the end of a process is no error. */
const openDescriptor = promisify(openNumber);
const closeDescriptor = promisify(close);

export class HeldDirectory {
  readonly #descriptor: number;
  #isClosed = false;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** The path itself may contain links. */
  static async open(directory: string): Promise<HeldDirectory> {
    return new HeldDirectory(await openDescriptor(directory, O_RDONLY | O_DIRECTORY));
  }

  /** Opens `within` below the directory, which is made if it does not exist, and follows no link there. */
  static async make(directory: string, within: readonly string[], mode = 0o700): Promise<HeldDirectory> {
    let folder = await HeldDirectory.open(directory);
    for (const name of within) {
      try {
        const next = await folder.child(name, mode);
        await folder.close();
        folder = next;
      } catch (error) {
        await folder.close();
        throw error;
      }
    }
    return folder;
  }

  /** For calls of the file system in this process. Throws once the directory is closed: another file may have its number then. */
  get path(): string {
    return `/proc/self/fd/${this.#openDescriptor}`;
  }

  get #openDescriptor(): number {
    if (this.#isClosed) throw new Error("The held directory is closed.");
    return this.#descriptor;
  }

  at(name: string): string {
    if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0"))
      throw new Error(`${JSON.stringify(name)} is no name in a directory`);
    return `${this.path}/${name}`;
  }

  /** With a mode: it is made if it does not exist. Rejects with `ENOTDIR` or `ELOOP` if it is a link or no directory. */
  async child(name: string, mode?: number): Promise<HeldDirectory> {
    const at = this.at(name);
    if (mode !== undefined) await mkdir(at, { mode }).catch(unlessCode("EEXIST"));
    return new HeldDirectory(await openDescriptor(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  }

  /** `null`: it is a link or no directory. */
  async childOrNull(name: string): Promise<HeldDirectory | null> {
    return this.child(name).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOTDIR" || error.code === "ELOOP") return null;
      throw error;
    });
  }

  /** Rejects if it is no regular file: opening a pipe would wait for its other end. */
  async openFile(name: string, flags: number, mode = 0o600): Promise<FileHandle> {
    const file = await open(this.at(name), flags | O_NOFOLLOW | O_NONBLOCK, mode);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    throw new Error(`${name} is no regular file`);
  }

  /** Rejects with `EFBIG` if it has more bytes, and if it is no regular file. Bytes that are appended meanwhile are not read. */
  async read(name: string, bytesMax: number): Promise<string> {
    const file = await this.openFile(name, O_RDONLY);
    try {
      const { size } = await file.stat();
      if (size > bytesMax)
        throw Object.assign(new Error(`${name} has ${size} bytes, and may have ${bytesMax}`), { code: "EFBIG" });
      const data = Buffer.alloc(size);
      let at = 0;
      for (let more = 1; more > 0 && at < size; at += more) more = (await file.read(data, at, size - at, at)).bytesRead;
      return data.toString("utf8", 0, at);
    } finally {
      await file.close();
    }
  }

  async write(name: string, text: string, { flush = false } = {}): Promise<void> {
    await writeFile(this.at(name), text, { flag: OVERWRITE, mode: 0o600, flush });
  }

  /** At most `max` of the names that are wanted, among the first `LOOKED_FACTOR` times as many names. Others are left out. */
  async names(max = Infinity, isWanted: (name: string) => boolean = () => true): Promise<readonly string[]> {
    const names: string[] = [];
    let looked = 0;
    for await (const { name } of await opendir(this.path, { bufferSize: 1_000 })) {
      if (isWanted(name)) names.push(name);
      if (names.length >= max || ++looked >= max * LOOKED_FACTOR) break;
    }
    return names;
  }

  async chmod(mode: number): Promise<void> {
    return promisify(fchmod)(this.#openDescriptor, mode);
  }

  async touch(at: Date): Promise<void> {
    return promisify(futimes)(this.#openDescriptor, at, at);
  }

  /** Removes a file, a link, or a directory with all that is in it, also one that is read-only. A name that does not exist is none. */
  async remove(name: string, depth = 0): Promise<void> {
    const at = this.at(name);
    const folder = await this.#childToEmpty(name);
    if (folder === undefined) return;
    if (folder === null) return unlink(at).catch(unlessCode("ENOENT"));
    try {
      if (depth >= DEPTH_MAX) throw new Error(`${name} has more than ${DEPTH_MAX} levels of directories. Remove it.`);
      await folder.chmod(0o700);
      await folder.empty(depth + 1);
    } finally {
      await folder.close();
    }
    await rmdir(at).catch(unlessCode("ENOENT"));
  }

  /** Removes all that is in it. */
  async empty(depth = 0): Promise<void> {
    for (let batch = 0; batch < BATCHES_MAX; batch++) {
      const names = await this.names(BATCH_NAMES);
      if (names.length === 0) break;
      for (const each of names) await this.remove(each, depth);
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await closeDescriptor(this.#descriptor);
  }

  /** `undefined`: it does not exist. `null`: it is no directory. */
  async #childToEmpty(name: string): Promise<HeldDirectory | null | undefined> {
    try {
      return await this.childOrNull(name);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return undefined;
      if (code !== "EACCES") throw error;
    }
    const closed = await openDescriptor(this.at(name), O_PATH | O_DIRECTORY | O_NOFOLLOW);
    try {
      await promisify(chmod)(`/proc/self/fd/${closed}`, 0o700);
    } finally {
      await closeDescriptor(closed);
    }
    return this.childOrNull(name);
  }
}

/** The directory in which a name of a path is, made if it does not exist, and the last name. */
export async function holdParent(folder: HeldDirectory, within: string): Promise<[HeldDirectory, string]> {
  const names = within.split(path.sep);
  const last = names.pop() ?? "";
  return [await HeldDirectory.make(folder.path, names), last];
}

/** Writes a file that only this user can read. Throws `ELOOP` if it is a link. */
export function writePrivateFile(file: string, text: string): void {
  const descriptor = openSync(file, OVERWRITE, 0o600);
  try {
    writeFileSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

const unlessCode =
  (code: string) =>
  (error: NodeJS.ErrnoException): void => {
    if (error.code !== code) throw error;
  };
