import type { WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "./rules.ts";

/**
 * `always`: any plan of the policy may evict it. `aboveGuarantee`: usage within its team's guarantee is protected;
 * usage above it can be reclaimed only by a team below its own guarantee. `never`: it is not
 * evicted, and `teams.nonPreemptible` bounds what it may use.
 */
export type Preemptibility = "always" | "aboveGuarantee" | "never";

/**
 * The work's own statement comes first. Work that states nothing is preemptible below `preemptibleBelowPriority`;
 * otherwise `unstatedPreemptible` decides. Policies that imitate another scheduler treat `aboveGuarantee` like no
 * statement.
 */
export function preemptibilityOf(
  { eviction }: Pick<Rules, "eviction">,
  { preemptible, priority }: Pick<WorkloadSpec, "preemptible" | "priority">,
): Preemptibility {
  if (typeof preemptible === "boolean") return preemptible ? "always" : "never";
  const knowsGuarantees = eviction.search === "lowest-cost";
  if (preemptible === "aboveGuarantee" && knowsGuarantees) return "aboveGuarantee";
  const { preemptibleBelowPriority, unstatedPreemptible } = eviction;
  if (preemptibleBelowPriority === null || priority < preemptibleBelowPriority) return "always";
  return knowsGuarantees ? unstatedPreemptible : "never";
}

/** Whether any work could evict it; if so, it may use more than its team's guarantee. */
export const isPreemptible = (
  rules: Pick<Rules, "eviction">,
  spec: Pick<WorkloadSpec, "preemptible" | "priority">,
): boolean => preemptibilityOf(rules, spec) !== "never";
