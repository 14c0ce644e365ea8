/** Who may be evicted for whom, by the product's own rules. */
import type { Batch } from "../../batch.ts";
import type { TeamName } from "../../model/ids.ts";
import { partsOf } from "../../model/gang.ts";
import type { Attempt, Workload } from "../../model/workload.ts";
import { isPreemptible } from "../../policy/preemptible.ts";
import { workloadOf } from "../../state/entities.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { TeamNode } from "../../state/team-node.ts";
import type { World } from "../../state/world.ts";
import { COMPARED, amountAt, claimToKeep, claimToTake } from "../order/standing.ts";
import { amountAsked } from "../request.ts";
import type { Standing, Standings } from "../order/standing.ts";

/** Runs, may be evicted, and ran as long as it was promised to. */
export function isEvictable({ world, nowMs }: Batch, attempt: Attempt): boolean {
  if (attempt.stop !== null || attempt.leaving !== undefined || attempt.workers.length === 0) return false;
  const { spec } = workloadOf(world, attempt.workloadId);
  if (!isPreemptible(world.rules, spec)) return false;
  return spec.minRuntimeMs === undefined || nowMs - attempt.placedAtMs >= spec.minRuntimeMs;
}

/** Whether it holds something on one of the types; of a gang of groups each may be on another. */
export function isOnAny({ capacity, state }: World, attempt: Attempt, types: ReadonlySet<string>): boolean {
  if (types.has(attempt.acceleratorType)) return true;
  if (state.workloads.get(attempt.workloadId)?.spec.gang.groups === undefined) return false;
  return attempt.workers.some(({ node }) => types.has(capacity.slot(node).node.acceleratorType));
}

/** In the same team, by higher priority alone. */
export function mayPreempt(beneficiary: PlacementClass, head: Workload, victim: Workload): boolean {
  return victim.spec.team === beneficiary.team && victim.spec.priority < head.spec.priority;
}

/** Whether the team would stay within what it may claim if it got the request. */
export function mayClaim({ world }: Batch, standings: Standings, beneficiary: PlacementClass): boolean {
  const request = amountAsked(world, beneficiary, "");
  for (let node = world.teamUse.node(beneficiary.team) as Standing["node"] | null; node !== null; node = node.parent) {
    const standing = standings.get(node) as Standing;
    const within = COMPARED.every((position) => {
      const more = amountAt(request, position);
      return more === 0 || (node?.used[position] ?? 0) + more <= claimToTake(standing, position);
    });
    if (!within) return false;
  }
  return true;
}

/** Workers that would leave for somebody. */
interface Taking {
  readonly beneficiary: PlacementClass;
  readonly attempt: Attempt;
  readonly workload: Workload;
  readonly keeps: number;
  readonly upTo: number;
}

/**
 * Whether workers may be taken for another team: at the two teams just below the lowest one they share, the victim's holds more
 * than it may claim of something that is asked for, and what would leave is a part of that.
 */
export function isAboveClaim({ world }: Batch, standings: Standings, taking: Taking): boolean {
  const { teamUse } = world;
  const { beneficiary, attempt, workload, keeps, upTo } = taking;
  const node = sideOf(world, beneficiary.team, workload.spec.team);
  if (node === null) return false;
  const standing = standings.get(node) as Standing;
  const request = amountAsked(world, beneficiary, "");
  const given = teamUse.amountOfParts(partsOf(workload.spec.gang, attempt.workers.slice(keeps, upTo)), () => "");
  return COMPARED.some(
    (position) =>
      amountAt(request, position) > 0 &&
      amountAt(given, position) > 0 &&
      (node.used[position] ?? 0) > claimToKeep(standing, position),
  );
}

/** Whether anything at all may be taken from a team for the request, as it stands now: what is taken only brings it down. */
export function holdsAboveClaim(
  world: World,
  standings: Standings,
  beneficiary: PlacementClass,
  team: TeamName,
): boolean {
  const node = sideOf(world, beneficiary.team, team);
  if (node === null) return false;
  const standing = standings.get(node) as Standing;
  const request = amountAsked(world, beneficiary, "");
  return COMPARED.some(
    (position) => amountAt(request, position) > 0 && (node.used[position] ?? 0) > claimToKeep(standing, position),
  );
}

/** Of the two teams just below the lowest one that both lie below, the other's; `null`: the other is above, or the same. */
function sideOf({ teamUse }: World, own: TeamName, other: TeamName): TeamNode | null {
  const above = new Set<TeamNode>();
  for (let at: TeamNode | null = teamUse.node(own); at !== null; at = at.parent) above.add(at);
  let side: TeamNode | null = null;
  for (let at: TeamNode | null = teamUse.node(other); at !== null && !above.has(at); at = at.parent) side = at;
  return side;
}
