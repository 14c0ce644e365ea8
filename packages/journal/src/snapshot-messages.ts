/** Messages to and from the snapshot thread. */
import type { JournalHead, SnapshotReceipt } from "./ports.ts";
import type { ErrorMessage } from "./journal-error.ts";

export interface SnapshotData {
  readonly directory: string;
  readonly journalId: string;
  /** Last sequence to fold: the newest one when the snapshot was requested. */
  readonly head: JournalHead;
}

export type SnapshotAnswer =
  | { readonly kind: "written"; readonly receipt: SnapshotReceipt }
  | { readonly kind: "failed"; readonly error: ErrorMessage };
