/**
 * Places workers in the fewest fabric domains (`topology/place-workers.ts`): computes the number of workers for each
 * candidate node.
 */
import { domainOf } from "./fabric-choice.ts";
import { placeWorkers } from "../topology/place-workers.ts";
import type { FabricRequest, FabricRoom } from "../topology/place-workers.ts";
import type { DomainRange } from "../topology/domain-tree.ts";
import type { SiteFabric } from "../cluster/fabric-index.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";
import type { Candidate } from "./place-constrained.ts";
import { growingAttempt, nodeHeld } from "../cluster/request.ts";

/**
 * The chosen candidates, each with its number of workers. It is `null` if no site holds the request under its
 * constraints.
 */
export function fewestDomains(
  world: World,
  request: PlacementRequest,
  candidates: readonly Candidate[],
): readonly Candidate[] | null {
  const { rules, fabric, capacity } = world;
  const byNode = new Map(candidates.map((candidate) => [candidate.slot.node.id, candidate]));
  for (const site of fabric.sites(capacity.nodesEpoch)) {
    const asked = requestIn(site, request, isOfWholeSlices(world, request));
    const capacityOf = (leaf: number): number => byNode.get(site.nodes[leaf] as never)?.fits ?? 0;
    const room: FabricRoom = { leaves: leavesFor(world, site, request, asked), capacityOf };
    const policy = { usesRemnants: rules.fabric.unconstrainedToFullest, balances: rules.fabric.balanced };
    const outcome = placeWorkers(site.tree, asked, policy, room);
    if (outcome.kind !== "placed") continue;
    return outcome.portions.map(({ leaf, workers }) => ({
      slot: (byNode.get(site.nodes[leaf] as never) as Candidate).slot,
      fits: workers,
    }));
  }
  return null;
}

/** Returns whether the workers must be placed in whole slices. Growth must too, unless it completes a partial slice. */
function isOfWholeSlices(world: World, request: PlacementRequest): boolean {
  const { spec, workers, isGrowth, group } = request;
  const size = spec.fabric?.slices?.[0]?.workers ?? 1;
  if (!isGrowth || size === 1) return true;
  const running = growingAttempt(world, request)?.workers ?? [];
  const own = group === null ? running : running.filter((worker) => worker.taskGroup === group);
  return workers % size === 0 && own.length % size === 0;
}

function requestIn({ tree: { levels } }: SiteFabric, request: PlacementRequest, isInSlices: boolean): FabricRequest {
  const { spec, workers } = request;
  const { within, prefer, slices = [] } = spec.fabric ?? {};
  // Index of a level. A required level that the site does not have gets an index beyond the tree, so that nothing fits.
  // A preferred level that the site does not have is ignored.
  const level = (name: string | undefined): number | null => {
    if (name === undefined) return null;
    const index = levels.indexOf(name);
    return index < 0 ? levels.length : index;
  };
  return {
    workers,
    required: level(within),
    preferred: prefer !== undefined && levels.includes(prefer) ? level(prefer) : null,
    slices: !isInSlices
      ? []
      : slices.map((slice) => ({ level: level(slice.within) as number, workers: slice.workers })),
  };
}

/** The leaves of the required domain in which the gang runs, or of the whole site if there is no such domain. */
function leavesFor(world: World, site: SiteFabric, request: PlacementRequest, asked: FabricRequest): DomainRange {
  const all = { first: 0, end: site.tree.leafCount };
  const node = nodeHeld(world, request);
  const leaf = node === undefined ? undefined : site.leafOf.get(node);
  const { required } = asked;
  if (required === null || leaf === undefined || required >= site.tree.levels.length) return all;
  const domain = domainOf(site, required, leaf);
  return domain < 0 ? all : site.tree.leavesOf(required, domain);
}
