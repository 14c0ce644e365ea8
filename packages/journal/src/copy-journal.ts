/**
 * Copies a journal while a control plane writes it. SQLite's own copy takes one committed state, whatever is appended
 * meanwhile, and needs neither the lock of the directory nor a pause.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { makeDirectory, syncPath } from "@headroom/platform";
import { databasePath, openForReading } from "./database.ts";
import { WitnessWriter } from "./head-witness.ts";
import { JournalReader } from "./journal-reader.ts";
import { journalIdOf, JOURNAL_FORMAT } from "./schema.ts";

/** The newest format of journals that this version reads and writes. */
export const journalFormat: number = JOURNAL_FORMAT;

/** More pages than a database can have in one step. */
const ALL_PAGES = 2 ** 30;

export interface CopiedJournal {
  readonly journalId: string;
  /** Sequence of the newest event in the copy. */
  readonly sequence: number;
  readonly chain: string | null;
  readonly format: number;
}

/**
 * Copies the journal in `directory` to the empty folder `target`. Snapshots are not copied, because a start can make
 * them again. The witness of the copy names its own newest event. `null`: there is no journal.
 */
export async function copyJournal(directory: string, target: string): Promise<CopiedJournal | null> {
  if (!existsSync(databasePath(directory))) return null;
  makeDirectory(target, 0o700);
  const source = openForReading(directory);
  try {
    // One step for all pages: the copy would begin again if the writer committed between two steps.
    await backup(source, databasePath(target), { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  return describeJournal(target, { writesWitness: true });
}

/** Identity and end of the journal in a folder that no control plane uses. */
export function describeJournal(directory: string, { writesWitness = false } = {}): CopiedJournal {
  // Opened as immutable, so that SQLite leaves no files of its own beside the copy.
  const url = pathToFileURL(databasePath(path.resolve(directory)));
  url.search = "mode=ro&immutable=1";
  const database = new DatabaseSync(url);
  try {
    const journalId = journalIdOf(database, databasePath(directory));
    const { sequence, chain } = new JournalReader(database).head();
    const format = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (writesWitness) {
      const witness = new WitnessWriter(directory, journalId);
      witness.write({ sequence, chain });
      witness.close();
    }
    for (const file of [databasePath(directory), path.resolve(directory)]) syncPath(file);
    return { journalId, sequence, chain, format };
  } finally {
    database.close();
  }
}
