/** Messages between the journal's reader thread and the driver's thread. */
import type { EventFormat, EventPage } from "./event-page.ts";
import type { MentionPage, RecordedGroup } from "./ports.ts";
import type { ErrorMessage } from "./journal-error.ts";

export interface ReaderData {
  readonly directory: string;
}

/**
 * `page`: the events of the groups as bytes in `format`; `groups`: the groups as they are in the journal; `mentions`:
 * only groups that contain `text`.
 */
export type ReaderRequest =
  | { readonly kind: "groups"; readonly fromSequence: number }
  | { readonly kind: "mentions"; readonly fromSequence: number; readonly text: string }
  | { readonly kind: "page"; readonly fromSequence: number; readonly format: EventFormat };

export type ReaderAnswer =
  | { readonly kind: "groups"; readonly groups: readonly RecordedGroup[] }
  | { readonly kind: "mentions"; readonly page: MentionPage }
  | { readonly kind: "page"; readonly page: EventPage }
  | { readonly kind: "failed"; readonly error: ErrorMessage };
