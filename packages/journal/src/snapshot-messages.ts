/** What the snapshot thread is given and what it says. */
import type { JournalHead, SnapshotReceipt } from "./ports.ts";
import type { ErrorMessage } from "./journal-error.ts";

export interface SnapshotData {
  readonly directory: string;
  readonly journalId: string;
  /** How far to fold: the head when the snapshot was asked for. */
  readonly head: JournalHead;
}

export type SnapshotAnswer =
  | { readonly kind: "written"; readonly receipt: SnapshotReceipt }
  | { readonly kind: "failed"; readonly error: ErrorMessage };
