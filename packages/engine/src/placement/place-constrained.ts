/**
 * Places requests for which counts of free accelerators do not suffice: selectors, fractions, fabric, spreading,
 * scores, and plans on releasing capacity. Each usable node of the accelerator type that may fit is read once.
 */
import { fractionOn, needsFraction, needsPart, workerWithFraction } from "@headroom/model";
import type { NodeId, WorkerAllocation } from "@headroom/model";
import { workerAsk } from "../state/demand-mix.ts";
import type { Layer, NodeSlot } from "../cluster/node-slot.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { SiteFabric } from "../cluster/fabric-index.ts";
import type { World } from "../cluster/world.ts";
import type { Where } from "./place-on-type.ts";
import { nodeCheck } from "./filters/filters.ts";
import { partsOn } from "./place-parts.ts";
import { isScored } from "./score/place-by-score.ts";
import { nodeOrder } from "./score/node-order.ts";
import { dataPlaces } from "./filters/data-places.ts";
import { fewestDomains } from "./fabric-fewest.ts";
import { domainOf, fabricChoices } from "./fabric-choice.ts";
import { growingAttempt } from "../cluster/request.ts";
import { scoresOf } from "./score/score-index.ts";
import { placementStrategy } from "./strategy.ts";
import { PowerBudget, leastShared, metersFor } from "./power-budget.ts";
import type { PowerLayer } from "../cluster/power-meters.ts";

/** A node that could take workers of the request, and their maximum number. */
export interface Candidate {
  readonly slot: NodeSlot;
  readonly fits: number;
}

export function placeConstrained(
  world: World,
  request: PlacementRequest,
  where: Where,
): readonly WorkerAllocation[] | null {
  // First tries to place all workers on nodes that store most of the inputs, then on nodes that store fewer, and at
  // last on any node.
  for (const inputsHeldMin of dataPlaces(world, request.spec).tiers) {
    if (inputsHeldMin < request.inputsHeldMin) break;
    const near = inputsHeldMin === 0 ? request : request.with({ inputsHeldMin });
    const workers = placeNear(world, near, where);
    if (workers !== null) return workers;
  }
  return null;
}

function placeNear(world: World, request: PlacementRequest, where: Where): readonly WorkerAllocation[] | null {
  const { layer } = where;
  const byDomains = choosesDomains(world, request);
  // The choice of domains compares how many workers each could hold. So a node counts all workers that fit, not only
  // the requested number.
  const most = byDomains ? WORKERS_COUNTED_MAX : request.workers;
  const candidates = candidatesOn(world, request, where, most);
  const spreadOver = (): DomainBudget => domainBudget(world, request, layer);
  const strategy = placementStrategy(world, request);
  const placeOn = (chosen: readonly Candidate[]): readonly WorkerAllocation[] | null =>
    strategy === null
      ? assign(world, request, chosen, layer)
      : strategy.place(world, request, { ...where, candidates: chosen, spreadOver });
  if (byDomains) {
    const chosen = fewestDomains(world, request, withinBudget(world, request, { candidates, layer }));
    const workers = chosen === null ? null : placeOn(chosen);
    return workers === null ? null : ranked(world, request, workers);
  }
  for (const choice of fabricChoices(world, request, candidates)) {
    const workers = placeOn(choice);
    if (workers !== null) return ranked(world, request, workers);
  }
  return null;
}

/**
 * With fabric constraints, ranks follow the fabric: neighbouring ranks are close, and every slice is a sequence of
 * consecutive ranks.
 */
function ranked(
  world: World,
  { spec, workers: count, isGrowth }: PlacementRequest,
  workers: readonly WorkerAllocation[],
): readonly WorkerAllocation[] {
  if (spec.fabric === undefined || isGrowth || count === 1) return workers;
  const [first] = workers;
  const site = world.fabric.sites(world.capacity.nodesEpoch).find(({ leafOf }) => leafOf.has(first?.node as NodeId));
  if (site === undefined) return workers;
  return groupedByDomain(site, workers);
}

/** Groups nodes by domain, from the widest level down, in the order in which the domains were filled. */
function groupedByDomain(site: SiteFabric, workers: readonly WorkerAllocation[]): readonly WorkerAllocation[] {
  const { levels } = site.tree;
  const firstOf = levels.map(() => new Map<number, number>());
  const placed = workers.map((worker, at) => {
    // A gang is within one site or in none; nodes of other sites come last.
    const leaf = site.leafOf.get(worker.node) ?? -1;
    const firsts = levels.map((_, level) => {
      const domain = leaf < 0 ? -1 : domainOf(site, level, leaf);
      const first = firstOf[level]?.get(domain) ?? (domain < 0 ? workers.length : at);
      firstOf[level]?.set(domain, first);
      return first;
    });
    return { worker, firsts };
  });
  const compare = (left: readonly number[], right: readonly number[]): number =>
    left.map((first, level) => first - (right[level] as number)).find((difference) => difference !== 0) ?? 0;
  return placed.toSorted((left, right) => compare(left.firsts, right.firsts)).map(({ worker }) => worker);
}

const WORKERS_COUNTED_MAX = 1_000_000;

/**
 * Returns whether the request is placed in the fewest fabric domains. Requests with slices always are. Other requests
 * are if the policy chooses the fewest domains, and either the request has fabric constraints or the policy also
 * applies this to requests without them. The algorithm does not support a maximum number of workers per label value.
 */
function choosesDomains({ rules }: World, { spec: { fabric, spread } }: PlacementRequest): boolean {
  if (fabric?.slices !== undefined) return true;
  if (rules.fabric.choose !== "fewest" || spread !== undefined) return false;
  return fabric !== undefined || rules.fabric.unconstrainedToFullest;
}

function candidatesOn(world: World, request: PlacementRequest, { type, layer }: Where, most: number): Candidate[] {
  const { gang } = request;
  const passes = nodeCheck(world, request, { layer });
  const meters = metersFor(world, request);
  const power = meters === null ? null : new PowerBudget(meters, gang, layer);
  const candidates: Candidate[] = [];
  for (const slot of type.roomy(needsPart(gang) ? 0 : gang.accelerators, layer)) {
    const whole = slot.freeCount + (layer === "idle" ? 0 : slot.releasingCount);
    if ((!needsPart(gang) && whole < gang.accelerators) || !slot.usable || !passes(slot)) continue;
    const room = slot.workersThatFit(gang, most, layer);
    const fits = power === null ? room : Math.min(room, power.left(slot));
    if (fits > 0) candidates.push({ slot, fits });
  }
  return candidates;
}

/** Fills the candidates in the policy's order. Returns `null` if they do not hold all requested workers. */
function assign(
  world: World,
  request: PlacementRequest,
  candidates: readonly Candidate[],
  layer: Layer,
): readonly WorkerAllocation[] | null {
  const { workers: count } = request;
  const room = candidates.reduce((sum, { fits }) => sum + fits, 0);
  if (room < count) return null;
  const order = nodeOrder(world, request, { candidates, layer });
  const workers = fill(world, request, order, layer);
  const meters = workers === null ? metersFor(world, request) : null;
  return meters?.areCrossing === true ? fill(world, request, leastShared(meters, candidates), layer) : workers;
}

function fill(
  world: World,
  request: PlacementRequest,
  candidates: Iterable<Candidate>,
  layer: Layer,
): readonly WorkerAllocation[] | null {
  const { workers: count } = request;
  const spread = domainBudget(world, request, layer);
  const workers: WorkerAllocation[] = [];
  for (const { slot, fits } of candidates) {
    const most = Math.min(fits, count - workers.length, spread.left(slot));
    spread.take(slot, most);
    workers.push(...workersOn(world, request, slot, most, layer));
    if (workers.length === count) return workers;
  }
  return null;
}

/** Workers of a gang on one node, each with its own accelerators or its part of one. */
function workersOn(
  world: World,
  { gang }: PlacementRequest,
  slot: NodeSlot,
  count: number,
  layer: Layer,
): WorkerAllocation[] {
  const node = slot.node.id;
  if (gang.profile !== undefined) return partsOn(slot, count, { shape: gang, layer });
  if (needsFraction(gang)) {
    const byScore = layer === "idle" && isScored(world, gang);
    const first = byScore ? scoresOf(world).acceleratorOf(world, slot, workerAsk(gang)) : -1;
    const indices = fractionsOn(fractionOn(gang, slot.node), slot, count, layer, first);
    return indices.map((index) => workerWithFraction(gang, slot.node, index));
  }
  return Array.from({ length: count }, (_, index) => ({
    node,
    accelerators: gang.accelerators === 0 ? "" : slot.pick(index * gang.accelerators, gang.accelerators, layer),
  }));
}

/**
 * Chooses an accelerator for each fraction: the fullest one that holds it, and of equally full ones the one with the
 * lowest index. The first fraction goes to the accelerator `first` that the scores prefer, unless `first` is -1.
 */
function fractionsOn(milli: number, slot: NodeSlot, count: number, layer: Layer, first: number): number[] {
  const rooms = Array.from({ length: slot.totalCount }, (_, index) => slot.room(index, layer));
  return Array.from({ length: count }, (_, position) => {
    let best = position === 0 ? first : -1;
    rooms.forEach((room, index) => {
      if (position === 0 && first >= 0) return;
      if (room >= milli && (best < 0 || room < (rooms[best] as number))) best = index;
    });
    rooms[best] = (rooms[best] as number) - milli;
    return best;
  });
}

export interface DomainBudget {
  left(slot: NodeSlot): number;
  take(slot: NodeSlot, count: number): void;
}

/**
 * Limits the number of workers on each candidate, so that any choice among the candidates satisfies the maximum per
 * label value and the power caps. Candidates with more capacity get their workers first.
 */
export function withinBudget(
  world: World,
  request: PlacementRequest,
  { candidates, layer }: { readonly candidates: readonly Candidate[]; readonly layer: PowerLayer },
): readonly Candidate[] {
  if (!isLimited(world, request)) return candidates;
  const budget = domainBudget(world, request, layer);
  return candidates
    .toSorted((left, right) => right.fits - left.fits || left.slot.position - right.slot.position)
    .flatMap(({ slot, fits }) => {
      const most = Math.min(fits, budget.left(slot));
      budget.take(slot, most);
      return most === 0 ? [] : [{ slot, fits: most }];
    });
}

/** Whether label values or power caps limit the workers of the request on several nodes together. */
export const isLimited = (world: World, request: PlacementRequest): boolean =>
  request.spec.spread !== undefined || metersFor(world, request) !== null;

const UNLIMITED: DomainBudget = { left: () => Number.MAX_SAFE_INTEGER, take: () => undefined };

/** Counts how many further workers of the gang each value of the spreading label and each power cap admits. */
export function domainBudget(
  world: World,
  request: PlacementRequest,
  layer: PowerLayer,
  { addsUpPower = true }: { readonly addsUpPower?: boolean } = {},
): DomainBudget {
  const meters = metersFor(world, request);
  const spread = spreadBudget(world, request);
  if (meters === null) return spread;
  const power = new PowerBudget(meters, request.gang, layer);
  if (spread === UNLIMITED && addsUpPower) return power;
  return {
    left: (slot) => Math.min(spread.left(slot), power.left(slot)),
    take: (slot, count) => {
      spread.take(slot, count);
      if (addsUpPower) power.take(slot, count);
    },
  };
}

function spreadBudget(world: World, request: PlacementRequest): DomainBudget {
  const { spread } = request.spec;
  if (spread === undefined) return UNLIMITED;
  const used = new Map<string, number>();
  const valueOf = ({ node }: NodeSlot): string => node.labels?.[spread.topologyKey] ?? node.id;
  const take = (slot: NodeSlot, count: number): void =>
    void used.set(valueOf(slot), (used.get(valueOf(slot)) ?? 0) + count);
  for (const { node } of [...(growingAttempt(world, request)?.workers ?? []), ...request.beside])
    take(world.capacity.slot(node), 1);
  return { left: (slot) => Math.max(0, spread.maxPerDomain - (used.get(valueOf(slot)) ?? 0)), take };
}
