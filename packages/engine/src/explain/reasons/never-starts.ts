/** Tells work that waits from work that can never start while fleet, limits and budgets stay as they are. */
import type { BlockedReason, Verdict } from "../../contract/verdicts.ts";
import type { WorkloadSpec } from "../../model/workload.ts";

/**
 * Whether no end of other work, and no time that passes, can start the workload: it exceeds the empty fleet, it alone
 * exceeds the limits on every accelerator type that it accepts, or a budget that never renews is used up. A workload that
 * waits for an accelerator type on request (`waitForType`) is not among these.
 */
export function canNeverStart(verdict: Verdict, { waitForType }: Pick<WorkloadSpec, "waitForType">): boolean {
  if (verdict.kind !== "blocked") return false;
  const { reasons } = verdict;
  const [first] = reasons;
  if (first?.kind === "exceedsFleet") return !(waitForType === true && first.lack?.of === "type");
  if (first?.kind === "budget") return first.renewsAtMs === null;
  // Limits come first only if they exclude every accepted type; there is one reason for each.
  return first?.kind === "teamLimit" && reasons.every((reason) => reason.kind !== "teamLimit" || exceedsAlone(reason));
}

/** The limit is too low for the request even when nothing else counts towards it. */
const exceedsAlone = ({ neededCount, limitCount }: BlockedReason & { readonly kind: "teamLimit" }): boolean =>
  neededCount > limitCount;
