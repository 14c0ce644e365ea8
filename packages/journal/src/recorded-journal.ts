/** The recorded content of a journal, for a thread that reads while the control plane writes. */
import { createEngine, restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { databasePath, openForReading } from "./database.ts";
import { JournalReader } from "./journal-reader.ts";
import type { JournalAddress, JournalHead, RecordedGroup, RecordedRound } from "./ports.ts";
import { foldTo } from "./restore.ts";
import { journalIdOf } from "./schema.ts";
import { readSnapshotFile, snapshotSequences } from "./snapshot-file.ts";

export interface RecordedJournal {
  head(): JournalHead;
  /** Rounds from the first one at or after `atMs` on. Their inputs are read only when they are used. */
  roundsFrom(atMs: number): Iterable<RecordedRound>;
  /** Whether the journal keeps no round before this instant. */
  isFirstKept(atMs: number): boolean;
  /** Groups that begin after `afterSequence` and no later than `lastSequence`. */
  groups(afterSequence: number, lastSequence: number): Iterable<RecordedGroup>;
  /**
   * An engine in the state after this event. It is made from the newest snapshot before the event, or else from the
   * first event.
   */
  engineAt(sequence: number): Engine;
  close(): void;
}

export function openRecorded({ place: directory }: JournalAddress): RecordedJournal {
  const database = openForReading(directory);
  const journalId = journalIdOf(database, databasePath(directory));
  const reader = new JournalReader(database);
  return {
    head: () => reader.head(),
    roundsFrom: (atMs) => reader.roundsFrom(atMs),
    isFirstKept: (atMs) => reader.isFirstKept(atMs),
    groups: (afterSequence, lastSequence) => reader.groups(afterSequence, lastSequence),
    engineAt: (sequence) => engineAt({ directory, journalId, reader, head: reader.head() }, sequence),
    close: () => database.close(),
  };
}

interface Source {
  readonly directory: string;
  readonly journalId: string;
  readonly reader: JournalReader;
  readonly head: JournalHead;
}

function engineAt(source: Source, sequence: number): Engine {
  const { directory, journalId, reader } = source;
  let engine = createEngine();
  for (const at of snapshotSequences(directory)) {
    const snapshot = at > sequence ? "behind" : readSnapshotFile(directory, at);
    if (typeof snapshot === "string" || snapshot.journalId !== journalId) continue;
    const restored = restoreEngine(snapshot.bytes);
    if (reader.chainAt(at) !== snapshot.chain || restored.digest() !== snapshot.digest) continue;
    engine = restored;
    break;
  }
  if (engine.state.sequence < sequence) foldTo(source, engine, sequence);
  return engine;
}
