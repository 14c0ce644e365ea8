/**
 * Restores an engine from the journal: the newest usable snapshot, then the groups after it. Chain, numbering, kinds
 * and the newest digest are checked during this, because the result decides about real work.
 */
import { createEngine, replayEngine, restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { InvariantError } from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import type { JournalHead, RecordedGroup } from "./ports.ts";
import { damaged, journalError } from "./journal-error.ts";
import type { JournalReader } from "./journal-reader.ts";
import { readSnapshotFile, snapshotSequences } from "./snapshot-file.ts";
import type { SnapshotFile } from "./snapshot-file.ts";

export interface RestoreSource {
  readonly directory: string;
  readonly journalId: string;
  readonly reader: JournalReader;
  readonly head: JournalHead;
}

export interface Restored {
  readonly engine: Engine;
  /** First sequence of the fold; 0: from the first event. */
  readonly snapshotSequence: number;
  /** Snapshots that were skipped, with one sentence for each. */
  readonly warnings: readonly string[];
}

/** Restores the engine. Throws `OperationalError` if the journal cannot be trusted. */
export function restoreFromJournal(source: RestoreSource): Restored {
  const warnings: string[] = [];
  const snapshot = newestSnapshot(source, warnings);
  const engine = snapshot === null ? createEngine() : engineOf(snapshot, warnings);
  const snapshotSequence = engine.state.sequence;
  fold(source, engine);
  return { engine, snapshotSequence, warnings };
}

/** The newest intact snapshot that belongs to this journal's chain. */
function newestSnapshot(source: RestoreSource, warnings: string[]): SnapshotFile | null {
  const { directory, journalId, reader, head } = source;
  for (const sequence of snapshotSequences(directory)) {
    const snapshot = readSnapshotFile(directory, sequence);
    if (typeof snapshot === "string") {
      warnings.push(`${snapshot}; it was skipped`);
      continue;
    }
    if (snapshot.journalId !== journalId) {
      warnings.push(`${snapshot.path} belongs to another journal; it was skipped`);
      continue;
    }
    // Snapshots contain only synced groups, so a snapshot shows how far this journal once reached.
    if (sequence > head.sequence) throw olderThan(directory, head.sequence, `the snapshot ${snapshot.path}`, sequence);
    if (reader.chainAt(sequence) !== snapshot.chain) {
      throw damaged(`the snapshot at sequence ${sequence} was made from another chain than the one recorded there`);
    }
    return snapshot;
  }
  return null;
}

/** Refuses to start from a journal that ends before an event that another file knows. */
export function olderThan(directory: string, head: number, witness: string, sequence: number): OperationalError {
  return new OperationalError(
    "journalOlder",
    `The journal in ${directory} ends at event ${head}, but ${witness} knows event ${sequence}: the journal has lost its end, ` +
      `or an old copy was put in its place. Nothing was started. Put back the newest journal.db together with its journal.db-wal.`,
  );
}

function engineOf(snapshot: SnapshotFile, warnings: string[]): Engine {
  const engine = restoreEngine(snapshot.bytes);
  if (
    engine.state.sequence !== snapshot.sequence ||
    engine.state.chain !== snapshot.chain ||
    engine.digest() !== snapshot.digest
  ) {
    // The bytes are intact, so this version reads them differently. In this case the events decide.
    warnings.push(
      `${snapshot.path} gives another state than the one it was made from; everything is folded from the first event`,
    );
    return createEngine();
  }
  return engine;
}

function fold(source: RestoreSource, engine: Engine): void {
  const { directory, reader, head } = source;
  const digest = reader.digestAtOrBefore(head.sequence);
  if (digest !== null && digest.sequence > engine.state.sequence) {
    foldTo(source, engine, digest.sequence);
    if (engine.digest() !== digest.digest) throw digestMismatch(directory, digest.sequence);
  }
  foldTo(source, engine, head.sequence);
}

export function digestMismatch(directory: string, sequence: number): OperationalError {
  return new OperationalError(
    "journalDigestMismatch",
    `Folding the journal in ${directory} up to event ${sequence} gives another state than the one that was recorded there. ` +
      `Nothing was started. Start the version of Headroom that wrote it, and report this as a bug.`,
  );
}

/** Folds the groups after the engine's own sequence, up to the group that ends at `sequence`. */
export function foldTo({ directory, reader }: RestoreSource, engine: Engine, sequence: number): void {
  const progress = { sequence: engine.state.sequence };
  try {
    replayEngine(engine, watched(reader.groups(engine.state.sequence, sequence), progress));
  } catch (error) {
    if (error instanceof OperationalError) throw error;
    if (error instanceof InvariantError) throw unreadable(directory, progress.sequence, error);
    const { code, message } = journalError(error, "reading", directory);
    throw new OperationalError(code, `${message} The journal was readable up to event ${progress.sequence}.`, {
      cause: error,
    });
  }
  if (engine.state.sequence !== sequence) {
    throw damaged(`its groups end at event ${engine.state.sequence}, but ${sequence} was expected`);
  }
}

/** Passes groups on and counts them for messages about progress. */
function* watched(groups: Iterable<RecordedGroup>, progress: { sequence: number }): Generator<RecordedGroup> {
  for (const group of groups) {
    yield group;
    progress.sequence = group.firstSequence + group.count - 1;
  }
}

function unreadable(directory: string, goodSequence: number, error: InvariantError): OperationalError {
  return new OperationalError(
    "journalDamaged",
    `The journal in ${directory} cannot be read past event ${goodSequence}: ${error.message}. Nothing was started. ` +
      `If a newer version of Headroom wrote it, start that one; otherwise restore the directory from a backup.`,
    { cause: error },
  );
}
