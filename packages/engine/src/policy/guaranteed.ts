import type { Attempt, WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "./rules.ts";

/**
 * Whether work of this priority may use only its team's reserved topology, which it can always reclaim; otherwise it is
 * opportunistic. Reserved topology supports identical workers only: a gang with task groups is always opportunistic.
 */
export function isGuaranteed({ teams }: Pick<Rules, "teams">, spec: Pick<WorkloadSpec, "priority" | "gang">): boolean {
  return (
    teams.reservedTopology !== undefined &&
    spec.priority >= teams.reservedTopology.fromPriority &&
    spec.gang.taskGroups === undefined
  );
}

/** Like `isGuaranteed` for running work: a relabelled job is opportunistic. */
export function isGuaranteedOpportunistic(
  rules: Pick<Rules, "teams">,
  spec: Pick<WorkloadSpec, "priority" | "gang">,
  attempt: Pick<Attempt, "opportunistic">,
): boolean {
  return attempt.opportunistic !== true && isGuaranteed(rules, spec);
}
