/** Messages to and from a replay thread. */
import type { JournalAddress } from "@headroom/journal";
import type { ReplayReport } from "@headroom/protocol";
import type { ReplayChange } from "@headroom/sim";

export interface ReplayRequest {
  readonly change: ReplayChange;
  /** Length in ms of the period that ends at `nowMs`. */
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
