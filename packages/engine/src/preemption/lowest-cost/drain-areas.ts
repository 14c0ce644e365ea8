/**
 * Chooses nodes to clear under the request's placement constraints: accepted nodes only, one domain of a required
 * fabric level, the maximum of workers for each topology value, and whole slices. The choice only counts workers.
 * Placing the preemptor and the victims then shows whether it works (`place-again.ts`).
 */
import type { NodeId, FabricSpec } from "@headroom/model";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { SiteFabric } from "../../cluster/fabric-index.ts";
import type { World } from "../../cluster/world.ts";
import { antiAffinityCheck, looksAround } from "../../placement/filters/anti-affinity.ts";
import { domainOf } from "../../placement/fabric-choice.ts";
import { domainBudget } from "../../placement/place-constrained.ts";
import type { Candidate, DomainBudget } from "../../placement/place-constrained.ts";
import type { DrainArea } from "./consolidate.ts";

/** Nodes with capacity, and nodes that could each be cleared for one more worker, the cheapest first. */
export interface Area {
  readonly roomy: readonly Candidate[];
  readonly drainCandidates: readonly DrainArea[];
}

/**
 * Removes the nodes that anti-affinity excludes from the nodes with capacity. Among the nodes to clear they come last,
 * but are kept, because the conflicting work may be the work that migrates.
 */
export function antiAffinityFrom(world: World, bucket: QueueBucket, { roomy, drainCandidates }: Area): Area {
  if (!looksAround(world, bucket.request)) return { roomy, drainCandidates };
  const mayLie = antiAffinityCheck(world, bucket.request, "idle");
  const isOpen = ({ slot }: DrainArea): number => Number(!mayLie(slot));
  return {
    roomy: roomy.filter(({ slot }) => mayLie(slot)),
    drainCandidates: drainCandidates.toSorted((left, right) => isOpen(left) - isOpen(right)),
  };
}

/** The domains that could each hold the whole request; one area if the request requires no fabric level. */
export function areasFor(world: World, { spec: { fabric } }: PlacementRequest, area: Area): readonly Area[] {
  const level = fabric?.within;
  return level === undefined ? [area] : byDomain(world, level, area);
}

/** Divides the area by the domains of a level, site by site. Nodes of sites without that level are left out. */
function byDomain(world: World, name: string, area: Area): readonly Area[] {
  return world.fabric.sites(world.capacity.nodesEpoch).flatMap((site) => {
    const level = site.tree.levels.indexOf(name);
    if (level < 0) return [];
    const domain = ({ slot }: { readonly slot: NodeSlot }): number => domainAt(site, level, slot.node.id);
    const roomy = Map.groupBy(area.roomy, domain);
    const drainCandidates = Map.groupBy(area.drainCandidates, domain);
    return [...new Set([...roomy.keys(), ...drainCandidates.keys()])]
      .filter((at) => at >= 0)
      .toSorted((left, right) => left - right)
      .map((at) => ({ roomy: roomy.get(at) ?? [], drainCandidates: drainCandidates.get(at) ?? [] }));
  });
}

const domainAt = (site: SiteFabric, level: number, node: NodeId): number =>
  domainOf(site, level, site.leafOf.get(node) ?? -1);

/**
 * The cheapest nodes to clear until the area holds the request by counts. The list is empty if the area holds the
 * request already: then something other than capacity blocks it. The result is `null` if clearing nodes does not
 * suffice.
 */
export function chooseIn(world: World, bucket: QueueBucket, area: Area): readonly DrainArea[] | null {
  const [slice, ...inside] = bucket.request.spec.fabric?.slices ?? [];
  return slice === undefined ? oneByOne(world, bucket, area) : bySlices(world, bucket, area, slice, inside);
}

function oneByOne(world: World, bucket: QueueBucket, { roomy, drainCandidates }: Area): readonly DrainArea[] | null {
  // Nodes to clear give up their draw, so only the caps themselves count here.
  const budget = domainBudget(world, bucket.request, "empty");
  let missing = bucket.request.workers - workersOn(roomy, budget);
  const chosen: DrainArea[] = [];
  for (const drainCandidate of drainCandidates) {
    if (missing <= 0) break;
    if (budget.left(drainCandidate.slot) === 0) continue;
    budget.take(drainCandidate.slot, 1);
    chosen.push(drainCandidate);
    missing--;
  }
  return missing <= 0 ? chosen : null;
}

function workersOn(roomy: readonly Candidate[], budget: DomainBudget): number {
  let count = 0;
  for (const { slot, fits } of roomy) {
    const more = Math.min(fits, budget.left(slot));
    budget.take(slot, more);
    count += more;
  }
  return count;
}

type DrainSlice = NonNullable<FabricSpec["slices"]>[number];

/** Number of workers that fit on the nodes in whole slices of every level. */
function fitsInSlices(world: World, roomy: readonly Candidate[], [next, ...rest]: readonly DrainSlice[]): number {
  if (next === undefined) return roomy.reduce((sum, { fits }) => sum + fits, 0);
  return byDomain(world, next.within, { roomy, drainCandidates: [] }).reduce((sum, part) => {
    const fits = fitsInSlices(world, part.roomy, rest);
    return sum + fits - (fits % next.workers);
  }, 0);
}

/** Nodes to clear for one more slice in a domain. */
interface SliceMore {
  readonly drainCandidates: readonly DrainArea[];
  readonly cost: number;
}

/**
 * Chooses the nodes to clear slice by slice, the cheapest slice of all domains first. Slices nested within a slice are
 * not checked for nodes to clear. `inside` lists the nested slices, the wider first.
 */
function bySlices(
  world: World,
  bucket: QueueBucket,
  area: Area,
  slice: DrainSlice,
  inside: readonly DrainSlice[],
): readonly DrainArea[] | null {
  let missing = bucket.request.workers / slice.workers;
  const more: SliceMore[] = [];
  for (const { roomy, drainCandidates } of byDomain(world, slice.within, area)) {
    const fits = fitsInSlices(world, roomy, inside);
    missing -= Math.floor(fits / slice.workers);
    let cost = 0;
    for (let at = 0, next = slice.workers - (fits % slice.workers); at + next <= drainCandidates.length;) {
      const chosen = drainCandidates.slice(at, at + next);
      // The next slice of a domain comes after this one, so its cost must not be lower.
      cost = Math.max(cost, costOf(chosen));
      more.push({ drainCandidates: chosen, cost });
      at += next;
      next = slice.workers;
    }
  }
  const count = Math.max(0, missing);
  if (more.length < count) return null;
  return more
    .toSorted((left, right) => left.cost - right.cost)
    .slice(0, count)
    .flatMap(({ drainCandidates }) => drainCandidates);
}

const costOf = (drainCandidates: readonly DrainArea[]): number =>
  drainCandidates.reduce((sum, { cost }) => sum + cost, 0);
