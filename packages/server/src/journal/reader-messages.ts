/** What the journal's reader thread and the driver's thread say to each other. */
import type { RecordedGroup } from "./journal.ts";
import type { ErrorMessage } from "./journal-error.ts";

export interface ReaderData {
  readonly directory: string;
}

export interface ReaderRequest {
  readonly fromSequence: number;
}

export type ReaderAnswer =
  | { readonly kind: "page"; readonly groups: readonly RecordedGroup[] }
  | { readonly kind: "failed"; readonly error: ErrorMessage };
