/**
 * Checks that the journal still has all events that other files know. The check runs before an empty database becomes a
 * journal, because afterwards it would look like a new one.
 */
import path from "node:path";
import { OperationalError } from "@headroom/platform";
import { databasePath } from "./database.ts";
import { readWitness, witnessPath } from "./head-witness.ts";
import { damaged } from "./journal-error.ts";
import type { JournalHead } from "./ports.ts";
import type { JournalReader } from "./journal-reader.ts";
import { readSnapshotFile, snapshotSequences } from "./snapshot-file.ts";

export interface Known {
  readonly what: string;
  readonly sequence: number;
}

/** Throws if the journal is empty and another file knows an event of it. */
export function refuseEmptyJournal(directory: string): void {
  const known = newestKnown(directory);
  if (known === null) return;
  throw new OperationalError(
    "journalMissing",
    `${databasePath(directory)} is missing or empty, but ${known.what} knows event ${known.sequence}: the journal was removed, replaced or ` +
      `truncated. Nothing was started. Put back journal.db and journal.db-wal from a backup. ` +
      `To begin with an empty journal instead, move ${directory} away and start again.`,
  );
}

/** Returns one sentence for each accepted loss. Throws for a loss that is not accepted. */
export function checkEnd(
  directory: string,
  journal: { readonly journalId: string; readonly head: JournalHead },
  acceptsLoss: boolean,
): string[] {
  const { journalId, head } = journal;
  if (head.sequence === 0) refuseEmptyJournal(directory);
  const witness = readWitness(directory);
  if (witness === null) return [];
  const known = { what: witnessPath(directory), sequence: witness.sequence };
  if (witness.journalId !== journalId) {
    if (acceptsLoss) return [`${known.what} belongs to another journal and is ignored; journal.db is used`];
    throw new OperationalError(
      "journalForeign",
      `${databasePath(directory)} is not the journal that was last used in ${directory}: ${known.what} names another one, which ended ` +
        `at event ${known.sequence}. Nothing was started. Put back the journal.db that belongs to this directory${override}`,
    );
  }
  if (witness.sequence > head.sequence) {
    if (acceptsLoss) return [accepted(head.sequence, known)];
    throw lostEnd(directory, head.sequence, known);
  }
  return [];
}

/** Runs after the check of the chain. Detects a chain that is intact but is not the one that was synced. */
export function checkSyncedEvent(directory: string, reader: JournalReader): void {
  const witness = readWitness(directory);
  if (witness === null) return;
  const chain = reader.chainAt(witness.sequence);
  if (chain !== null && chain !== witness.chain)
    throw damaged(
      `event ${witness.sequence} differs from the one that was synced, which ${witnessPath(directory)} knows`,
    );
}

const override = ". To go on without what is lost, start with --accept-journal-loss.";

function lostEnd(directory: string, sequence: number, known: Known): OperationalError {
  return new OperationalError(
    "journalOlder",
    `The journal in ${directory} ends at event ${sequence}, but ${known.what} knows event ${known.sequence}: the journal has lost its ` +
      `end (journal.db-wal truncated or removed?), or an old copy was put in its place. Nothing was started. ` +
      `Put back the newest journal.db together with its journal.db-wal${override}`,
  );
}

const accepted = (sequence: number, known: Known): string =>
  `the journal continues after event ${sequence}; later events up to ${known.sequence}, which ${known.what} knows, are given up`;

/** The newest event that any file outside the database knows of. */
function newestKnown(directory: string): Known | null {
  const witness = readWitness(directory);
  let newest: Known | null = witness === null ? null : { what: witnessPath(directory), sequence: witness.sequence };
  for (const sequence of snapshotSequences(directory)) {
    const snapshot = readSnapshotFile(directory, sequence);
    if (sequence > (newest?.sequence ?? 0))
      newest = {
        what: `the snapshot ${typeof snapshot === "string" ? path.join(directory, "snapshots", `${sequence}.snapshot`) : snapshot.path}`,
        sequence,
      };
  }
  return newest;
}
