/** What the thread of a replay is given, and what it says on its way. */
import type { JournalAddress } from "@headroom/journal";
import type { ReplayReport } from "@headroom/protocol";
import type { ReplayChange } from "@headroom/sim";

export interface ReplayRequest {
  readonly change: ReplayChange;
  /** How far back from `nowMs`. */
  readonly periodMs: number;
  readonly nowMs: number;
}

export interface ReplayData extends ReplayRequest {
  readonly journal: JournalAddress;
}

export type ReplayMessage =
  | { readonly kind: "progress"; readonly progress: number }
  | { readonly kind: "done"; readonly report: ReplayReport }
  | { readonly kind: "failed"; readonly detail: string };
