/**
 * Detects that the journal's folder or files were removed, moved or replaced while they are open. SQLite continues to
 * write to a file that has lost its name, so appends would succeed and be lost at the end of the process.
 */
import { statSync } from "node:fs";
import { OperationalError } from "@headroom/platform";
import { databasePath } from "./database.ts";

export class JournalFiles {
  readonly #directory: string;
  readonly #directoryId: string | null;
  readonly #databaseId: string | null;
  /** SQLite creates the write-ahead log with the first read or write, and keeps it until the database is closed. */
  #walId: string | null;

  /** Call this right after the database was opened. */
  constructor(directory: string) {
    this.#directory = directory;
    this.#directoryId = identity(directory);
    this.#databaseId = identity(databasePath(directory));
    this.#walId = identity(walPath(directory));
  }

  /** Throws `journalMoved` if the open files are no longer the files at the journal's place. Costs three `stat` calls. */
  check(): void {
    const database = databasePath(this.#directory);
    this.#require(this.#directory, this.#directoryId);
    this.#require(database, this.#databaseId);
    const wal = walPath(this.#directory);
    this.#walId ??= identity(wal);
    if (this.#walId !== null) this.#require(wal, this.#walId);
  }

  #require(file: string, id: string | null): void {
    if (id !== null && identity(file) === id) return;
    throw new OperationalError(
      "journalMoved",
      `${file} was removed, moved or replaced while the control plane was using it. The command in progress was not acknowledged. ` +
        `Put the journal back into ${this.#directory}, or restore a backup, and start again.`,
    );
  }
}

const walPath = (directory: string): string => `${databasePath(directory)}-wal`;

/** Device and inode of a file; `null`: there is none. An unreadable path is as good as a missing one. */
function identity(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
