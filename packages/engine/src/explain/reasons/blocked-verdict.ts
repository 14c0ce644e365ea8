/** Makes the verdict of work that waits. */
import type { EventKind } from "../../contract/events.ts";
import type { BlockedReason, Verdict } from "../../contract/verdicts.ts";

export type BlockedVerdict = Verdict & { readonly kind: "blocked" };

export const blocked = (wakeOn: readonly EventKind[], ...reasons: readonly BlockedReason[]): BlockedVerdict => ({
  kind: "blocked",
  reasons,
  wakeOn,
});

export const withNever = (verdict: BlockedVerdict, neverStarts: boolean): BlockedVerdict =>
  neverStarts ? { ...verdict, neverStarts: true } : verdict;
