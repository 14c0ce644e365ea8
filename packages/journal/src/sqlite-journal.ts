/**
 * The embedded journal: one SQLite database in a directory that one control plane holds. Writing, reading old events
 * and making snapshots happen on threads, so that neither a sync nor a long read blocks the driver's event loop.
 */
import { accessSync, constants, existsSync } from "node:fs";
import path from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { makeDurableDirectory, syncPath } from "@headroom/platform";
import { OperationalError } from "@headroom/platform";
import type { DirectoryLock } from "@headroom/platform";
import { checkHistory } from "./check-history.ts";
import { checkRounds, dropRounds } from "./check-rounds.ts";
import { framePage } from "./event-page.ts";
import type { EventFormat, EventPage } from "./event-page.ts";
import { openForWriting, databasePath } from "./database.ts";
import { lockJournal } from "./lock-journal.ts";
import type {
  Append,
  AppendReceipt,
  Journal,
  JournalAddress,
  JournalHead,
  Leadership,
  MentionPage,
  OpenJournal,
  OpenedJournal,
  RecordedGroup,
  SnapshotReceipt,
} from "./ports.ts";
import { sqliteDefaults } from "./sqlite-options.ts";
import type { SqliteOptions } from "./sqlite-options.ts";
import { fromErrorMessage, journalError } from "./journal-error.ts";
import { JournalReader } from "./journal-reader.ts";
import type { ReaderAnswer, ReaderData, ReaderRequest } from "./reader-messages.ts";
import { checkEnd, checkSyncedEvent, refuseEmptyJournal } from "./lost-end.ts";
import { restoreFromJournal } from "./restore.ts";
import type { RestoreSource } from "./restore.ts";
import { addRoundHashes, isEmptyDatabase, prepareSchema, takeLeadership } from "./schema.ts";
import { dropSnapshotsAfter, writeSnapshotFile } from "./snapshot-file.ts";
import type { SnapshotAnswer, SnapshotData } from "./snapshot-messages.ts";
import { ThreadCalls } from "@headroom/platform";
import type { WriterAnswer, WriterData, WriterRequest } from "./writer-messages.ts";

/** Paths of the files of a journal in a directory, whether the journal is open or not. */
export const sqliteAddress = (directory: string): JournalAddress => ({ kind: "sqlite", place: directory });

/** The journal port for this directory. `onLocked` is called when this process holds the directory, before it reads. */
export function sqliteJournal(
  directory: string,
  options: Partial<Omit<SqliteOptions, "directory">> = {},
  onLocked: () => void = () => undefined,
): OpenJournal {
  return (nowMs) => openSqliteJournal({ ...sqliteDefaults, ...options, directory }, nowMs, onLocked);
}

/** Locks the directory, checks its journal (or creates one), folds it into an engine, and takes over the journal. */
async function openSqliteJournal(options: SqliteOptions, nowMs: number, onLocked: () => void): Promise<OpenedJournal> {
  const directory = path.resolve(options.directory);
  prepareDirectory(directory);
  const lock = lockJournal(directory, nowMs);
  let database: DatabaseSync | undefined;
  let writer: ReturnType<typeof startWriter> | undefined;
  try {
    onLocked();
    if (options.synchronous === "full") syncWhatIsThere(directory);
    database = openForWriting(directory, options.synchronous);
    if (isEmptyDatabase(database)) refuseEmptyJournal(directory);
    const journalId = prepareSchema(database, databasePath(directory), nowMs);
    addRoundHashes(database);
    const reader = new JournalReader(database);
    const head = reader.head();
    const lost = checkEnd(directory, { journalId, head }, options.acceptsLoss);
    if (lost.length > 0) dropSnapshotsAfter(directory, head.sequence);
    const data: WriterData = { options: { ...options, directory }, journalId, head };
    // The thread starts while this thread folds the journal.
    writer = startWriter(data);
    const restored = restoreFromJournal({ directory, journalId, reader, head });
    checkHistory({ directory, reader }, restored.snapshotSequence);
    if (lost.length === 0) checkSyncedEvent(directory, reader);
    if (!hasSoundInputs({ directory, reader }, options.acceptsLoss)) {
      await writer.calls.terminate();
      lost.push(`${dropRounds(database)} rounds of recorded inputs were dropped, because some of them are damaged`);
      writer = startWriter(data);
    }
    const epoch = takeLeadership(database);
    const answer = await writer.ready;
    if (answer.kind === "failed") throw fromErrorMessage(answer.error);
    database.close();
    const warnings = [...lost, ...restored.warnings];
    return {
      ...restored,
      warnings,
      journal: new SqliteJournal({ directory, journalId, lock, writer: writer.calls, head, epoch }),
    };
  } catch (error) {
    await writer?.calls.terminate();
    if (database?.isOpen === true) database.close();
    lock.release();
    throw journalError(error, "opening the journal", directory);
  }
}

function startWriter(data: WriterData): { readonly calls: WriterCalls; readonly ready: Promise<WriterAnswer> } {
  const calls = new ThreadCalls<WriterRequest, WriterAnswer>(new URL("writer-thread.ts", import.meta.url), data);
  const ready = calls.first();
  // If the journal is refused in the meantime, the thread is ended, and its readiness no longer matters.
  ready.catch(() => undefined);
  return { calls, ready };
}

/**
 * Whether the recorded inputs are intact. False: they are damaged, and losing them is accepted. Throws if this is not
 * accepted.
 */
function hasSoundInputs(
  { directory, reader }: Pick<RestoreSource, "directory" | "reader">,
  acceptsLoss: boolean,
): boolean {
  try {
    checkRounds(directory, reader);
    return true;
  } catch (error) {
    if (acceptsLoss && error instanceof OperationalError && error.code === "journalRoundsDamaged") return false;
    throw error;
  }
}

/**
 * If a control plane is killed before a sync, its last events can be read but could still be lost in a power cut. They
 * are synced before any component acts on them. This is done while SQLite has no file open, because its locks are
 * released when any descriptor of a file is closed.
 */
function syncWhatIsThere(directory: string): void {
  const database = databasePath(directory);
  for (const file of [database, `${database}-wal`]) if (existsSync(file)) syncPath(file);
  syncPath(directory);
}

function prepareDirectory(directory: string): void {
  try {
    makeDurableDirectory(directory, 0o700);
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw journalError(error, "preparing the directory", directory);
  }
}

type WriterCalls = ThreadCalls<WriterRequest, WriterAnswer>;

interface Parts {
  readonly directory: string;
  readonly journalId: string;
  readonly lock: DirectoryLock;
  readonly writer: WriterCalls;
  readonly head: JournalHead;
  readonly epoch: number;
}

class SqliteJournal implements Journal {
  readonly journalId: string;
  readonly address: JournalAddress;
  readonly leadership: Leadership;
  readonly #directory: string;
  readonly #lock: DirectoryLock;
  readonly #writer: WriterCalls;
  #reader: ThreadCalls<ReaderRequest, ReaderAnswer> | null = null;
  #snapshot: ThreadCalls<never, SnapshotAnswer> | null = null;
  #head: JournalHead;
  #failure: OperationalError | null = null;

  constructor({ directory, journalId, lock, writer, head, epoch }: Parts) {
    this.#directory = directory;
    this.address = sqliteAddress(directory);
    this.leadership = { epoch };
    this.journalId = journalId;
    this.#lock = lock;
    this.#writer = writer;
    this.#head = head;
  }

  get place(): string {
    return this.#directory;
  }

  async append(append: Append): Promise<AppendReceipt> {
    const answer = await this.#ask({ kind: "append", append });
    if (answer.kind !== "appended") throw new OperationalError("journalFailed", `The writer said ${answer.kind}.`);
    if (append.group !== null) {
      const { firstSequence, count, chain, atMs } = append.group;
      this.#head = { sequence: firstSequence + count - 1, chain, atMs };
    }
    return answer.receipt;
  }

  async #ask(request: WriterRequest): Promise<WriterAnswer> {
    if (this.#failure !== null) throw this.#failure;
    try {
      const answer = await this.#writer.call(request);
      if (answer.kind === "failed") throw fromErrorMessage(answer.error);
      return answer;
    } catch (error) {
      this.#failure = journalError(error, "writing", this.#directory);
      throw this.#failure;
    }
  }

  async readGroups(fromSequence: number): Promise<readonly RecordedGroup[]> {
    const answer = await this.#read({ kind: "groups", fromSequence });
    return answer.kind === "groups" ? answer.groups : [];
  }

  async readMentions(fromSequence: number, text: string): Promise<MentionPage> {
    const answer = await this.#read({ kind: "mentions", fromSequence, text });
    return answer.kind === "mentions" ? answer.page : { groups: [], nextSequence: null };
  }

  async readPage(fromSequence: number, format: EventFormat): Promise<EventPage> {
    const answer = await this.#read({ kind: "page", fromSequence, format });
    return answer.kind === "page" ? answer.page : framePage(fromSequence, [], format);
  }

  async #read(request: ReaderRequest): Promise<ReaderAnswer> {
    this.#reader ??= new ThreadCalls(new URL("reader-thread.ts", import.meta.url), {
      directory: this.#directory,
    } satisfies ReaderData);
    try {
      const answer = await this.#reader.call(request);
      if (answer.kind === "failed") throw fromErrorMessage(answer.error);
      return answer;
    } catch (error) {
      throw journalError(error, "reading", this.#directory);
    }
  }

  async snapshotInBackground(): Promise<SnapshotReceipt> {
    const { journalId } = this;
    const directory = this.#directory;
    const data: SnapshotData = { directory, journalId, head: this.#head };
    const thread = new ThreadCalls<never, SnapshotAnswer>(new URL("snapshot-thread.ts", import.meta.url), data);
    this.#snapshot = thread;
    try {
      const answer = await thread.first();
      if (answer.kind === "failed") throw fromErrorMessage(answer.error);
      return answer.receipt;
    } catch (error) {
      throw journalError(error, "making a snapshot", directory);
    } finally {
      await thread.ended();
      this.#snapshot = null;
    }
  }

  async writeSnapshot(sequence: number, chain: string, digest: string, bytes: Uint8Array): Promise<SnapshotReceipt> {
    // Writing a snapshot deletes old temporary files. The file that the snapshot thread is writing looks the same, so
    // the thread is ended first.
    await this.#snapshot?.terminate();
    const beganMs = performance.now();
    try {
      const { journalId } = this;
      const directory = this.#directory;
      const size = writeSnapshotFile(directory, { journalId, sequence, chain, digest }, bytes);
      return { sequence, bytes: size, elapsedMs: performance.now() - beganMs };
    } catch (error) {
      throw journalError(error, "writing a snapshot", this.#directory);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#reader?.terminate(), this.#snapshot?.terminate()]);
    try {
      if (this.#failure === null) await this.#ask({ kind: "close" });
    } finally {
      await (this.#failure === null ? this.#writer.ended() : this.#writer.terminate());
      this.#lock.release();
    }
  }
}
