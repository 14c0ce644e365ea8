/**
 * Evictions under HiveD's rules, where teams own cells. Guaranteed work that fits in unused cells of its team evicts
 * opportunistic work from them. If all cells of the team are in use, work of higher priority takes the cells of work of
 * lower priority in the team. With lazy preemption, the work that lost its cells continues as opportunistic work,
 * unless the request needs its place.
 */
import { bisect, acceleratorIndices, wholeSlices, minWorkersOf } from "@headroom/model";
import type { AttemptId, Attempt, Workload } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import { isGuaranteed, isGuaranteedOpportunistic } from "./guaranteed.ts";
import { workloadOf } from "../../cluster/entities.ts";
import type { Layer } from "../../cluster/node-slot.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";
import { explainReservedTopology } from "./explain-reserved-topology.ts";
import { isGuaranteedRequest, isPlacedInCells, placeInCells } from "./place-in-cells.ts";
import { findPlacement } from "../../placement/place.ts";
import { placeConstrained } from "../../placement/place-constrained.ts";
import { acceptableTypes, quotaReached } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import { minimise } from "../../preemption/minimise.ts";
import type { Plan, Victim } from "../../preemption/plan.ts";
import { simulateWithout } from "../../preemption/simulate.ts";
import { simulate } from "../../cluster/ledger.ts";
import type { PlacementStrategy } from "../../placement/strategy.ts";
import type { PreemptionStrategy, Search } from "../../preemption/strategy.ts";
import { isEvictable, isOnAny } from "../../preemption/eligibility.ts";

/** Guaranteed work uses the cells of its team; other work uses any other cells. */
export const cells: PlacementStrategy = {
  appliesTo: isPlacedInCells,
  signature: ({ spec }, { rules }) => isGuaranteed(rules, spec) || undefined,
  place: placeInCells,
  explain: explainReservedTopology,
};

export const hived: PreemptionStrategy<Plan> = {
  preemptsByPriority: false,
  isEligible: ({ world }, preemptor, reason) =>
    (reason === "reclaimed" || reason === "preempted") &&
    isPlacedInCells(preemptor.request) &&
    isGuaranteedRequest(world, preemptor.request),

  *plan(batch, preemptor, reason) {
    const { world } = batch;
    // Terminating work frees enough capacity: no further victim is needed.
    if (findPlacement(world, preemptor.request, "releasing") !== null) return null;
    if (reason === "reclaimed") return yield searchAmong(batch, preemptor, findEvictions, []);
    const lower = lowerInTeam(batch, preemptor);
    // If evicting all lower-priority attempts does not make the request fit, no subset does. If no eviction were
    // needed, reclaim would have found a plan.
    if (lower.length === 0 || findEvictions(batch, preemptor, lower) === null) return null;
    const ways = world.rules.eviction.lazyPreemption ? [relabel, findEvictions] : [findEvictions];
    for (const way of ways) {
      const plan = yield searchAmong(batch, preemptor, way, lower);
      if (plan !== null) return plan;
    }
    return null;
  },
};

/** Makes a plan in which the given attempts give up their cells. Returns `null` if the request does not fit. */
type Way = (batch: Batch, preemptor: QueueBucket, given: readonly Attempt[]) => Plan | null;

interface CellPlan {
  readonly given: readonly Attempt[];
  readonly plan: Plan;
}

/**
 * Searches the attempts that must give up their cells. First finds the shortest sufficient prefix of the list `lower`,
 * which is in the order of trial. Then drops attempts that are not needed, starting with the last one.
 */
const searchAmong = (
  batch: Batch,
  preemptor: QueueBucket,
  way: Way,
  lower: readonly Attempt[],
): Search<readonly Attempt[], CellPlan, Plan> => ({
  candidates: [lower],
  simulate: () => leastGiven((given) => way(batch, preemptor, given), lower),
  minimise: ({ given, plan }) =>
    minimise(given, plan, {
      order: given.toReversed(),
      without: (_, rest) => way(batch, preemptor, rest()),
    }).found,
});

/**
 * The shortest prefix of the list that suffices, found by bisection. It is `null` if even the whole list does not
 * suffice.
 */
function leastGiven(planWith: (given: readonly Attempt[]) => Plan | null, lower: readonly Attempt[]): CellPlan | null {
  let plan = planWith(lower);
  if (plan === null) return null;
  const enough = bisect(0, lower.length, (count) => {
    const shorter = planWith(lower.slice(0, count));
    plan = shorter ?? plan;
    return shorter !== null;
  });
  return { given: lower.slice(0, enough), plan };
}

/** Guaranteed attempts of lower priority in the same team: lowest priority first, then youngest first. */
function lowerInTeam(batch: Batch, preemptor: QueueBucket): Attempt[] {
  const { world } = batch;
  const head = preemptor.waiting.first() as Workload;
  const types = new Set(acceptableTypes(world, preemptor.request).map(({ type }) => type));
  const priorityOf = ({ workloadId }: Attempt): number => workloadOf(world, workloadId).spec.priority;
  return [...world.state.attempts.values()]
    .filter((attempt) => {
      const { spec } = workloadOf(world, attempt.workloadId);
      if (spec.gang.accelerators === 0 || spec.priority >= head.spec.priority || !isOnAny(world, attempt, types))
        return false;
      return (
        isEvictable(batch, attempt) &&
        isGuaranteedOpportunistic(world.rules, spec, attempt) &&
        spec.team === preemptor.request.team
      );
    })
    .toSorted((left, right) => priorityOf(left) - priorityOf(right) || right.placedSequence - left.placedSequence);
}

/**
 * A plan that uses only idle accelerators: the given attempts give their cells to the request but keep running where
 * they are, as opportunistic work.
 */
function relabel({ world }: Batch, preemptor: QueueBucket, given: readonly Attempt[]): Plan | null {
  const placement = placeOn(world, preemptor, "idle", idsOf(given));
  return placement === null ? null : { preemptor, placement, victims: [], relabelled: given };
}

const idsOf = (attempts: readonly Attempt[]): ReadonlySet<AttemptId> => new Set(attempts.map(({ id }) => id));

function placeOn(
  world: World,
  preemptor: QueueBucket,
  layer: Layer,
  relabelled: ReadonlySet<AttemptId>,
): Placement | null {
  for (const type of acceptableTypes(world, preemptor.request)) {
    if (quotaReached(world, preemptor.request, type.type) !== null) continue;
    const workers = placeConstrained(world, preemptor.request, { type, layer, relabelled });
    if (workers !== null) return { acceleratorType: type.type, workers };
  }
  return null;
}

/**
 * A plan that evicts the opportunistic work, and those of the given attempts, that hold part of the request's place.
 * Without lazy preemption, it evicts all given attempts.
 */
function findEvictions(batch: Batch, preemptor: QueueBucket, given: readonly Attempt[]): Plan | null {
  const { world } = batch;
  const relabelled = idsOf(given);
  const candidates = [...opportunisticJobs(batch, preemptor), ...given];
  const placement = simulateWithout(
    world,
    candidates.map((attempt) => ({ attempt, keeps: 0 })),
    () => placeOn(world, preemptor, "releasing", relabelled),
  );
  if (placement === null) return null;
  const isLazyPreemption = world.rules.eviction.lazyPreemption;
  /** Without lazy preemption, an attempt that gives up its cells is evicted completely. */
  const goes = ({ id }: Attempt): boolean => !isLazyPreemption && relabelled.has(id);
  const all = candidates.map((attempt): Victim => ({
    attempt,
    keeps: goes(attempt) ? 0 : keptBeside(world, attempt, placement),
    ground: relabelled.has(attempt.id) ? "withinTeam" : "reclaimGuarantee",
  }));
  let victims = all.filter(({ attempt, keeps }) => keeps < attempt.workers.length);
  if (!simulateWithout(world, victims, () => isFree(world, preemptor, placement))) {
    // The placement lacks cores, memory or worker slots on its nodes, so every attempt there is a victim.
    const nodes = new Set(placement.workers.map(({ node }) => node));
    const isThere = ({ workers }: Attempt): boolean => workers.some(({ node }) => nodes.has(node));
    victims = all.filter(({ attempt }) => isThere(attempt) || goes(attempt)).map((victim) => ({ ...victim, keeps: 0 }));
  }
  const missing = missingForQuota(world, preemptor, placement, victims, all);
  if (missing === null) return null;
  victims = [...victims, ...missing];
  const terminating = new Set(victims.filter(({ keeps }) => keeps === 0).map(({ attempt }) => attempt));
  return { preemptor, placement, victims, relabelled: given.filter((attempt) => !terminating.has(attempt)) };
}

/**
 * Further victims outside the request's place, as few as possible, because the request needs their quota. `others` are
 * the attempts that may be evicted. The result is `null` if the quotas do not allow the placement even if all of them
 * are evicted.
 */
function missingForQuota(
  world: World,
  preemptor: QueueBucket,
  placement: Placement,
  victims: readonly Victim[],
  others: readonly Victim[],
): readonly Victim[] | null {
  const isAllowed = (more: readonly Victim[]): boolean =>
    simulateWithout(
      world,
      [...victims, ...more],
      () => quotaReached(world, preemptor.request, placement.acceleratorType) === null,
    );
  const known = new Set(victims.map(({ attempt }) => attempt));
  const missing: Victim[] = [];
  for (const victim of others) {
    if (isAllowed(missing)) break;
    if (!known.has(victim.attempt)) missing.push({ ...victim, keeps: 0 });
  }
  if (!isAllowed(missing)) return null;
  const without = (_: Victim, rest: () => readonly Victim[]): true | null => (isAllowed(rest()) ? true : null);
  return minimise(missing, true, { order: missing.toReversed(), without }).needed;
}

/** Preemptible opportunistic attempts on the same accelerator types, except the preemptor's own. */
function opportunisticJobs(batch: Batch, preemptor: QueueBucket): Attempt[] {
  const { world } = batch;
  const head = preemptor.waiting.first() as Workload;
  const types = new Set(acceptableTypes(world, preemptor.request).map(({ type }) => type));
  return [...world.state.attempts.values()].filter((attempt) => {
    const { spec, id } = workloadOf(world, attempt.workloadId);
    if (id === head.id || !isOnAny(world, attempt, types)) return false;
    return !isGuaranteedOpportunistic(world.rules, spec, attempt) && isEvictable(batch, attempt);
  });
}

/**
 * Number of workers that the attempt may keep: the workers of lower rank than its first worker in the request's place.
 * It is 0 if these are fewer than the minimum of the gang.
 */
function keptBeside(world: World, attempt: Attempt, { workers }: Placement): number {
  const { spec } = workloadOf(world, attempt.workloadId);
  const first = attempt.workers.findIndex((held) => workers.some((wanted) => meets(held, wanted)));
  if (first < 0) return attempt.workers.length;
  const whole = wholeSlices(spec, attempt.workers, first);
  return whole >= minWorkersOf(spec.gang) ? whole : 0;
}

type Worker = Placement["workers"][number];

function meets(held: Worker, wanted: Worker): boolean {
  if (held.node !== wanted.node) return false;
  const indices = new Set(acceleratorIndices(held.accelerators));
  return acceleratorIndices(wanted.accelerators).some((index) => indices.has(index));
}

/** Returns whether all workers of the placement fit at the same time. */
const isFree = (world: World, preemptor: QueueBucket, { acceleratorType, workers }: Placement): boolean =>
  simulate(world, (ledger) =>
    workers.every((worker) => {
      if (!world.capacity.slot(worker.node).couldHold(worker, preemptor.request.gang, "releasing")) return false;
      ledger.occupy(preemptor.request, { acceleratorType, workers: [worker] });
      const { capacity } = world;
      return capacity.hasPower(capacity.slot(worker.node), worker.accelerators, "releasing");
    }),
  );
