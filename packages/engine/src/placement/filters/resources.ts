import { needsPart, partKey, openCount, slicesIn, nodeResources } from "@headroom/model";
import type { BlockedReason, FleetLack, GangSpec } from "@headroom/model";
import { partOn } from "../../cluster/device-slices.ts";
import { acceleratorsPerWorker, isInGroups, wholeNeeded } from "../../cluster/request.ts";
import { closedOn, workerShortfall } from "./between-workers.ts";
import type { WorkerShortfall } from "./between-workers.ts";
import type { Filter } from "./filter.ts";
import type { Inquiry } from "./inquiry.ts";

/**
 * Capacity of a node for the workers: accelerators, fractions or MIG slices, cores, memory (`NodeSlot.workersThatFit`).
 * It is the last filter that explains: what no other filter blocks lacks capacity.
 */
export const resources: Filter = {
  signature: ({ spec: { gang } }) =>
    gang.taskGroups ?? [
      gang.workers,
      gang.minWorkers,
      gang.accelerators,
      gang.coresMilli,
      gang.memoryMib,
      // Nested lists are never identical, so work that needs a part of a device is compared by a key instead.
      needsPart(gang) ? partKey(gang) : undefined,
    ],
  check: "amounts",
  wakeOn: [],
  explain: (inquiry) =>
    inquiry.exceedsFleet || isInGroups(inquiry.request)
      ? null
      : { reasons: [acceleratorShortfall(inquiry) ?? shortfallOfWorkers(inquiry)] },
  lack: (inquiry) => (inquiry.emptyFleetHolds ? null : lackOf(inquiry)),
};

/** No type has enough free accelerators. */
function acceleratorShortfall({ request, freest }: Inquiry): BlockedReason | null {
  const { acceleratorTypes } = request;
  const { freeCount, usableCount: fleetCount } = freest;
  const neededCount = wholeNeeded(request);
  if (freeCount >= neededCount) return null;
  const counts = { neededCount, freeCount, fleetCount };
  return { kind: "acceleratorShortfall", acceleratorTypes, ...counts, ...closedOn(freest) };
}

/** Enough accelerators of one type are free in total, but not all workers fit. */
function shortfallOfWorkers(inquiry: Inquiry): BlockedReason {
  const { world, request, best } = inquiry;
  const accelerators = { binding: "accelerators", neededPerWorker: acceleratorsPerWorker(world, request) } as const;
  // The number of workers fits, but not under all constraints together.
  if (best.placeable >= request.workers) return workerShortfall(inquiry, inquiry.placeableWorkers(), accelerators);
  const beside = shortBeside(inquiry);
  if (beside === null && request.gang.profile !== undefined) return partShortfall(inquiry);
  return workerShortfall(inquiry, best.placeable, beside ?? accelerators);
}

const withoutResources: Partial<GangSpec> = Object.assign({}, ...nodeResources.map(({ none }) => none));

/** The resource other than accelerators that further workers lack, or `null` if there is none. */
function shortBeside({
  world,
  request,
  best: { nodes, placeable },
}: Inquiry): Pick<WorkerShortfall, "binding" | "neededPerWorker"> | null {
  const { gang } = request;
  const helps = (changes: Partial<GangSpec>): boolean => nodes.placeable({ ...gang, ...changes }) > placeable;
  const [first, second] = nodeResources.filter(({ none }) => helps(none));
  if (first !== undefined && second === undefined) return { binding: first.name, neededPerWorker: first.asked(gang) };
  // For workers without accelerators, the shortage can only be stated as a whole: some nodes lack one resource, some
  // another, and some take no more workers.
  if (gang.accelerators === 0 || first !== undefined || helps(withoutResources))
    return { binding: "room", neededPerWorker: acceleratorsPerWorker(world, request) };
  return null;
}

const SLICES = 8;

function partShortfall({ request: { gang, workers }, best: { nodes, placeable } }: Inquiry): BlockedReason {
  const { profile = "" } = gang;
  let sliceCount = 0;
  let misalignedCount = 0;
  for (const slot of nodes.slots) {
    const part = partOn(slot.node, gang);
    if (part === undefined) continue;
    sliceCount = part.size;
    for (let index = 0; index < slot.totalCount; index++) {
      const taken = slot.slicesTaken(index, "idle");
      if (SLICES - slicesIn(taken) >= part.size && openCount(part, taken) === 0) misalignedCount++;
    }
  }
  return { kind: "partShortfall", profile, sliceCount, workers, placeableWorkers: placeable, misalignedCount };
}

/** The amount of which the empty fleet has too little for the number of workers. */
function lackOf(inquiry: Inquiry): FleetLack {
  const { world, request } = inquiry;
  const { gang } = request;
  if (gang.profile !== undefined && inquiry.most(({ node }) => (partOn(node, gang) === undefined ? 0 : 1)) === 0)
    return { of: "part", profile: gang.profile };
  const memory = gang.acceleratorMemoryMib ?? 0;
  const memoryMax = inquiry.most(({ node }) => node.acceleratorMemoryMib ?? 0);
  if (memory > memoryMax) return { of: "acceleratorMemory", perWorker: memory, perNodeMax: memoryMax };
  const placeable = inquiry.holds(gang);
  for (const { name, asked, of, none } of nodeResources)
    if (inquiry.holds({ ...gang, ...none }) > placeable)
      return { of: name, perWorker: asked(gang), perNodeMax: inquiry.most(({ node }) => of(node)) };
  const perWorker = acceleratorsPerWorker(world, request);
  return { of: "accelerators", perWorker, perNodeMax: inquiry.most(({ totalCount }) => totalCount) };
}
