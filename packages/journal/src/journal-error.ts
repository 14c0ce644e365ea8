/** Failures of the journal as messages for operators, and the transfer of such failures between threads. */
import { OperationalError } from "@headroom/platform";

/** An error as plain data, because subclasses of `Error` lose their class and fields between threads. */
export interface ErrorMessage {
  readonly code: string;
  readonly message: string;
}

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;
/**
 * SQLite's code when the disk refused a write, for example because the disk is full and the file system reports it late
 * (https://www.sqlite.org/rescode.html#ioerr_write).
 */
const PRIMARY_CODE_MASK = 0xff;

interface SqliteFailure {
  readonly errcode: number;
  readonly message: string;
}

function isSqliteFailure(error: unknown): error is SqliteFailure {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** Converts any error of a journal operation to an `OperationalError`. `what` names the operation. */
export function journalError(error: unknown, what: string, directory: string): OperationalError {
  if (error instanceof OperationalError) return error;
  const said = error instanceof Error ? error.message : String(error);
  if (!isSqliteFailure(error)) return fileError(error, `${what} in ${directory}: ${said}`, directory);
  const facts = `${what} in ${directory}: ${said}`;
  switch (error.errcode & PRIMARY_CODE_MASK) {
    case SQLITE_FULL:
      return diskFull(facts, error);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return new OperationalError(
        "journalDamaged",
        `The journal is damaged (${facts}). Nothing was started. Restore the journal directory from a backup.`,
        { cause: error },
      );
    case SQLITE_BUSY:
      return new OperationalError(
        "journalBusy",
        `Another program holds the journal's database (${facts}). Close it (a SQLite shell?) and start again.`,
        { cause: error, retryable: true },
      );
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return notWritable(facts, error);
    case SQLITE_IOERR:
      return new OperationalError(
        "journalIo",
        `The disk of the journal failed (${facts}). Nothing acknowledged is lost. Check the disk and start again.`,
        { cause: error },
      );
    default:
      return new OperationalError("journalFailed", `The journal failed: ${facts}`, { cause: error });
  }
}

function fileError(error: unknown, facts: string, directory: string): OperationalError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOSPC" || code === "EDQUOT") return diskFull(facts, error);
  if (code === "EACCES" || code === "EPERM" || code === "EROFS" || code === "ENOTDIR" || code === "EEXIST") {
    return notWritable(facts, error);
  }
  return new OperationalError("journalFailed", `The journal in ${directory} failed: ${facts}`, { cause: error });
}

function diskFull(facts: string, cause: unknown): OperationalError {
  return new OperationalError(
    "journalDiskFull",
    `The disk of the journal is full (${facts}). Nothing acknowledged is lost, and running work continues. Free space and start again.`,
    { cause },
  );
}

function notWritable(facts: string, cause: unknown): OperationalError {
  return new OperationalError(
    "journalNotWritable",
    `The journal cannot be written (${facts}). Check that the directory belongs to this user and is not read-only, or set HEADROOM_HOME.`,
    { cause },
  );
}

export function damaged(detail: string, cause?: unknown): OperationalError {
  return new OperationalError(
    "journalDamaged",
    `The journal is damaged: ${detail}. Nothing was started. Restore the journal directory from a backup.`,
    { cause },
  );
}

export function toErrorMessage(error: unknown, what: string, directory: string): ErrorMessage {
  const { code, message } = journalError(error, what, directory);
  return { code, message };
}

export function fromErrorMessage({ code, message }: ErrorMessage): OperationalError {
  return new OperationalError(code, message);
}
