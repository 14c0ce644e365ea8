/**
 * Reason `workerShortfall`: enough accelerators of one type are free in total, but not all workers fit. States the
 * number that fits and the resource that the rest lack.
 */
import { findPlacement } from "../../placement/place.ts";
import { acceleratorsPerWorker } from "../../cluster/request.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import type { GangSpec } from "../../model/workload.ts";
import type { BlockedReason } from "../../contract/verdicts.ts";
import type { AcceptedNodes } from "./accepted-nodes.ts";
import { partShortfall } from "./explain-parts.ts";
import { placeableNow } from "./placeable-now.ts";
import { unmetConstraint } from "./unmet-constraint.ts";
import { nodeResources } from "../../model/node-resources.ts";

type WorkerShortfall = BlockedReason & { readonly kind: "workerShortfall" };

export function workerShortfall(
  world: World,
  request: PlacementRequest,
  accepted: readonly AcceptedNodes[],
): BlockedReason {
  const { gang, workers } = request;
  const { nodes: best, placeable } = accepted
    .map((nodes) => ({ nodes, placeable: nodes.placeable(gang) }))
    .reduce((left, right) => (right.placeable > left.placeable ? right : left));
  const base = { kind: "workerShortfall", workers, placeableWorkers: placeable, freeCount: best.freeCount } as const;
  const accelerators = { binding: "accelerators", neededPerWorker: acceleratorsPerWorker(world, request) } as const;
  if (placeable >= workers) {
    // All workers fit by counts, but not under the gang's constraints.
    const constraint = unmetConstraint(request, (freer) => findPlacement(world, freer) !== null);
    const lying = { ...base, ...accelerators, placeableWorkers: placeableNow(world, request) };
    return constraint === null ? lying : { ...lying, binding: constraint };
  }
  const beside = shortBeside(world, request, (changes) => best.placeable({ ...gang, ...changes }) > placeable);
  if (beside !== null) return { ...base, ...beside };
  if (gang.profile !== undefined) return partShortfall(request, best, placeable);
  return { ...base, ...accelerators };
}

const withoutResources: Partial<GangSpec> = Object.assign({}, ...nodeResources.map(({ none }) => none));

/** The resource other than accelerators that further workers lack; `null`: none. */
function shortBeside(
  world: World,
  request: PlacementRequest,
  helps: (changes: Partial<GangSpec>) => boolean,
): Pick<WorkerShortfall, "binding" | "neededPerWorker"> | null {
  const { gang } = request;
  const lacked = nodeResources.filter(({ none }) => helps(none));
  const [first, second] = lacked;
  if (first !== undefined && second === undefined) return { binding: first.name, neededPerWorker: first.asked(gang) };
  // Without accelerators, only the node as a whole can be short: some nodes lack one resource, some another, or take no
  // more workers.
  const isAlone = gang.accelerators === 0;
  if (isAlone || first !== undefined || helps(withoutResources))
    return { binding: "room", neededPerWorker: acceleratorsPerWorker(world, request) };
  return null;
}
