/** What a class asks for at once, and what may stand in its way. */
import type { AttemptId } from "../model/ids.ts";
import type { Attempt, WorkerAllocation, Workload } from "../model/workload.ts";
import type { TypeCapacity } from "../state/capacity.ts";
import type { PlacementClass } from "../state/queue.ts";
import type { LimitReached } from "../state/team-use.ts";
import type { World } from "../state/world.ts";

export interface Placement {
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
}

/** The attempt that would have another worker; `null` for work that waits to start. */
export function growingAttempt({ state }: World, found: PlacementClass): Attempt | null {
  if (!found.isGrowth) return null;
  const workload = found.waiting.first() as Workload;
  return state.attempts.get(workload.activeAttempts[0] as AttemptId) ?? null;
}

/** The types that may hold it, most preferred first; a gang that runs stays on its own. */
export function acceptableTypes(world: World, found: PlacementClass): readonly TypeCapacity[] {
  const attempt = growingAttempt(world, found);
  return world.capacity.acceptable(attempt === null ? found.acceleratorTypes : [attempt.acceleratorType]);
}

/**
 * What the quotas say against placing the request on a type: a limit, from the team up, or, for work that is not preemptible,
 * a guarantee; `null` if nothing.
 */
export function quotaReached({ teamUse, rules }: World, found: PlacementClass, type: string): LimitReached | null {
  const amount = teamUse.amountOf(found.gang, found.workers, type);
  const limit = teamUse.limitReached(found.team, amount);
  if (limit !== null || found.isPreemptible || rules.teams.nonPreemptible === "limit") return limit;
  return teamUse.guaranteePassed(found.team, amount);
}
