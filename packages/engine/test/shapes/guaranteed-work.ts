import type { Attempt, Nomination } from "@headroom/model";
import type { ReadonlyState } from "../../src/index.ts";

/** Guaranteed work by definition: of priority 0 or above, not relabelled, and no victim of a plan. */
export function isGuaranteedWork({ workloads }: ReadonlyState, work: Attempt | Nomination): boolean {
  if (
    "stop" in work &&
    (work.opportunistic === true || work.stop?.reason === "preempted" || work.stop?.reason === "reclaimed")
  )
    return false;
  return (workloads.get(work.workloadId)?.spec.priority ?? -1) >= 0;
}
