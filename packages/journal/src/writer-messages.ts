/** Messages between the journal's writer thread and the driver's thread. */
import type { Append, AppendReceipt, JournalHead } from "./ports.ts";
import type { SqliteOptions } from "./sqlite-options.ts";
import type { ErrorMessage } from "./journal-error.ts";

export interface WriterData {
  readonly options: SqliteOptions;
  readonly journalId: string;
  /** The end of the journal as the opener read it. The writer checks that it reads the same. */
  readonly head: JournalHead;
}

export type WriterRequest =
  | { readonly kind: "append"; readonly append: Append }
  /** Folds the write-ahead log into the database and ends the thread. */
  | { readonly kind: "close" };

export type WriterAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "appended"; readonly receipt: AppendReceipt }
  | { readonly kind: "failed"; readonly error: ErrorMessage }
  | { readonly kind: "closed" };
