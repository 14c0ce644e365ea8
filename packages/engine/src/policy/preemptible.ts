import type { WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "./rules.ts";

/** Whether work may be evicted for others: what it says itself, else what the policy says of its priority. */
export function isPreemptible(
  { eviction }: Pick<Rules, "eviction">,
  spec: Pick<WorkloadSpec, "preemptible" | "priority">,
): boolean {
  if (spec.preemptible !== undefined) return spec.preemptible;
  return eviction.preemptibleBelowPriority === null || spec.priority < eviction.preemptibleBelowPriority;
}
