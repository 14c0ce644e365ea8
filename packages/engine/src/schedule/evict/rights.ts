/** Who may be evicted for whom, by the product's own rules. */
import type { Batch } from "../../batch.ts";
import type { Attempt, Workload } from "../../model/workload.ts";
import { isPreemptible } from "../../policy/preemptible.ts";
import { workloadOf } from "../../state/entities.ts";
import type { PlacementClass } from "../../state/queue.ts";
import { COMPARED, amountAt, claimToKeep, claimToTake } from "../order/standing.ts";
import type { Standing, Standings } from "../order/standing.ts";

/** Runs, may be evicted, and ran as long as it was promised to. */
export function isEvictable({ world, nowMs }: Batch, attempt: Attempt): boolean {
  if (attempt.stop !== null || attempt.leaving !== undefined || attempt.workers.length === 0) return false;
  const { spec } = workloadOf(world, attempt.workloadId);
  if (!isPreemptible(world.rules, spec)) return false;
  return spec.minRuntimeMs === undefined || nowMs - attempt.placedAtMs >= spec.minRuntimeMs;
}

/** In the same team, by higher priority alone. */
export function mayPreempt(beneficiary: PlacementClass, head: Workload, victim: Workload): boolean {
  return victim.spec.team === beneficiary.team && victim.spec.priority < head.spec.priority;
}

/** Whether the team would stay within what it may claim if it got the request. */
export function mayClaim({ world }: Batch, standings: Standings, beneficiary: PlacementClass): boolean {
  const request = world.teamUse.amountOf(beneficiary.gang, beneficiary.workers, "");
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

/**
 * Whether work of the team may be taken for another: at the two teams just below the lowest one they share, the victim's
 * holds more than it may claim of something that is asked for.
 */
export function isAboveClaim(
  { world }: Batch,
  standings: Standings,
  beneficiary: PlacementClass,
  victim: Workload,
): boolean {
  const pathOf = (name: Workload["spec"]["team"]): Standing["node"][] => {
    const path: Standing["node"][] = [];
    for (let node: Standing["node"] | null = world.teamUse.node(name); node !== null; node = node.parent)
      path.unshift(node);
    return path;
  };
  const own = pathOf(beneficiary.team);
  const other = pathOf(victim.spec.team);
  let depth = 0;
  while (depth < own.length && depth < other.length && own[depth] === other[depth]) depth++;
  const node = other[depth];
  if (node === undefined) return false;
  const standing = standings.get(node) as Standing;
  const request = world.teamUse.amountOf(beneficiary.gang, beneficiary.workers, "");
  return COMPARED.some(
    (position) => amountAt(request, position) > 0 && (node.used[position] ?? 0) > claimToKeep(standing, position),
  );
}
