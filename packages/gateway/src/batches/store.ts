/**
 * Files and batches of the Batch API on disk, per team. A batch survives a restart of the gateway: requests with an
 * answer in its output file are not sent again.
 */
import { randomUUID } from "node:crypto";
import {
  mkdirSync,
  openSync,
  closeSync,
  fsyncSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";

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

/** Maximum number of files, and of batches, per team; older ones must be deleted before more are accepted. */
const ENTRIES_MAX = 1000;
/** Folder of an open gateway without keys; no team can have this name. */
const nobody = "-";
const idPattern = /^(?:file|batch)-[0-9a-f-]{36}$/;

export class BatchStore {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
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
  ): StoredFile | undefined {
    if (this.files(team).length >= ENTRIES_MAX) return undefined;
    const id = `file-${randomUUID()}`;
    const stored: StoredFile = {
      id,
      object: "file",
      bytes: file.content.length,
      created_at: Math.floor(file.nowMs / 1000),
      filename: file.filename.slice(0, 255),
      purpose: file.purpose.slice(0, 64),
    };
    writeFileSync(this.contentPath(team, id), file.content, { mode: 0o600, flush: true });
    this.#write(team, id, stored);
    return stored;
  }

  files(team: string): readonly StoredFile[] {
    return this.#all<StoredFile>(team, "file-").toSorted((a, b) => b.created_at - a.created_at);
  }

  file(team: string, id: string): StoredFile | undefined {
    return this.#read<StoredFile>(team, id, "file-");
  }

  deleteFile(team: string, id: string): void {
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
    if (this.batches(team).length >= ENTRIES_MAX) return undefined;
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

  batches(team: string): readonly Batch[] {
    return this.#all<Batch>(team, "batch-").toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
  }

  batch(team: string, id: string): Batch | undefined {
    return this.#read<Batch>(team, id, "batch-");
  }

  /** A team's name may contain any character, so it is encoded in a path. */
  #path(team: string, name: string): string {
    const directory = path.join(
      this.#directory,
      Buffer.from(team === "" ? nobody : team, "utf8").toString("base64url"),
    );
    mkdirSync(directory, { recursive: true, mode: 0o700 });
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
