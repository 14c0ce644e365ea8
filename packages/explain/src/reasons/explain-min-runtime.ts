/** The reason `minRuntime`: the request could preempt work of its own team if that work's minimum runtime were over. */
import {
  isOnAny,
  mayPreempt,
  preemptionStrategy,
  findPlacement,
  acceptableTypes,
  byPlacement,
  workloadOf,
  simulate,
} from "@headroom/engine/internals";
import type { PlacementRequest, World } from "@headroom/engine/internals";
import type { Attempt, Workload, BlockedReason } from "@headroom/model";

/**
 * Maximum number of preemptible attempts of a team for which this reason is computed. For larger teams it costs too
 * much.
 */
const EVICTABLE_MAX = 256;
/** Maximum number of victims tried, in the order in which their minimum runtimes end. */
const TERMINATING_MAX = 16;

interface ProtectedVictim {
  readonly attempt: Attempt;
  readonly fromMs: number;
}

/**
 * The reason `minRuntime` with the victim whose minimum runtime the request waits for. `null` if no minimum runtime
 * blocks the request.
 */
export function explainMinRuntime(
  world: World,
  request: PlacementRequest,
  workload: Workload,
  nowMs: number,
): BlockedReason | null {
  const victimCandidates = victimCandidatesOf(world, request, workload);
  if (!victimCandidates.some(({ fromMs }) => fromMs > nowMs)) return null;
  const isRoom = (): boolean => findPlacement(world, request, "releasing") !== null;
  return simulate(world, (ledger) => {
    for (const { attempt } of victimCandidates.filter(({ fromMs }) => fromMs <= nowMs)) ledger.vacate(attempt, 0);
    // Victim candidates whose minimum runtime is over would suffice, so something else protects them.
    if (isRoom()) return null;
    const later = victimCandidates
      .filter(({ fromMs }) => fromMs > nowMs)
      .toSorted((left, right) => left.fromMs - right.fromMs || byPlacement(left.attempt, right.attempt));
    for (const { attempt, fromMs } of later.slice(0, TERMINATING_MAX)) {
      ledger.vacate(attempt, 0);
      if (isRoom()) return { kind: "minRuntime", workloadId: attempt.workloadId, untilMs: fromMs };
    }
    return null;
  });
}

function victimCandidatesOf(world: World, request: PlacementRequest, head: Workload): readonly ProtectedVictim[] {
  const { rules, evictable } = world;
  const work = evictable.get(request.team)?.always;
  if (work === undefined || work.size > EVICTABLE_MAX || work.priorityMin >= head.spec.priority) return [];
  if (!rules.phases.includes("preempt") || !preemptionStrategy(world).preemptsByPriority) return [];
  const types = new Set(acceptableTypes(world, request).map(({ type }) => type));
  return [...work.attempts].flatMap((attempt): readonly ProtectedVictim[] => {
    const workload = workloadOf(world, attempt.workloadId);
    if (!isOnAny(world, attempt, types) || !mayPreempt(head, workload)) return [];
    return [{ attempt, fromMs: attempt.placedAtMs + (workload.spec.minRuntimeMs ?? 0) }];
  });
}
