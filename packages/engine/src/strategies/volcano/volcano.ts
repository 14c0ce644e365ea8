/**
 * Preemption of Volcano's capacity plugin. A request of one worker within its team's guarantee evicts the fewest
 * attempts on one node. Victims belong to teams above their guarantee of a requested resource. A victim is excluded if
 * it could preempt the new work by the same rule.
 */
import { partsOf, compareText } from "@headroom/model";
import type { TeamName, Attempt } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import { amountHeld } from "../../cluster/amounts.ts";
import { workloadOf } from "../../cluster/entities.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import { COMPARED, FIRST_TYPE_AT, amountAt } from "../../cluster/team-node.ts";
import type { Amount, TeamNode } from "../../cluster/team-node.ts";
import type { World } from "../../cluster/world.ts";
import { findPlacement } from "../../placement/place.ts";
import { acceptableTypes, amountAsked } from "../../cluster/request.ts";
import { minimise } from "../../preemption/minimise.ts";
import type { Plan, Victim } from "../../preemption/plan.ts";
import { simulateWithout } from "../../preemption/simulate.ts";
import { simulate } from "../../cluster/ledger.ts";
import type { PreemptionStrategy, Search } from "../../preemption/strategy.ts";
import { isEvictable, pathToSide } from "../../preemption/eligibility.ts";

export const volcano: PreemptionStrategy<Plan> = {
  preemptsByPriority: true,
  isEligible: ({ world }, preemptor, reason) =>
    reason === "reclaimed" &&
    preemptor.request.workers === 1 &&
    isWithinGuarantee(world, preemptor.request.team, amountAsked(world, preemptor.request, "")),

  *plan(batch, preemptor) {
    const slots = acceptableTypes(batch.world, preemptor.request)
      .flatMap(({ slots: all }) => all)
      .filter(({ usable }) => usable)
      .toSorted((left, right) => compareText(left.node.id, right.node.id));
    let best: Plan | null = null;
    for (const slot of slots) {
      const plan: Plan | null = yield searchOn(batch, preemptor, slot);
      if (plan !== null && (best === null || plan.victims.length < best.victims.length)) best = plan;
    }
    return best;
  },
};

/** Returns whether the guarantee states at least one requested resource for which the request stays within it. */
function isWithinGuarantee({ teamUse }: World, team: TeamName, request: Amount): boolean {
  const node = teamUse.node(team);
  return COMPARED.some((position) => {
    const more = amountAt(request, position);
    const guarantee = node.guarantee[position] ?? Number.POSITIVE_INFINITY;
    if (more === 0 || guarantee === Number.POSITIVE_INFINITY) return false;
    return (node.used[position] ?? 0) + more <= guarantee;
  });
}

interface VolcanoChoice {
  readonly victims: readonly Attempt[];
  /** True if every smaller set of victims was tried before. */
  readonly isSmallest: boolean;
}

/** Searches victims on one node: smaller sets before larger ones, and sets of equal size by the names of their work. */
const searchOn = (batch: Batch, preemptor: QueueBucket, slot: NodeSlot): Search<VolcanoChoice, Plan, Plan> => ({
  candidates: choicesOn(batch, preemptor, slot),
  simulate: ({ victims }) => planWith(batch.world, preemptor, victims),
  minimise: (plan, { victims, isSmallest }) => {
    if (isSmallest) return plan;
    const without = (_: Attempt, rest: () => readonly Attempt[]): Plan | null =>
      planWith(batch.world, preemptor, rest());
    return minimise(victims, plan, { order: victims, without }).found;
  },
});

/**
 * Maximum number of sets tried on one node: all sets of up to twelve attempts, and the smallest sets of more attempts.
 */
const TRIES_MAX = 4096;

function* choicesOn(batch: Batch, preemptor: QueueBucket, slot: NodeSlot): Generator<VolcanoChoice> {
  const { world } = batch;
  const nameOf = ({ workloadId }: Attempt): string => workloadOf(world, workloadId).spec.name;
  const donors = [...slot.attempts.keys()]
    .flatMap((id) => world.state.attempts.get(id) ?? [])
    .filter((attempt) => {
      const { spec } = workloadOf(world, attempt.workloadId);
      return spec.team !== preemptor.request.team && isEvictable(batch, attempt);
    })
    .toSorted((left, right) => compareText(nameOf(left), nameOf(right)) || left.placedSequence - right.placedSequence)
    .filter((attempt) => mayGive(world, preemptor, attempt));
  // If evicting all of them does not make the request fit, no subset does.
  const all = donors.map((attempt) => ({ attempt, keeps: 0 }));
  if (simulateWithout(world, all, () => findPlacement(world, preemptor.request, "releasing")) === null) return;
  let left = TRIES_MAX;
  for (let count = 0; count <= donors.length && left > 0; count++) {
    for (const victims of choicesOf(donors, count)) {
      yield { victims, isSmallest: true };
      if (--left === 0) break;
    }
  }
  if (left > 0) return;
  // There are too many sets to try all, so victims are added one by one until the request fits.
  for (let count = 1; count <= donors.length; count++) yield { victims: donors.slice(0, count), isSmallest: false };
}

/** All subsets with `count` items, in order. */
function* choicesOf<Item>(items: readonly Item[], count: number, from = 0): Generator<readonly Item[]> {
  if (count === 0) return yield [];
  for (let at = from; at <= items.length - count; at++)
    for (const rest of choicesOf(items, count - 1, at + 1)) yield [items[at] as Item, ...rest];
}

function planWith(world: World, preemptor: QueueBucket, chosen: readonly Attempt[]): Plan | null {
  return simulate(world, (ledger) => {
    for (const attempt of chosen) {
      if (!mayGive(world, preemptor, attempt)) return null;
      ledger.vacate(attempt, 0);
    }
    const placement = findPlacement(world, preemptor.request, "releasing");
    if (placement === null) return null;
    ledger.occupy(preemptor.request, placement);
    if (chosen.some((attempt) => couldUndo(world, preemptor, attempt))) return null;
    return { preemptor, placement, victims: chosen.map((attempt): Victim => ({ attempt, keeps: 0 })) };
  });
}

/**
 * Returns whether the victim could preempt in turn: after the plan, the victim would be within its team's guarantee
 * while the preemptor's team is above its own.
 */
function couldUndo(world: World, { request: { team } }: QueueBucket, { workloadId, workers }: Attempt): boolean {
  const { spec } = workloadOf(world, workloadId);
  const again = world.teamUse.amountOfParts(partsOf(spec.gang, workers), () => "");
  return isWithinGuarantee(world, spec.team, again) && isAboveGuarantee(world, team, again);
}

/**
 * Returns whether the attempt may be evicted for the preemptor. Its team must exceed its guarantee for a requested
 * resource. So must every team above it, up to but not including the lowest common ancestor of both teams.
 */
function mayGive(world: World, preemptor: QueueBucket, attempt: Attempt): boolean {
  const { spec } = workloadOf(world, attempt.workloadId);
  const request = amountAsked(world, preemptor.request, "");
  if (!isAboveGuarantee(world, spec.team, request)) return false;
  const given = amountHeld(world, spec.gang, attempt);
  return pathToSide(world, preemptor.request.team, spec.team).every(
    (node) => !holdsByEntitlement(node, request, given),
  );
}

/**
 * Returns whether the guarantee protects the team's work: the team is within its guarantee for an accelerator type that
 * the eviction would free, or for every requested resource.
 */
function holdsByEntitlement({ used, guarantee }: TeamNode, request: Amount, given: Amount): boolean {
  const isCovered = (position: number): boolean =>
    (used[position] ?? 0) <= (guarantee[position] ?? Number.NEGATIVE_INFINITY);
  for (let position = FIRST_TYPE_AT; position < guarantee.length; position++)
    if (Number.isFinite(guarantee[position]) && amountAt(given, position) > 0 && isCovered(position)) return true;
  return COMPARED.every((position) => {
    const isStated = Number.isFinite(guarantee[position] ?? Number.POSITIVE_INFINITY);
    return amountAt(request, position) === 0 || (isStated && isCovered(position));
  });
}

/** Returns whether the team holds more than its guarantee of a requested resource. */
function isAboveGuarantee({ teamUse }: World, team: TeamName, request: Amount): boolean {
  const node = teamUse.node(team);
  return COMPARED.some(
    (position) =>
      amountAt(request, position) > 0 &&
      (node.used[position] ?? 0) > (node.guarantee[position] ?? Number.POSITIVE_INFINITY),
  );
}
