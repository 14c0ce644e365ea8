/**
 * A disk derived from recorded system calls, and its possible states after a power cut at any instant of the recording.
 * Synced data is always there. An unsynced write can be there, missing or torn at 512-byte sectors, in any combination.
 * In an unsynced directory the newest changes (new names, removals, renames) can be missing, but only from the end,
 * because journaling file systems keep their order. Syncing a file does not make its name durable, because POSIX does
 * not guarantee it.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { SystemCall } from "./system-calls.ts";

const SECTOR_BYTES = 512;

interface Span {
  readonly enter: number;
  readonly exit: number;
}

type FileChange = Span &
  (
    | { readonly kind: "write"; readonly offset: number; readonly data: Buffer }
    | { readonly kind: "truncate"; readonly length: number }
  );

interface RecordedFile {
  readonly kind: "file";
  readonly changes: FileChange[];
  readonly syncs: Span[];
  /** Size in bytes as the running system sees it. */
  size: number;
}

type NameChange = Span & (
  | { readonly kind: "add"; readonly name: string; readonly node: RecordedNode }
  | { readonly kind: "remove"; readonly name: string }
  | { readonly kind: "rename"; readonly name: string; readonly to: string }
); // prettier-ignore

/** A FIFO. It has a name but no content, and is useless after a power cut. */
interface RecordedSpecial {
  readonly kind: "special";
  readonly syncs: Span[];
}

interface RecordedDirectory {
  readonly kind: "directory";
  readonly changes: NameChange[];
  readonly syncs: Span[];
  /** Names as the running system sees them. */
  readonly names: Map<string, RecordedNode>;
}

type RecordedNode = RecordedFile | RecordedDirectory | RecordedSpecial;

/** Decides which unsynced data survives a power cut. */
export interface Fate {
  /** Number of a directory's `pendingCount` unsynced changes that survive, the oldest ones. */
  names(pendingCount: number): number;
  write(): "kept" | "dropped" | "torn";
  /** Whether a sector of a torn write survives. */
  sectorKept(): boolean;
}

/** Loses all unsynced data. */
export const losesAll: Fate = { names: () => 0, write: () => "dropped", sectorKept: () => false };
/** Keeps all unsynced data: the state of the running system. */
export const losesNothing: Fate = { names: (pending) => pending, write: () => "kept", sectorKept: () => true };

const newDirectory = (): RecordedDirectory => ({ kind: "directory", changes: [], syncs: [], names: new Map() });

export class RecordedDisk {
  readonly #root: string;
  readonly #tree: RecordedDirectory = newDirectory();
  /**
   * Successful reads of a file that did not exist yet. Each entry stays until a call creates the file; that call began
   * before the read returned.
   */
  readonly #readEarly = new Set<{ readonly name: string; readonly exit: number }>();
  /** Calls whose effect depends on a call that was entered later. */
  readonly #early: SystemCall[] = [];
  readonly #positions = new Map<string, number | "append">();
  /** Lines of the trace at which the disk changed. */
  readonly instants: number[] = [];

  /** `root` was empty and durable when the recording began. */
  constructor(root: string, calls: readonly SystemCall[]) {
    this.#root = root;
    for (const call of calls) {
      if (call.path !== root && !call.path.startsWith(`${root}/`)) continue;
      this.instants.push(call.enter, call.exit);
      if (this.#isEarly(call)) this.#early.push(call);
      else this.#apply(call);
      this.#applyEarly(call.enter);
    }
    for (const { path: name, kind } of this.#early)
      throw new Error(`${kind} of ${name} before it, or its directory, was made`);
    for (const { name } of this.#readEarly) throw new Error(`${name} is read and was not made by then`);
  }

  /**
   * Calls that ran at the same time as a call which was entered later and on which they depend. Example: `mkdir a/b`
   * was entered, `mkdir a` was entered and took effect, then `mkdir a/b` took effect.
   */
  #isEarly(call: SystemCall): boolean {
    const lacksParent = (name: string): boolean => this.#find(path.dirname(name))?.kind !== "directory";
    switch (call.kind) {
      case "open":
        if (call.flags.has("O_CREAT")) return lacksParent(call.path);
        return !call.flags.has("O_RDONLY") && this.#find(call.path) === undefined;
      case "mkdir":
      case "special":
        return lacksParent(call.path);
      case "rename":
      case "link":
        return this.#find(call.path) === undefined || lacksParent(call.to);
      default:
        return false;
    }
  }

  /** Applies the early calls that the call entered at `enter` has made possible. */
  #applyEarly(enter: number): void {
    for (let at = 0; at < this.#early.length;) {
      const call = this.#early[at] as SystemCall;
      if (call.exit < enter) throw new Error(`${call.kind} of ${call.path} returned before what it needs was made`);
      if (this.#isEarly(call)) at++;
      else {
        this.#early.splice(at, 1);
        this.#apply(call);
        at = 0;
      }
    }
  }

  #apply(call: SystemCall): void {
    const { enter, exit } = call;
    switch (call.kind) {
      case "open":
        return this.#open(call);
      case "write":
        return this.#write(call);
      case "sync":
        this.#find(call.path)?.syncs.push({ enter, exit });
        return;
      case "truncate":
        return this.#truncate(this.#file(call.path), call.length, { enter, exit });
      case "mkdir":
        return this.#add(call.path, newDirectory(), { enter, exit });
      case "special":
        return this.#add(call.path, { kind: "special", syncs: [] }, { enter, exit });
      case "link": {
        const node = this.#find(call.path);
        if (node === undefined) throw new Error(`${call.path} is linked before it was made`);
        return this.#add(call.to, node, { enter, exit });
      }
      case "unlink": {
        const parent = this.#parent(call.path);
        const name = path.basename(call.path);
        parent.names.delete(name);
        parent.changes.push({ enter, exit, kind: "remove", name });
        return;
      }
      case "rename": {
        const parent = this.#parent(call.path);
        if (parent !== this.#parent(call.to)) throw new Error(`${call.path} is renamed into another directory`);
        const [name, to] = [path.basename(call.path), path.basename(call.to)];
        const node = parent.names.get(name);
        if (node === undefined) throw new Error(`${call.path} is renamed before it was made`);
        parent.names.delete(name);
        parent.names.set(to, node);
        parent.changes.push({ enter, exit, kind: "rename", name, to });
        this.#made(call.to, enter);
        return;
      }
      default:
        return call satisfies never;
    }
  }

  #open(call: SystemCall & { readonly kind: "open" }): void {
    const { path: name, flags, descriptor, enter, exit } = call;
    let node = this.#find(name);
    if (node === undefined) {
      // A read changes nothing on the disk. It can see the effect of another thread's call that was entered later, and
      // miss that of one that was entered before and had not returned.
      if (flags.has("O_RDONLY") && !flags.has("O_CREAT")) {
        if (!this.#isBeingRemoved(name, enter)) this.#readEarly.add({ name, exit });
        return;
      }
      node = { kind: "file", changes: [], syncs: [], size: 0 };
      this.#add(name, node, { enter, exit });
    }
    if (flags.has("O_TRUNC") && node.kind === "file" && node.size > 0) this.#truncate(node, 0, { enter, exit });
    this.#positions.set(`${descriptor} ${name}`, flags.has("O_APPEND") ? "append" : 0);
  }

  #write(call: SystemCall & { readonly kind: "write" }): void {
    const { path: name, descriptor, offset, found, enter, exit } = call;
    const file = this.#find(name);
    if (file?.kind === "special") return;
    if (file?.kind !== "file") throw new Error(`${name} is written to, but was never made`);
    const position = this.#positions.get(`${descriptor} ${name}`) ?? 0;
    const at = offset ?? (position === "append" ? file.size : position);
    const data = found === null ? call.data : commonStart(call.data, found.subarray(at));
    if (data.length === 0) return;
    if (offset === null && position !== "append") this.#positions.set(`${descriptor} ${name}`, at + data.length);
    file.changes.push({ enter, exit, kind: "write", offset: at, data });
    file.size = Math.max(file.size, at + data.length);
  }

  #truncate(file: RecordedFile, length: number, span: Span): void {
    file.changes.push({ ...span, kind: "truncate", length });
    file.size = length;
  }

  #add(name: string, node: RecordedNode, span: Span): void {
    const parent = this.#parent(name);
    parent.names.set(path.basename(name), node);
    parent.changes.push({ ...span, kind: "add", name: path.basename(name), node });
    this.#made(name, span.enter);
  }

  /** Whether a call that had not returned at line `at` of the trace takes this name away. */
  #isBeingRemoved(name: string, at: number): boolean {
    const parent = this.#find(path.dirname(name));
    if (parent?.kind !== "directory") return false;
    const base = path.basename(name);
    return parent.changes.some((change) => change.kind !== "add" && change.name === base && change.exit > at);
  }

  #made(name: string, enter: number): void {
    for (const early of this.#readEarly) if (early.name === name && enter < early.exit) this.#readEarly.delete(early);
  }

  #find(name: string): RecordedNode | undefined {
    let node: RecordedNode | undefined = this.#tree;
    for (const part of path.relative(this.#root, name).split("/")) {
      if (part === "") continue;
      node = node?.kind === "directory" ? node.names.get(part) : undefined;
    }
    return node;
  }

  #parent(name: string): RecordedDirectory {
    const node = this.#find(path.dirname(name));
    if (node?.kind !== "directory") throw new Error(`the directory of ${name} was never made`);
    return node;
  }

  #file(name: string): RecordedFile {
    const node = this.#find(name);
    if (node?.kind !== "file") throw new Error(`${name} was never made`);
    return node;
  }

  /** Whether a power cut directly after line `at` of the trace could have lost this name. */
  mayLose(name: string, at: number): boolean {
    let node: RecordedNode | undefined = this.#tree;
    for (const part of path.relative(this.#root, name).split("/"))
      node = node?.kind === "directory" ? namesAfter(node, { at, fate: losesAll }).get(part) : undefined;
    return node === undefined;
  }

  /**
   * Writes a possible state after a power cut to `target`, an empty directory. The cut comes directly after line `at`
   * of the trace.
   */
  rebuild(at: number, fate: Fate, target: string): void {
    rebuildDirectory(this.#tree, { at, fate }, target);
  }
}

/** The common beginning of the bytes `data` and `other`. */
function commonStart(data: Buffer, other: Buffer): Buffer {
  const end = data.findIndex((byte, index) => other[index] !== byte);
  return end === -1 ? data : data.subarray(0, end);
}

interface Cut {
  readonly at: number;
  readonly fate: Fate;
}

/**
 * Start of the newest sync that had returned at `at`: the sync covers all writes that had returned before it started.
 */
function syncedUntil(syncs: readonly Span[], at: number): number {
  let newest = -1;
  for (const { enter, exit } of syncs) if (exit <= at) newest = Math.max(newest, enter);
  return newest;
}

function namesAfter(directory: RecordedDirectory, cut: Cut): ReadonlyMap<string, RecordedNode> {
  const happened = directory.changes.filter(({ enter }) => enter <= cut.at);
  const synced = syncedUntil(directory.syncs, cut.at);
  const durable = happened.findLastIndex(({ exit }) => exit < synced) + 1;
  const survivors = happened.slice(0, durable + cut.fate.names(happened.length - durable));
  const names = new Map<string, RecordedNode>();
  for (const change of survivors) applyName(names, change);
  return names;
}

function rebuildDirectory(directory: RecordedDirectory, cut: Cut, target: string): void {
  for (const [name, node] of namesAfter(directory, cut)) {
    // The first process that opens the database rebuilds the shared memory. After a power cut it can only be empty.
    if (name.endsWith("-shm") || node.kind === "special") continue;
    const place = path.join(target, name);
    if (node.kind === "file") writeFileSync(place, contentOf(node, cut));
    else {
      mkdirSync(place);
      rebuildDirectory(node, cut, place);
    }
  }
}

function applyName(names: Map<string, RecordedNode>, change: NameChange): void {
  if (change.kind === "add") names.set(change.name, change.node);
  else if (change.kind === "remove") names.delete(change.name);
  else {
    const node = names.get(change.name);
    names.delete(change.name);
    if (node !== undefined) names.set(change.to, node);
  }
}

function contentOf(file: RecordedFile, { at, fate }: Cut): Buffer {
  const synced = syncedUntil(file.syncs, at);
  const image = new FileImage();
  for (const change of file.changes) {
    if (change.enter > at) break;
    const outcome = change.exit < synced ? "kept" : fate.write();
    if (outcome === "dropped") continue;
    if (change.kind === "truncate") image.truncate(change.length);
    else if (outcome === "kept") image.write(change.offset, change.data);
    else image.writeTorn(change.offset, change.data, fate);
  }
  return image.content();
}

/** The content of a file while it is put together; holes are zeros. */
class FileImage {
  #buffer = Buffer.alloc(64 * 1024);
  #length = 0;

  content(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  truncate(length: number): void {
    if (length < this.#length) this.#buffer.fill(0, length, this.#length);
    this.#reserve(length);
    this.#length = length;
  }

  write(offset: number, data: Buffer): void {
    this.#reserve(offset + data.length);
    data.copy(this.#buffer, offset);
    this.#length = Math.max(this.#length, offset + data.length);
  }

  /**
   * The borders of sectors are those of the disk, so the first and last sector of a write can be partial. Each sector
   * is kept or lost as a whole.
   */
  writeTorn(offset: number, data: Buffer, fate: Fate): void {
    for (let from = 0; from < data.length;) {
      const next = Math.min(data.length, (Math.floor((offset + from) / SECTOR_BYTES) + 1) * SECTOR_BYTES - offset);
      if (fate.sectorKept()) this.write(offset + from, data.subarray(from, next));
      from = next;
    }
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    const larger = Buffer.alloc(Math.max(length, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
