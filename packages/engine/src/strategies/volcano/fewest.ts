/**
 * Single workers that their team is guaranteed take the place of the fewest others on one node, whose teams hold more than they
 * are guaranteed of something that is asked for, unless those could take it back by the same rule.
 */
import type { Batch } from "../../batch/batch.ts";
import { partsOf } from "../../model/gang.ts";
import type { TeamName } from "../../model/ids.ts";
import type { Attempt, EvictionReason } from "../../model/workload.ts";
import { compareText } from "../../base/canonical.ts";
import { amountHeld } from "../../cluster/amounts.ts";
import { workloadOf } from "../../cluster/entities.ts";
import { Ledger } from "../../cluster/ledger.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import { COMPARED, FIRST_TYPE_AT, amountAt } from "../../cluster/team-node.ts";
import type { Amount, TeamNode } from "../../cluster/team-node.ts";
import type { World } from "../../cluster/world.ts";
import { findPlacement } from "../../placement/place.ts";
import { acceptableTypes, amountAsked } from "../../cluster/request.ts";
import type { Plan, Victim } from "../../preemption/plan.ts";
import { isEvictable, pathToSide } from "../../preemption/eligibility.ts";

export function findFewest(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): Plan | null {
  const { world } = batch;
  if (
    reason !== "reclaimed" ||
    preemptor.request.workers !== 1 ||
    !isWithinGuarantee(world, preemptor.request.team, amountAsked(world, preemptor.request, ""))
  )
    return null;
  const slots = acceptableTypes(world, preemptor.request)
    .flatMap(({ slots: all }) => all)
    .filter(({ usable }) => usable)
    .toSorted((left, right) => compareText(left.node.id, right.node.id));
  let best: Plan | null = null;
  for (const slot of slots) {
    const plan = planOn(batch, preemptor, slot);
    if (plan !== null && (best === null || plan.victims.length < best.victims.length)) best = plan;
  }
  return best;
}

/** For at least one resource that is asked for and that the guarantee states. */
function isWithinGuarantee({ teamUse }: World, team: TeamName, request: Amount): boolean {
  const node = teamUse.node(team);
  return COMPARED.some((position) => {
    const more = amountAt(request, position);
    const guarantee = node.guarantee[position] ?? Number.POSITIVE_INFINITY;
    if (more === 0 || guarantee === Number.POSITIVE_INFINITY) return false;
    return (node.used[position] ?? 0) + more <= guarantee;
  });
}

/** The smallest set of victims on one node, smaller sets before larger ones and otherwise in order of name. */
function planOn(batch: Batch, preemptor: QueueBucket, slot: NodeSlot): Plan | null {
  const { world } = batch;
  const there = [...slot.attempts.keys()]
    .flatMap((id) => world.state.attempts.get(id) ?? [])
    .filter((attempt) => {
      const { spec } = workloadOf(world, attempt.workloadId);
      return spec.team !== preemptor.request.team && isEvictable(batch, attempt);
    })
    .toSorted(
      (left, right) =>
        compareText(nameOf(world, left), nameOf(world, right)) || left.placedSequence - right.placedSequence,
    );
  const donors = there.filter((attempt) => mayGive(world, preemptor, attempt));
  if (!hasRoomWithout(world, preemptor, donors)) return null;
  const tries = { left: TRIES_MAX };
  for (let count = 0; count <= donors.length && tries.left > 0; count++) {
    const plan = planWith(world, { preemptor, slot, there: donors, count, tries }, []);
    if (plan !== null) return plan;
  }
  return tries.left > 0 ? null : planInOrder(world, preemptor, donors);
}

/** Where there are too many to look at every choice: one after the other until it fits, then those stay after all that can. */
function planInOrder(world: World, preemptor: QueueBucket, donors: readonly Attempt[]): Plan | null {
  const fits = (chosen: readonly Attempt[]): Plan | null => tryVictims(world, preemptor, chosen);
  for (let count = 1; count <= donors.length; count++) {
    let plan = fits(donors.slice(0, count));
    if (plan === null) continue;
    for (const donor of donors.slice(0, count)) {
      const rest: readonly Attempt[] = plan.victims
        .map(({ attempt }) => attempt)
        .filter((attempt) => attempt !== donor);
      plan = fits(rest) ?? plan;
    }
    return plan;
  }
  return null;
}

/** Sets of victims that are looked at on one node: all of any twelve that run there, the smallest of more. */
const TRIES_MAX = 4096;

/** Whether it fits when all of them are gone; if not, no choice among them helps. */
function hasRoomWithout(world: World, preemptor: QueueBucket, donors: readonly Attempt[]): boolean {
  const ledger = new Ledger(world);
  try {
    for (const attempt of donors) ledger.vacate(attempt, 0);
    return findPlacement(world, preemptor.request, "releasing") !== null;
  } finally {
    ledger.rollback();
  }
}

const nameOf = (world: World, { workloadId }: Attempt): string => workloadOf(world, workloadId).spec.name;

interface VictimsOnNode {
  readonly preemptor: QueueBucket;
  readonly slot: NodeSlot;
  readonly there: readonly Attempt[];
  readonly count: number;
  readonly tries: { left: number };
}

function planWith(world: World, on: VictimsOnNode, chosen: readonly Attempt[]): Plan | null {
  if (chosen.length === on.count) return on.tries.left-- > 0 ? tryVictims(world, on.preemptor, chosen) : null;
  if (on.tries.left <= 0) return null;
  const from = chosen.length === 0 ? 0 : on.there.indexOf(chosen.at(-1) as Attempt) + 1;
  for (const attempt of on.there.slice(from)) {
    const plan = planWith(world, on, [...chosen, attempt]);
    if (plan !== null) return plan;
  }
  return null;
}

function tryVictims(world: World, preemptor: QueueBucket, chosen: readonly Attempt[]): Plan | null {
  const ledger = new Ledger(world);
  try {
    for (const attempt of chosen) {
      if (!mayGive(world, preemptor, attempt)) return null;
      ledger.vacate(attempt, 0);
    }
    const placement = findPlacement(world, preemptor.request, "releasing");
    if (placement === null) return null;
    ledger.occupy(preemptor.request, placement);
    if (chosen.some((attempt) => couldUndo(world, preemptor.request, attempt))) return null;
    return { preemptor, placement, victims: chosen.map((attempt): Victim => ({ attempt, keeps: 0 })) };
  } finally {
    ledger.rollback();
  }
}

/** With the plan carried out the victim would stay within its guarantee, and the beneficiary's team would not. */
function couldUndo(world: World, { team }: PlacementRequest, { workloadId, workers }: Attempt): boolean {
  const { spec } = workloadOf(world, workloadId);
  const again = world.teamUse.amountOfParts(partsOf(spec.gang, workers), () => "");
  return isWithinGuarantee(world, spec.team, again) && isAboveGuarantee(world, team, again);
}

/**
 * The team holds more than it is guaranteed of something that is asked for, and nobody above it, up to the team that both lie
 * below, is guaranteed what it holds.
 */
function mayGive(world: World, preemptor: QueueBucket, attempt: Attempt): boolean {
  const { spec } = workloadOf(world, attempt.workloadId);
  const request = amountAsked(world, preemptor.request, "");
  if (!isAboveGuarantee(world, spec.team, request)) return false;
  const given = amountHeld(world, spec.gang, attempt);
  return pathToSide(world, preemptor.request.team, spec.team).every((node) => !holdsByRight(node, { request, given }));
}

interface Exchange {
  readonly request: Amount;
  readonly given: Amount;
}

/** Of a type that would be given, or else of all that is asked for, the team is guaranteed as much as it holds. */
function holdsByRight({ used, guarantee }: TeamNode, { request, given }: Exchange): boolean {
  const isCovered = (position: number): boolean =>
    (used[position] ?? 0) <= (guarantee[position] ?? Number.NEGATIVE_INFINITY);
  for (let position = FIRST_TYPE_AT; position < guarantee.length; position++)
    if (Number.isFinite(guarantee[position]) && amountAt(given, position) > 0 && isCovered(position)) return true;
  return COMPARED.every((position) => {
    const isStated = Number.isFinite(guarantee[position] ?? Number.POSITIVE_INFINITY);
    return amountAt(request, position) === 0 || (isStated && isCovered(position));
  });
}

/** The team holds more than it is guaranteed of something that is asked for. */
function isAboveGuarantee({ teamUse }: World, team: TeamName, request: Amount): boolean {
  const node = teamUse.node(team);
  return COMPARED.some(
    (position) =>
      amountAt(request, position) > 0 &&
      (node.used[position] ?? 0) > (node.guarantee[position] ?? Number.POSITIVE_INFINITY),
  );
}
