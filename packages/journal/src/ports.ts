/**
 * The ports of the journal for the driver and for readers. Groups are facts and are never rewritten. Rounds (the inputs
 * that led to groups) are stored beside them and have their own retention. No type in this file depends on a file or a
 * directory.
 */
import type { Engine, JournalGroup } from "@headroom/engine";
import type { EventFormat, EventPage } from "./event-page.ts";

/** A group as stored in the journal. */
export interface RecordedGroup extends JournalGroup {
  readonly atMs: number;
}

/** The arguments of one call of `engine.receive`. They are enough to repeat its decisions. */
export interface RecordedRound {
  /** Number of the round, counted from 1 over the life of the journal. */
  readonly round: number;
  readonly atMs: number;
  /** First sequence of the resulting group; `null`: the round recorded no events. */
  readonly firstSequence: number | null;
  /** The inputs as JSON text. */
  readonly inputs: string;
}

export interface RecordedDigest {
  readonly sequence: number;
  readonly digest: string;
}

/** The end of the journal: sequence of its newest event (0: none) and the hash chain there (`null`: no group yet). */
export interface JournalHead {
  readonly sequence: number;
  readonly chain: string | null;
  readonly atMs: number;
}

/** Data that is synced together: either all of it is recorded, or nothing. */
export interface Append {
  /** The `Leadership.epoch` under which the decision was made. */
  readonly epoch: number;
  /** Rounds in order. Rounds without events are appended with the next round that has events. */
  readonly rounds: readonly Omit<RecordedRound, "round">[];
  readonly group: RecordedGroup | null;
  /** Digest of the state after `group`, or at the head if there is no group. */
  readonly digest: RecordedDigest | null;
}

export interface AppendReceipt {
  /** Time in ms from the receipt of the append to the end of its sync, in the writer. */
  readonly syncMs: number;
  /** Size in bytes of the journal's files after the append. */
  readonly journalBytes: number;
}

export interface SnapshotReceipt {
  readonly sequence: number;
  readonly bytes: number;
  readonly elapsedMs: number;
}

/**
 * Permission to append. Each opening takes over the journal with a higher epoch, which is durable before any decision
 * under it.
 */
export interface Leadership {
  readonly epoch: number;
}

export interface JournalWriter {
  /**
   * Resolves when the append is durable. Rejects with an `OperationalError` (`journal…`), after which no further append
   * is accepted. The code is `journalEpochOld` if another control plane has taken over; nothing of the append is then
   * recorded.
   */
  append(append: Append): Promise<AppendReceipt>;
}

export interface MentionPage {
  readonly groups: readonly RecordedGroup[];
  readonly nextSequence: number | null;
}

export interface EventReader {
  /** Groups from the one that contains `fromSequence` on: at least one, and at most about a page of text. */
  readGroups(fromSequence: number): Promise<readonly RecordedGroup[]>;
  /**
   * A page of the groups from `fromSequence` on whose text contains `text` (an id in its JSON form), and the sequence
   * at which the next page begins; `null`: this is the last page. Other groups are skipped without parsing.
   */
  readMentions(fromSequence: number, text: string): Promise<MentionPage>;
  /** The framed events of the same groups; no events if there are no groups. */
  readPage(fromSequence: number, format: EventFormat): Promise<EventPage>;
}

export interface SnapshotStore {
  /**
   * Folds the journal up to its end on a separate thread and writes a snapshot. The caller's event loop is not blocked.
   */
  snapshotInBackground(): Promise<SnapshotReceipt>;
  /** Writes a snapshot that the caller provides, and cancels one that is being made in the background. */
  writeSnapshot(sequence: number, chain: string, digest: string, bytes: Uint8Array): Promise<SnapshotReceipt>;
}

/**
 * Handle with which another thread opens the journal for reading (`openRecorded`). It is plain data whose content no
 * code outside this package uses.
 */
export interface JournalAddress {
  readonly kind: "sqlite";
  readonly place: string;
}

export interface Journal extends JournalWriter, EventReader, SnapshotStore {
  readonly journalId: string;
  /** Place of the journal, for messages to people. */
  readonly place: string;
  readonly address: JournalAddress;
  readonly leadership: Leadership;
  close(): Promise<void>;
}

/** A journal that was taken over, checked, and folded into an engine. */
export interface OpenedJournal {
  readonly journal: Journal;
  readonly engine: Engine;
  /** First sequence of the fold; 0: from the first event. */
  readonly snapshotSequence: number;
  /** Parts that were skipped or lost, with one sentence for each. */
  readonly warnings: readonly string[];
}

/**
 * Takes over the journal, or throws an `OperationalError` that states why the journal cannot be used and how to
 * recover.
 */
export type OpenJournal = (nowMs: number) => Promise<OpenedJournal>;
