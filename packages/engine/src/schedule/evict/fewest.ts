/**
 * Single workers that their team is guaranteed take the place of the fewest others on one node, whose teams hold more than they
 * are guaranteed of something that is asked for, unless those could take it back by the same rule.
 */
import type { Batch } from "../../batch.ts";
import { partsOf } from "../../model/gang.ts";
import type { TeamName } from "../../model/ids.ts";
import type { Attempt, EvictionReason } from "../../model/workload.ts";
import { compareText } from "../../state/canonical.ts";
import { workloadOf } from "../../state/entities.ts";
import { Ledger } from "../../state/ledger.ts";
import type { NodeSlot } from "../../state/node-slot.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { Amount } from "../../state/team-node.ts";
import type { World } from "../../state/world.ts";
import { COMPARED, amountAt } from "../order/standing.ts";
import { findPlacement } from "../place.ts";
import { acceptableTypes, amountAsked } from "../request.ts";
import type { Plan, Victim } from "./plan.ts";
import { isEvictable } from "./rights.ts";

export function findFewest(batch: Batch, beneficiary: PlacementClass, reason: EvictionReason): Plan | null {
  const { world } = batch;
  if (
    reason !== "reclaimed" ||
    beneficiary.workers !== 1 ||
    !isWithinGuarantee(world, beneficiary.team, amountAsked(world, beneficiary, ""))
  )
    return null;
  const slots = acceptableTypes(world, beneficiary)
    .flatMap(({ slots: all }) => all)
    .filter(({ usable }) => usable)
    .toSorted((left, right) => compareText(left.node.id, right.node.id));
  let best: Plan | null = null;
  for (const slot of slots) {
    const plan = planOn(batch, beneficiary, slot);
    if (plan !== null && (best === null || plan.victims.length < best.victims.length)) best = plan;
  }
  return best;
}

/** For at least one resource that is asked for. */
function isWithinGuarantee({ teamUse }: World, team: TeamName, request: Amount): boolean {
  const node = teamUse.node(team);
  return COMPARED.some((position) => {
    const more = amountAt(request, position);
    return more > 0 && (node.used[position] ?? 0) + more <= (node.guarantee[position] ?? 0);
  });
}

/** The smallest set of victims on one node, smaller sets before larger ones and otherwise in order of name. */
function planOn(batch: Batch, beneficiary: PlacementClass, slot: NodeSlot): Plan | null {
  const { world } = batch;
  const there = [...slot.attempts.keys()]
    .flatMap((id) => world.state.attempts.get(id) ?? [])
    .filter((attempt) => {
      const { spec } = workloadOf(world, attempt.workloadId);
      return spec.team !== beneficiary.team && isEvictable(batch, attempt);
    })
    .toSorted(
      (left, right) =>
        compareText(nameOf(world, left), nameOf(world, right)) || left.placedSequence - right.placedSequence,
    );
  for (let count = 0; count <= there.length; count++) {
    const plan = planWith(world, { beneficiary, slot, there, count }, []);
    if (plan !== null) return plan;
  }
  return null;
}

const nameOf = (world: World, { workloadId }: Attempt): string => workloadOf(world, workloadId).spec.name;

interface OnNode {
  readonly beneficiary: PlacementClass;
  readonly slot: NodeSlot;
  readonly there: readonly Attempt[];
  readonly count: number;
}

function planWith(world: World, on: OnNode, chosen: readonly Attempt[]): Plan | null {
  if (chosen.length === on.count) return tryVictims(world, on, chosen);
  const from = chosen.length === 0 ? 0 : on.there.indexOf(chosen.at(-1) as Attempt) + 1;
  for (const attempt of on.there.slice(from)) {
    const plan = planWith(world, on, [...chosen, attempt]);
    if (plan !== null) return plan;
  }
  return null;
}

function tryVictims(world: World, { beneficiary }: OnNode, chosen: readonly Attempt[]): Plan | null {
  const ledger = new Ledger(world);
  const request = amountAsked(world, beneficiary, "");
  try {
    for (const attempt of chosen) {
      if (!isAboveGuarantee(world, workloadOf(world, attempt.workloadId).spec.team, request)) return null;
      ledger.vacate(attempt, 0);
    }
    const placement = findPlacement(world, beneficiary, "coming");
    if (placement === null) return null;
    ledger.occupy(beneficiary, placement);
    if (chosen.some((attempt) => couldTakeBack(world, beneficiary, attempt))) return null;
    return { beneficiary, placement, victims: chosen.map((attempt): Victim => ({ attempt, keeps: 0 })) };
  } finally {
    ledger.rollback();
  }
}

/** With the plan carried out the victim would stay within its guarantee, and the beneficiary's team would not. */
function couldTakeBack(world: World, { team }: PlacementClass, { workloadId, workers }: Attempt): boolean {
  const { spec } = workloadOf(world, workloadId);
  const again = world.teamUse.amountOfParts(partsOf(spec.gang, workers), () => "");
  return isWithinGuarantee(world, spec.team, again) && isAboveGuarantee(world, team, again);
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
