/** Allows only one control plane for each journal directory. */
import { lockDirectory, OperationalError } from "@headroom/platform";
import type { DirectoryLock, LockOutcome } from "@headroom/platform";
import { journalError } from "./journal-error.ts";

export function lockJournal(directory: string, nowMs: number): DirectoryLock {
  let outcome: LockOutcome;
  try {
    outcome = lockDirectory(directory, nowMs);
  } catch (error) {
    throw journalError(error, "locking", directory);
  }
  if (outcome.kind === "locked") return outcome.lock;
  throw new OperationalError(
    "journalInUse",
    `A control plane is already running on ${directory} (${outcome.holder}). Use that one, stop it first, or set HEADROOM_HOME to another directory.`,
  );
}
