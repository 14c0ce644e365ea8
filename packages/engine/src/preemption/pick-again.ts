/**
 * Selects the accelerators of a placement again, on the same nodes, from those that are free or releasing. Which ones
 * are free or releasing is known only when the plan is complete.
 */
import { gangOfGroup, fractionOn, needsFraction, workerWithFraction, isOpen } from "@headroom/model";
import type { GangSpec, WorkerAllocation } from "@headroom/model";
import { partOn } from "../cluster/device-slices.ts";
import type { NodeSlot } from "../cluster/node-slot.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { Placement } from "../cluster/request.ts";
import type { World } from "../cluster/world.ts";
import { bestPart, give, partAt } from "../placement/place-parts.ts";

/**
 * The workers on the same nodes, with newly selected accelerators. It is `null` if too few are free or releasing there.
 */
export function pickAgain(
  world: World,
  { gang }: Pick<PlacementRequest, "gang">,
  { workers }: Pick<Placement, "workers">,
): readonly WorkerAllocation[] | null {
  const { capacity } = world;
  if (gang.taskGroups !== undefined) return pickGroups(world, gang, workers);
  if (gang.profile !== undefined) return pickParts(world, gang, workers);
  if (needsFraction(gang)) return pickFractions(world, gang, workers);
  if (gang.accelerators === 0) return workers;
  const taken = new Map<string, number>();
  const picked: WorkerAllocation[] = [];
  for (const { node } of workers) {
    const slot = capacity.slot(node);
    const skip = taken.get(node) ?? 0;
    if (slot.freeCount + slot.releasingCount < skip + gang.accelerators) return null;
    picked.push({ node, accelerators: slot.pick(skip, gang.accelerators, "releasing") });
    taken.set(node, skip + gang.accelerators);
  }
  return picked;
}

/** Picks group by group; each group sees the accelerators picked for the groups before it. */
function pickGroups(
  world: World,
  gang: GangSpec,
  workers: readonly WorkerAllocation[],
): readonly WorkerAllocation[] | null {
  const { capacity } = world;
  const picked: WorkerAllocation[] = [];
  let isWhole = true;
  for (const [group, own] of Map.groupBy(workers, (worker) => worker.taskGroup ?? 0)) {
    const again = pickAgain(world, { gang: gangOfGroup(gang, group) }, { workers: own });
    isWhole &&= again !== null;
    const placed = (again ?? []).map((worker) => ({ ...worker, taskGroup: group }));
    capacity.nomination(gang, placed, 1);
    picked.push(...placed);
  }
  capacity.nomination(gang, picked, -1);
  return isWhole ? picked : null;
}

/**
 * Keeps each accelerator that still has capacity for the fraction. Replaces any other one by the fullest accelerator of
 * the node that has capacity.
 */
function pickFractions(
  { capacity }: World,
  gang: GangSpec,
  workers: readonly WorkerAllocation[],
): readonly WorkerAllocation[] | null {
  const taken = new Map<string, number>();
  const picked: WorkerAllocation[] = [];
  for (const { node, accelerators } of workers) {
    const slot = capacity.slot(node);
    const milli = fractionOn(gang, slot.node);
    const roomOf = (index: number): number => slot.room(index, "releasing") - (taken.get(`${node} ${index}`) ?? 0);
    let best = Number(accelerators);
    if (roomOf(best) < milli) {
      best = -1;
      for (let index = 0; index < slot.totalCount; index++)
        if (roomOf(index) >= milli && (best < 0 || roomOf(index) < roomOf(best))) best = index;
    }
    if (best < 0) return null;
    taken.set(`${node} ${best}`, (taken.get(`${node} ${best}`) ?? 0) + milli);
    picked.push(workerWithFraction(gang, slot.node, best));
  }
  return picked;
}

/** Keeps the MIG slices that are still free. Replaces any other slice by the best free slice of the node. */
function pickParts(
  { capacity }: World,
  gang: GangSpec,
  workers: readonly WorkerAllocation[],
): readonly WorkerAllocation[] | null {
  const givenOf = new Map<NodeSlot, Map<number, number>>();
  const picked: WorkerAllocation[] = [];
  for (const worker of workers) {
    const slot = capacity.slot(worker.node);
    const given = givenOf.get(slot) ?? new Map<number, number>();
    givenOf.set(slot, given);
    const index = Number(worker.accelerators);
    const own = partOn(slot.node, gang)?.places.find(({ start }) => start === worker.slice);
    const taken = slot.slicesTaken(index, "releasing") + (given.get(index) ?? 0);
    if (own !== undefined && isOpen(own, taken)) {
      give(given, { index, digits: own.digits });
      picked.push({ node: worker.node, accelerators: worker.accelerators, slice: own.start });
      continue;
    }
    const spot = bestPart(slot, { shape: gang, layer: "releasing", given });
    if (spot === null) return null;
    give(given, spot);
    picked.push(partAt(slot, spot));
  }
  return picked;
}
