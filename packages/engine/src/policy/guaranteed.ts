import type { Attempt, WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "./rules.ts";

/**
 * What shapes are laid out for is workers that are all alike: a gang of groups uses what is idle, whatever its priority.
 * Otherwise: whether work of this priority may use its team's shapes alone, and gets them back whenever it asks; else it uses what is idle.
 */
export function isGuaranteed({ teams }: Pick<Rules, "teams">, spec: Pick<WorkloadSpec, "priority" | "gang">): boolean {
  return (
    teams.reservedTopology !== undefined &&
    spec.priority >= teams.reservedTopology.fromPriority &&
    spec.gang.taskGroups === undefined
  );
}

/** The same of work that runs: a loan that was relabelled is one of what is idle from then on. */
export function isGuaranteedOpportunistic(
  rules: Pick<Rules, "teams">,
  spec: Pick<WorkloadSpec, "priority" | "gang">,
  attempt: Pick<Attempt, "opportunistic">,
): boolean {
  return attempt.opportunistic !== true && isGuaranteed(rules, spec);
}
