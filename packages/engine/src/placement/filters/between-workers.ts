/** Reasons of constraints between the workers of a gang, and the form of the reason that not all workers fit. */
import type { BlockedReason, ClosedCapacity } from "@headroom/model";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import { acceleratorsPerWorker, isInGroups } from "../../cluster/request.ts";
import type { World } from "../../cluster/world.ts";
import type { AcceptedNodes } from "./accepted-nodes.ts";
import type { Filter } from "./filter.ts";
import type { Inquiry } from "./inquiry.ts";

export type WorkerShortfall = BlockedReason & { readonly kind: "workerShortfall" };

/**
 * The reasons of a filter that constrains workers together: all workers fit by their number, and without this one
 * constraint they also fit together. `without` returns the request without the constraint, or `null` if it has none.
 */
export const betweenWorkers = (
  of: "spread" | "fabric" | "executor",
  without: (request: PlacementRequest, world: World) => PlacementRequest | null,
): Pick<Filter, "explain" | "lack"> => ({
  explain: (inquiry) => {
    const { world, request, exceedsFleet } = inquiry;
    const freer = exceedsFleet ? null : without(request, world);
    if (freer === null || !fitsByNumber(inquiry, of) || inquiry.place(freer) === null) return null;
    const binding = { binding: of, neededPerWorker: acceleratorsPerWorker(world, request) };
    return { reasons: [workerShortfall(inquiry, inquiry.placeableWorkers(), binding)] };
  },
  lack: (inquiry) => {
    const freer = inquiry.emptyFleetHolds ? without(inquiry.request, inquiry.world) : null;
    return freer !== null && inquiry.fitsFleet(freer) ? { of } : null;
  },
});

export function withoutConstraint(request: PlacementRequest, name: "spread" | "fabric"): PlacementRequest | null {
  const { [name]: constraint, ...spec } = request.spec;
  return constraint === undefined ? null : request.with({ spec });
}

/** Task groups are explained one after another. Only the executor is a constraint between groups. */
const fitsByNumber = (inquiry: Inquiry, of: string): boolean =>
  isInGroups(inquiry.request) ? of === "executor" : inquiry.best.placeable >= inquiry.request.workers;

export const workerShortfall = (
  inquiry: Inquiry,
  placeableWorkers: number,
  { binding, neededPerWorker }: Pick<WorkerShortfall, "binding" | "neededPerWorker">,
): WorkerShortfall => {
  const nodes = isInGroups(inquiry.request) ? inquiry.freest : inquiry.best.nodes;
  const { freeCount } = nodes;
  const { workers } = inquiry.request;
  const counts = { workers, placeableWorkers, freeCount };
  return { kind: "workerShortfall", ...counts, binding, neededPerWorker, ...closedOn(nodes) };
};

/** Field of a reason that states free accelerators: those on closed nodes, which are not counted. */
export function closedOn({ closedCapacity }: AcceptedNodes): { readonly closed?: ClosedCapacity } {
  return closedCapacity === null ? {} : { closed: closedCapacity };
}
