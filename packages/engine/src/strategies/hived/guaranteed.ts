import type { Attempt, WorkloadSpec, Rules } from "@headroom/model";

/**
 * Whether work is guaranteed: it may use only its team's reserved topology, and can always reclaim it. Other work is
 * opportunistic. Reserved topology supports identical workers only, so a gang with task groups is always opportunistic.
 */
export function isGuaranteed({ teams }: Pick<Rules, "teams">, spec: Pick<WorkloadSpec, "priority" | "gang">): boolean {
  return (
    teams.reservedTopology !== undefined &&
    spec.priority >= teams.reservedTopology.fromPriority &&
    spec.gang.taskGroups === undefined
  );
}

/** Whether running work is guaranteed. Unlike in `isGuaranteed`, a relabelled job counts as opportunistic. */
export function isGuaranteedOpportunistic(
  rules: Pick<Rules, "teams">,
  spec: Pick<WorkloadSpec, "priority" | "gang">,
  attempt: Pick<Attempt, "opportunistic">,
): boolean {
  return attempt.opportunistic !== true && isGuaranteed(rules, spec);
}
