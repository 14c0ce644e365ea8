/**
 * Files and batches of the Batch API on disk, per team. A batch survives a restart of the gateway: requests with an
 * answer in its output file are not sent again. Nothing here blocks the event loop; changes of a team's entries happen
 * one after the other.
 */
import { randomUUID } from "node:crypto";
import { appendFile, copyFile, link, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { makeDirectory } from "@headroom/platform";
import { isRunning, type Batch, type BatchStatus, type StoredFile } from "./entries.ts";

/**
 * Maximum number of files of a team, and of batches of a team. At the limit, files must be deleted before more are
 * stored, and the oldest ended batch is removed.
 */
const ENTRIES_MAX = 1000;
/** Files that a batch publishes at its end, for its answers and its errors. A running batch has room for both. */
const RESULT_FILES = 2;
/** Name of the folder of a gateway without keys. No team can have this name. */
const nobody = "-";
const idPattern = /^(?:file|batch)-[0-9a-f-]{36}$/;

/** Why a file is not stored: the team's files have reached their limit of bytes, or their limit in number. */
export type StoreRefusal = "storageFull" | "tooMany";
/** Why a batch is not stored: the team has too many batches in progress, or too many files for its answers. */
export type BatchRefusal = "tooManyBatches" | "tooManyFiles";

/** A team's entries. They are read once and kept up to date from then on. */
interface TeamEntries {
  /** Bytes of all files, answers of running batches included. */
  usedBytes: number;
  readonly files: Set<string>;
  readonly batches: Map<string, { readonly createdAt: number; status: BatchStatus }>;
}

export class BatchStore {
  readonly #directory: string;
  /** Maximum number of bytes per team, for input files and answers together. */
  storageMax: number;
  readonly #entries = new Map<string, TeamEntries>();
  /** The last change of each team that has not ended yet. */
  readonly #changes = new Map<string, Promise<unknown>>();

  constructor(directory: string, storageMax: number) {
    this.#directory = directory;
    this.storageMax = storageMax;
    makeDirectory(directory, 0o700);
  }

  /** Teams that have files or batches. */
  async teams(): Promise<readonly string[]> {
    return (await readdir(this.#directory)).map((name) => {
      const team = Buffer.from(name, "base64url").toString("utf8");
      return team === nobody ? "" : team;
    });
  }

  addFile(
    team: string,
    file: { filename: string; purpose: string; content: Buffer; nowMs: number },
  ): Promise<StoredFile | StoreRefusal> {
    return this.#change(team, async (entries) => {
      if (entries.files.size + RESULT_FILES * runningCount(entries) >= ENTRIES_MAX) return "tooMany";
      const { length } = file.content;
      if (entries.usedBytes + length > this.storageMax) return "storageFull";
      const id = `file-${randomUUID()}`;
      const stored: StoredFile = {
        id,
        object: "file",
        bytes: length,
        created_at: Math.floor(file.nowMs / 1000),
        filename: file.filename.slice(0, 255),
        purpose: file.purpose.slice(0, 64),
      };
      await writeSynced(this.contentPath(team, id), file.content);
      await this.#write(team, id, stored);
      entries.usedBytes += length;
      entries.files.add(id);
      return stored;
    });
  }

  /**
   * Adds a line to a file of answers. Resolves to false, and writes nothing, if the team has reached its limit of bytes.
   */
  append(team: string, file: string, line: string): Promise<boolean> {
    return this.#change(team, async (entries) => {
      const used = entries.usedBytes + Buffer.byteLength(line);
      if (used > this.storageMax) return false;
      await appendFile(file, line, { mode: 0o600 });
      entries.usedBytes = used;
      return true;
    });
  }

  /**
   * Gives a file of answers a second name among the team's files. The first name stays until `drop`, so that no request
   * is sent again after a kill in between.
   */
  publish(
    team: string,
    file: string,
    { filename, nowMs }: { filename: string; nowMs: number },
  ): Promise<StoredFile | undefined> {
    return this.#change(team, async (entries) => {
      const bytes = await sizeOf(file);
      if (bytes === undefined) return undefined;
      const id = `file-${randomUUID()}`;
      const createdAt = Math.floor(nowMs / 1000);
      const stored: StoredFile = {
        id,
        object: "file",
        bytes,
        created_at: createdAt,
        filename,
        purpose: "batch_output",
      };
      const content = this.contentPath(team, id);
      // Where the file system has no hard links, the file is copied.
      await link(file, content).catch(() => copyFile(file, content));
      await this.#write(team, id, stored);
      entries.files.add(id);
      return stored;
    });
  }

  /** Removes the first name of a file of answers. */
  drop(team: string, file: string): Promise<void> {
    return this.#change(team, async (entries) => {
      await rm(file, { force: true });
      entries.usedBytes = await usedBytesIn(this.#folder(team));
    });
  }

  /** The team's files, the newest first. */
  async files(team: string): Promise<readonly StoredFile[]> {
    return (await this.#all<StoredFile>(team, "file-")).toSorted(newestFirst);
  }

  file(team: string, id: string): Promise<StoredFile | undefined> {
    return this.#read<StoredFile>(team, id, "file-");
  }

  deleteFile(team: string, id: string): Promise<void> {
    return this.#change(team, async (entries) => {
      await rm(this.contentPath(team, id), { force: true });
      await rm(this.#path(team, `${id}.json`), { force: true });
      entries.files.delete(id);
      entries.usedBytes = await usedBytesIn(this.#folder(team));
    });
  }

  contentPath(team: string, id: string): string {
    return this.#path(team, `${id}.jsonl`);
  }

  addBatch(
    team: string,
    batch: {
      endpoint: string;
      inputFileId: string;
      window: string;
      metadata: unknown;
      dataRules: readonly string[];
      nowMs: number;
    },
  ): Promise<Batch | BatchRefusal> {
    return this.#change(team, async (entries) => {
      if (entries.files.size + RESULT_FILES * (runningCount(entries) + 1) > ENTRIES_MAX) return "tooManyFiles";
      if (!(await this.#makeRoomForBatch(team, entries))) return "tooManyBatches";
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
        ...(batch.dataRules.length === 0 ? {} : { data_rules: batch.dataRules }),
        status: "in_progress",
        output_file_id: null,
        error_file_id: null,
        in_progress_at: createdAt,
        completed_at: null,
        failed_at: null,
        expired_at: null,
        cancelling_at: null,
        cancelled_at: null,
        errors: null,
        request_counts: { total: 0, completed: 0, failed: 0 },
      };
      await this.#write(team, added.id, added);
      entries.batches.set(added.id, { createdAt, status: added.status });
      return added;
    });
  }

  /** Writes the batch as it is when the changes before this one have ended. */
  saveBatch(team: string, batch: Batch): Promise<void> {
    return this.#change(team, async (entries) => {
      await this.#write(team, batch.id, batch);
      entries.batches.set(batch.id, { createdAt: batch.created_at, status: batch.status });
    });
  }

  /** The team's batches, the newest first. */
  async batches(team: string): Promise<readonly Batch[]> {
    return (await this.#all<Batch>(team, "batch-")).toSorted(newestFirst);
  }

  batch(team: string, id: string): Promise<Batch | undefined> {
    return this.#read<Batch>(team, id, "batch-");
  }

  async #makeRoomForBatch(team: string, { batches }: TeamEntries): Promise<boolean> {
    if (batches.size < ENTRIES_MAX) return true;
    const ended = [...batches].filter(([, { status }]) => !isRunning(status));
    const oldest = ended.toSorted(([a, x], [b, y]) => x.createdAt - y.createdAt || (a > b ? -1 : 1))[0]?.[0];
    if (oldest === undefined) return false;
    await rm(this.#path(team, `${oldest}.json`), { force: true });
    batches.delete(oldest);
    return true;
  }

  /** Resolves when all changes so far have ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#changes.values());
  }

  /** Runs a change after the team's earlier ones. */
  #change<Result>(team: string, change: (entries: TeamEntries) => Promise<Result>): Promise<Result> {
    const before = this.#changes.get(team) ?? Promise.resolve();
    const next = before.then(async () => change(await this.#entriesOf(team)));
    const ended = next.then(
      () => undefined,
      () => undefined,
    );
    this.#changes.set(team, ended);
    void ended.then(() => {
      if (this.#changes.get(team) === ended) this.#changes.delete(team);
    });
    return next;
  }

  async #entriesOf(team: string): Promise<TeamEntries> {
    const known = this.#entries.get(team);
    if (known !== undefined) return known;
    const folder = this.#folder(team);
    const [names, batches, usedBytes] = [await readdir(folder), await this.batches(team), await usedBytesIn(folder)];
    const entries: TeamEntries = {
      usedBytes,
      files: new Set(idsIn(names, "file-")),
      batches: new Map(batches.map(({ id, created_at: createdAt, status }) => [id, { createdAt, status }])),
    };
    this.#entries.set(team, entries);
    return entries;
  }

  #path(team: string, name: string): string {
    return path.join(this.#folder(team), name);
  }

  /** The folder of a team. A team's name may contain any character, so it is encoded. */
  #folder(team: string): string {
    const name = Buffer.from(team === "" ? nobody : team, "utf8").toString("base64url");
    const folder = path.join(this.#directory, name);
    makeDirectory(folder, 0o700);
    return folder;
  }

  async #all<Entry>(team: string, prefix: string): Promise<readonly Entry[]> {
    const ids = idsIn(await readdir(this.#folder(team)), prefix);
    const entries = await Promise.all(ids.map((id) => this.#read<Entry>(team, id, prefix)));
    return entries.filter((entry) => entry !== undefined);
  }

  async #read<Entry>(team: string, id: string, prefix: string): Promise<Entry | undefined> {
    if (!id.startsWith(prefix) || !idPattern.test(id)) return undefined;
    try {
      return JSON.parse(await readFile(this.#path(team, `${id}.json`), "utf8")) as Entry;
    } catch {
      return undefined;
    }
  }

  async #write(team: string, id: string, entry: object): Promise<void> {
    const file = this.#path(team, `${id}.json`);
    await writeSynced(`${file}.new`, JSON.stringify(entry));
    await rename(`${file}.new`, file);
  }
}

function idsIn(names: readonly string[], prefix: string): readonly string[] {
  return names
    .filter((name) => name.startsWith(prefix) && name.endsWith(".json"))
    .map((name) => name.slice(0, -".json".length));
}

function runningCount({ batches }: TeamEntries): number {
  let count = 0;
  for (const { status } of batches.values()) if (isRunning(status)) count++;
  return count;
}

async function writeSynced(file: string, content: string | Buffer): Promise<void> {
  const handle = await open(file, "w", 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function sizeOf(file: string): Promise<number | undefined> {
  return stat(file).then(
    ({ size }) => size,
    () => undefined,
  );
}

/** Number of bytes of the contents in a folder. Several names that are hard links to one file count once. */
async function usedBytesIn(folder: string): Promise<number> {
  const files = new Map<number, number>();
  for (const name of await readdir(folder)) {
    if (name.endsWith(".json") || name.endsWith(".new")) continue;
    const found = await stat(path.join(folder, name)).catch(() => undefined);
    if (found !== undefined) files.set(found.ino, found.size);
  }
  return [...files.values()].reduce((sum, size) => sum + size, 0);
}

function newestFirst(a: StoredFile | Batch, b: StoredFile | Batch): number {
  return b.created_at - a.created_at || (a.id < b.id ? -1 : 1);
}
