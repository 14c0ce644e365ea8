/**
 * Files and batches of the Batch API on disk, per team. A batch survives a restart of the gateway: requests with an
 * answer in its output file are not sent again.
 */
import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  copyFileSync,
  linkSync,
  openSync,
  closeSync,
  fsyncSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { makeDirectory } from "@headroom/platform";

export interface StoredFile {
  readonly id: string;
  readonly object: "file";
  readonly bytes: number;
  readonly created_at: number;
  readonly filename: string;
  readonly purpose: string;
}

export type BatchStatus =
  | "in_progress"
  | "finalizing"
  | "completed"
  | "failed"
  | "cancelling"
  | "cancelled"
  | "expired";

export interface Batch {
  readonly id: string;
  readonly object: "batch";
  readonly endpoint: string;
  readonly input_file_id: string;
  readonly completion_window: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly metadata: unknown;
  status: BatchStatus;
  output_file_id: string | null;
  error_file_id: string | null;
  completed_at: number | null;
  errors: { object: "list"; data: readonly { code: string; message: string; line: number | null }[] } | null;
  request_counts: { total: number; completed: number; failed: number };
}

/**
 * Maximum number of files of a team, and of batches of a team. At the limit, files must be deleted before more are
 * stored, and the oldest ended batch is removed.
 */
const ENTRIES_MAX = 1000;
const running: ReadonlySet<BatchStatus> = new Set<BatchStatus>(["in_progress", "finalizing", "cancelling"]);
/** Name of the folder of a gateway without keys. No team can have this name. */
const nobody = "-";
const idPattern = /^(?:file|batch)-[0-9a-f-]{36}$/;

/** Why a file is not stored: the team's files have reached their limit of bytes, or their limit in number. */
export type StoreRefusal = "storageFull" | "tooMany";

export class BatchStore {
  readonly #directory: string;
  /** Maximum number of bytes per team, for input files and answers together. */
  storageMax: number;
  readonly #usedBytes = new Map<string, number>();

  constructor(directory: string, storageMax: number) {
    this.#directory = directory;
    this.storageMax = storageMax;
    makeDirectory(directory, 0o700);
  }

  /** Teams that have files or batches. */
  teams(): readonly string[] {
    return readdirSync(this.#directory).map((name) => {
      const team = Buffer.from(name, "base64url").toString("utf8");
      return team === nobody ? "" : team;
    });
  }

  addFile(
    team: string,
    file: { filename: string; purpose: string; content: Buffer; nowMs: number },
  ): StoredFile | StoreRefusal {
    if (this.files(team).length >= ENTRIES_MAX) return "tooMany";
    const { length } = file.content;
    if (this.#used(team) + length > this.storageMax) return "storageFull";
    const id = `file-${randomUUID()}`;
    const stored: StoredFile = {
      id,
      object: "file",
      bytes: length,
      created_at: Math.floor(file.nowMs / 1000),
      filename: file.filename.slice(0, 255),
      purpose: file.purpose.slice(0, 64),
    };
    writeFileSync(this.contentPath(team, id), file.content, { mode: 0o600, flush: true });
    this.#write(team, id, stored);
    this.#usedBytes.set(team, this.#used(team) + length);
    return stored;
  }

  /**
   * Adds a line to a file of answers. Returns false, and writes nothing, if the team has reached its limit of bytes.
   */
  append(team: string, file: string, line: string): boolean {
    const used = this.#used(team) + Buffer.byteLength(line);
    if (used > this.storageMax) return false;
    appendFileSync(file, line, { mode: 0o600 });
    this.#usedBytes.set(team, used);
    return true;
  }

  /**
   * Gives a file of answers a second name among the team's files. The first name stays until `drop`, so that no request
   * is sent again after a kill in between.
   */
  publish(
    team: string,
    file: string,
    { filename, nowMs }: { filename: string; nowMs: number },
  ): StoredFile | undefined {
    const bytes = statSync(file, { throwIfNoEntry: false })?.size;
    if (bytes === undefined) return undefined;
    const id = `file-${randomUUID()}`;
    const createdAt = Math.floor(nowMs / 1000);
    const stored: StoredFile = { id, object: "file", bytes, created_at: createdAt, filename, purpose: "batch_output" };
    try {
      linkSync(file, this.contentPath(team, id));
    } catch {
      // The file system has no hard links, so the file is copied.
      copyFileSync(file, this.contentPath(team, id));
    }
    this.#write(team, id, stored);
    return stored;
  }

  /** Removes the first name of a file of answers. */
  drop(team: string, file: string): void {
    this.#usedBytes.delete(team);
    rmSync(file, { force: true });
  }

  /** The team's files, the newest first. */
  files(team: string): readonly StoredFile[] {
    return this.#all<StoredFile>(team, "file-").toSorted(newestFirst);
  }

  file(team: string, id: string): StoredFile | undefined {
    return this.#read<StoredFile>(team, id, "file-");
  }

  deleteFile(team: string, id: string): void {
    this.#usedBytes.delete(team);
    rmSync(this.contentPath(team, id), { force: true });
    rmSync(this.#path(team, `${id}.json`), { force: true });
  }

  contentPath(team: string, id: string): string {
    return this.#path(team, `${id}.jsonl`);
  }

  addBatch(
    team: string,
    batch: { endpoint: string; inputFileId: string; window: string; metadata: unknown; nowMs: number },
  ): Batch | undefined {
    if (!this.#hasRoomForBatch(team)) return undefined;
    const createdAt = Math.floor(batch.nowMs / 1000);
    const added: Batch = {
      id: `batch-${randomUUID()}`,
      object: "batch",
      endpoint: batch.endpoint,
      input_file_id: batch.inputFileId,
      completion_window: batch.window,
      created_at: createdAt,
      expires_at: createdAt + 86_400,
      metadata: batch.metadata ?? null,
      status: "in_progress",
      output_file_id: null,
      error_file_id: null,
      completed_at: null,
      errors: null,
      request_counts: { total: 0, completed: 0, failed: 0 },
    };
    this.saveBatch(team, added);
    return added;
  }

  saveBatch(team: string, batch: Batch): void {
    this.#write(team, batch.id, batch);
  }

  /** The team's batches, the newest first. */
  batches(team: string): readonly Batch[] {
    return this.#all<Batch>(team, "batch-").toSorted(newestFirst);
  }

  batch(team: string, id: string): Batch | undefined {
    return this.#read<Batch>(team, id, "batch-");
  }

  #hasRoomForBatch(team: string): boolean {
    const batches = this.batches(team);
    if (batches.length < ENTRIES_MAX) return true;
    const oldest = batches.findLast(({ status }) => !running.has(status));
    if (oldest === undefined) return false;
    rmSync(this.#path(team, `${oldest.id}.json`), { force: true });
    return true;
  }

  /** Number of bytes in the team's files. They are measured once and counted from then on. */
  #used(team: string): number {
    const known = this.#usedBytes.get(team);
    if (known !== undefined) return known;
    const directory = path.dirname(this.#path(team, "x"));
    // Several names that are hard links to one file count once.
    const files = new Map<number, number>();
    for (const name of readdirSync(directory)) {
      if (name.endsWith(".json") || name.endsWith(".new")) continue;
      const { ino, size } = statSync(path.join(directory, name));
      files.set(ino, size);
    }
    const bytes = [...files.values()].reduce((sum, size) => sum + size, 0);
    this.#usedBytes.set(team, bytes);
    return bytes;
  }

  /** The path of a team's file. A team's name may contain any character, so it is encoded. */
  #path(team: string, name: string): string {
    const directory = path.join(
      this.#directory,
      Buffer.from(team === "" ? nobody : team, "utf8").toString("base64url"),
    );
    makeDirectory(directory, 0o700);
    return path.join(directory, name);
  }

  #all<Entry>(team: string, prefix: string): readonly Entry[] {
    return readdirSync(path.dirname(this.#path(team, "x")))
      .filter((name) => name.startsWith(prefix) && name.endsWith(".json"))
      .flatMap((name) => this.#read<Entry>(team, name.slice(0, -".json".length), prefix) ?? []);
  }

  #read<Entry>(team: string, id: string, prefix: string): Entry | undefined {
    if (!id.startsWith(prefix) || !idPattern.test(id)) return undefined;
    try {
      return JSON.parse(readFileSync(this.#path(team, `${id}.json`), "utf8")) as Entry;
    } catch {
      return undefined;
    }
  }

  #write(team: string, id: string, entry: object): void {
    const file = this.#path(team, `${id}.json`);
    const fd = openSync(`${file}.new`, "w", 0o600);
    writeSync(fd, JSON.stringify(entry));
    fsyncSync(fd);
    closeSync(fd);
    renameSync(`${file}.new`, file);
  }
}

function newestFirst(a: StoredFile | Batch, b: StoredFile | Batch): number {
  return b.created_at - a.created_at || (a.id < b.id ? -1 : 1);
}
