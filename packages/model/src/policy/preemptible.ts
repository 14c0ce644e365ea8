import type { WorkloadSpec } from "../resources/workload.ts";
import type { Rules } from "./rules.ts";

/**
 * `always`: any plan of the policy may evict it. `aboveGuarantee`: usage within its team's guarantee is protected;
 * usage above it can be reclaimed only by a team below its own guarantee. `never`: the work is not evicted, and
 * `teams.nonPreemptible` bounds its usage.
 */
export type Preemptibility = "always" | "aboveGuarantee" | "never";

/**
 * The field `preemptible` of the work decides. Without this field, work below `preemptibleBelowPriority` is
 * preemptible, and `unstatedPreemptible` decides for other work. Policies that imitate another scheduler treat
 * `aboveGuarantee` like an absent field.
 */
export function preemptibilityOf(
  { eviction }: Pick<Rules, "eviction">,
  { preemptible, priority }: Pick<WorkloadSpec, "preemptible" | "priority">,
): Preemptibility {
  if (typeof preemptible === "boolean") return preemptible ? "always" : "never";
  if (preemptible === "aboveGuarantee" && eviction.teamGuarantees) return "aboveGuarantee";
  const { preemptibleBelowPriority, unstatedPreemptible } = eviction;
  if (preemptibleBelowPriority === null || priority < preemptibleBelowPriority) return "always";
  return eviction.teamGuarantees ? unstatedPreemptible : "never";
}

/** Whether any plan could evict the work. If so, the work may use more than its team's guarantee. */
export const isPreemptible = (
  rules: Pick<Rules, "eviction">,
  spec: Pick<WorkloadSpec, "preemptible" | "priority">,
): boolean => preemptibilityOf(rules, spec) !== "never";
