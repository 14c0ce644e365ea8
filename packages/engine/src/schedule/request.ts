/** What a class asks for at once, and what may stand in its way. */
import type { TeamName } from "../model/ids.ts";
import type { Attempt, WorkerAllocation } from "../model/workload.ts";
import type { TypeCapacity } from "../state/capacity.ts";
import type { PlacementClass } from "../state/queue.ts";
import { spentBudget } from "../budget/gate.ts";
import { ACCELERATORS_AT } from "../state/team-node.ts";
import type { Amount } from "../state/team-node.ts";
import type { QuotaReached, TeamUse } from "../state/team-use.ts";
import type { World } from "../state/world.ts";

export interface Placement {
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
}

/** The attempt that would have another worker; `null` for work that waits to start. */
export function growingAttempt({ state }: World, found: PlacementClass): Attempt | null {
  return found.grows === null ? null : (state.attempts.get(found.grows) ?? null);
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
export function quotaReached(
  { teamUse, rules, state }: World,
  found: PlacementClass,
  type: string,
): QuotaReached | null {
  const spent = spentBudget(state, found.team);
  if (spent !== null) return { bound: "budget", team: spent, resource: "budget", limit: 0, used: 0 };
  const amount = teamUse.amountOf(found.gang, found.workers, type);
  const limit = teamUse.limitReached(found, amount) ?? borrowingReached(teamUse, found.team, amount);
  if (limit !== null || found.isPreemptible || rules.teams.nonPreemptible === "limit") return limit;
  return teamUse.guaranteePassed(found.team, amount);
}

/** Where teams borrow: that nobody lends as much more as this would take. */
function borrowingReached(teamUse: TeamUse, team: TeamName, amount: Amount): QuotaReached | null {
  const { quota } = teamUse;
  if (quota === null) return null;
  const leaf = quota.leaf(team);
  const amounts = quota.amounts(amount);
  if (quota.tree.hasRoomFor(leaf, amounts)) return null;
  const resource = amounts.findIndex((more, at) => more > 0 && more > quota.tree.available(leaf, at));
  const position = quota.positions[Math.max(0, resource)] as number;
  const unit = position >= ACCELERATORS_AT ? 1000 : 1;
  const used = quota.tree.usage(leaf, Math.max(0, resource)) / unit;
  return {
    bound: "borrowing",
    team,
    resource: teamUse.resources[position] as string,
    limit: used + quota.tree.available(leaf, Math.max(0, resource)) / unit,
    used,
  };
}
