/**
 * What the driver asks of a journal. Groups are facts and are never rewritten; rounds (the inputs behind them) are kept
 * beside them with a retention of their own. The embedded implementation is `sqlite-journal.ts`.
 */
import type { JournalGroup } from "@headroom/engine";
import type { EventFormat, EventPage } from "./event-page.ts";

/** A group as it lies in the journal. */
export interface RecordedGroup extends JournalGroup {
  readonly atMs: number;
}

/** What one call of `engine.receive` was given: enough to make the same decisions again. */
export interface RecordedRound {
  /** Counts from 1 over the life of the journal. */
  readonly round: number;
  readonly atMs: number;
  /** First sequence of the group that came of it; `null`: nothing was recorded. */
  readonly firstSequence: number | null;
  /** `JSON.stringify(inputs)`. */
  readonly inputs: string;
}

export interface RecordedDigest {
  readonly sequence: number;
  readonly digest: string;
}

/** The end of the journal: sequence of its newest event (0: none) and the chain there (`null`: no group yet). */
export interface JournalHead {
  readonly sequence: number;
  readonly chain: string | null;
  readonly atMs: number;
}

/** Everything in one append is synced together or not at all. */
export interface Append {
  /** In order; rounds that recorded nothing ride along with the next one that did. */
  readonly rounds: readonly Omit<RecordedRound, "round">[];
  readonly group: RecordedGroup | null;
  /** Digest of the state right after `group` (or at the head, where there is none). */
  readonly digest: RecordedDigest | null;
}

export interface AppendReceipt {
  /** Time the writer spent from taking the append to the end of its sync. */
  readonly syncMs: number;
  /** Size of the journal's files after it. */
  readonly journalBytes: number;
}

export interface SnapshotReceipt {
  readonly sequence: number;
  readonly bytes: number;
  readonly elapsedMs: number;
}

export interface Journal {
  readonly journalId: string;
  readonly directory: string;
  /** Resolves when the append is durable; rejects with `OperationalError` (`journal-…`), after which nothing more is taken. */
  append(append: Append): Promise<AppendReceipt>;
  /** Groups that hold the sequences from `fromSequence` on: at least one where there is one, at most about a page of text. */
  readGroups(fromSequence: number): Promise<readonly RecordedGroup[]>;
  /** The same groups framed for readers of the event stream, away from the caller's loop. */
  readPage(fromSequence: number, format: EventFormat): Promise<EventPage>;
  /** Folds the journal up to its head on a thread of its own and writes a snapshot; the caller's loop is not touched. */
  snapshotInBackground(): Promise<SnapshotReceipt>;
  /** Writes a snapshot that the caller already has; one that is being made in the background is not finished. */
  writeSnapshot(sequence: number, chain: string, digest: string, bytes: Uint8Array): Promise<SnapshotReceipt>;
  close(): Promise<void>;
}

export interface JournalOptions {
  readonly directory: string;
  /**
   * `full`: an append is durable when it resolves. `off` leaves that to the kernel: a power cut loses what was
   * acknowledged. It exists to measure what durability costs, and to prove that the crash tests notice.
   */
  readonly synchronous: "full" | "off";
  /**
   * False: a journal that lost its end, or recorded inputs that are damaged, are refused. True: the journal goes on from what it
   * still has, with a warning. Never past attempts on disk that know more.
   */
  readonly acceptsLoss: boolean;
  /** The inputs stream is cut at its old end beyond this. 1 GiB is days of heavy use and what a laptop has to spare. */
  readonly roundsBytesMax: number;
  /** After so many bytes of appends the write-ahead log is folded into the database: milliseconds during which nothing is appended. */
  readonly checkpointBytes: number;
}

export const journalDefaults: Omit<JournalOptions, "directory"> = {
  synchronous: "full",
  acceptsLoss: false,
  roundsBytesMax: 1024 * 1024 * 1024,
  checkpointBytes: 4 * 1024 * 1024,
};
