import type { WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "./rules.ts";

/**
 * `always`: any plan that the policy makes may evict it. `aboveGuarantee`: its team's guarantee protects it; what the team holds above
 * can be reclaimed by a team that is below its own guarantee, and by nobody else. `never`: it stays within guarantees and is not evicted.
 */
export type Preemptibility = "always" | "aboveGuarantee" | "never";

/**
 * What work says itself comes first. Work that says nothing is preemptible below `preemptibleBelowPriority`, and otherwise as
 * `unstatedPreemptible` says. Policies that imitate another scheduler know two values: `aboveGuarantee` counts as nothing said there.
 */
export function preemptibilityOf(
  { eviction }: Pick<Rules, "eviction">,
  { preemptible, priority }: Pick<WorkloadSpec, "preemptible" | "priority">,
): Preemptibility {
  if (typeof preemptible === "boolean") return preemptible ? "always" : "never";
  const knowsGuarantees = eviction.search === "lowest-cost";
  if (preemptible === "aboveGuarantee" && knowsGuarantees) return "aboveGuarantee";
  const { preemptibleBelowPriority, unstatedPreemptible = "never" } = eviction;
  if (preemptibleBelowPriority === null || priority < preemptibleBelowPriority) return "always";
  return knowsGuarantees ? unstatedPreemptible : "never";
}

/** Whether there is anybody for whom work may be evicted; then it may use more than its team is guaranteed. */
export const isPreemptible = (
  rules: Pick<Rules, "eviction">,
  spec: Pick<WorkloadSpec, "preemptible" | "priority">,
): boolean => preemptibilityOf(rules, spec) !== "never";
