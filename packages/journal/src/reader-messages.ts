/** What the journal's reader thread and the driver's thread say to each other. */
import type { EventFormat, EventPage } from "./event-page.ts";
import type { RecordedGroup } from "./ports.ts";
import type { ErrorMessage } from "./journal-error.ts";

export interface ReaderData {
  readonly directory: string;
}

/** `format`: the groups' events framed in it; `null`: the groups as they lie in the journal. */
export interface ReaderRequest {
  readonly fromSequence: number;
  readonly format: EventFormat | null;
}

export type ReaderAnswer =
  | { readonly kind: "groups"; readonly groups: readonly RecordedGroup[] }
  | { readonly kind: "page"; readonly page: EventPage }
  | { readonly kind: "failed"; readonly error: ErrorMessage };
