import type { AntiAffinityFrom, AntiAffinitySpec, WorkloadId, Node, WorkerAllocation } from "@headroom/model";
import { workloadOf } from "../../cluster/entities.ts";
import { EXCLUSIVE, avoiderKey, memberKey } from "../../cluster/marks.ts";
import type { Layer, NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import { growingAttempt } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import type { Filter, NodeCheck } from "./filter.ts";
import { quota } from "./quota.ts";

/**
 * Excludes topology domains with work that must not run near the request, because of the request's anti-affinity rules
 * or the rules of that work.
 */
export const antiAffinity: Filter = {
  signature: ({ spec }) => spec.gang.antiAffinity,
  basis: "work",
  appliesTo: looksAround,
  check: antiAffinityCheck,
  wakeOn: quota.wakeOn,
  explain: ({ world, request, place, placeableWorkers }) => {
    const placement = looksAround(world, request) ? place(request.with({ ignores: "antiAffinity" })) : null;
    const workloadIds = placement === null ? [] : inTheWay(world, request, placement);
    if (workloadIds.length === 0) return null;
    const { workers } = request;
    return { reasons: [{ kind: "antiAffinity", workloadIds, workers, placeableWorkers: placeableWorkers() }] };
  },
};

const ANYWHERE: NodeCheck = () => true;

/** Returns whether any anti-affinity rule must be checked: the request has a rule, or work on some node has one. */
export function looksAround({ capacity }: Pick<World, "capacity">, { gang }: Pick<PlacementRequest, "gang">): boolean {
  return gang.antiAffinity !== undefined || !capacity.marks.isEmpty;
}

export function antiAffinityCheck(world: World, request: PlacementRequest, layer: Layer): NodeCheck {
  if (request.ignores === "antiAffinity" || !looksAround(world, request)) return ANYWHERE;
  const { marks } = world.capacity;
  const { sets = [], from = [], exclusive } = request.gang.antiAffinity ?? {};
  const own = ownWorkers(world, request);
  const nodes = new Set<NodeSlot>();
  const domains = new Set<string>();
  const visit = (key: string, isOwn: boolean, block: (slot: NodeSlot) => void): void => {
    for (const [slot, count] of marks.on(key, layer)) if (count > (isOwn ? (own.get(slot) ?? 0) : 0)) block(slot);
  };
  visit(EXCLUSIVE, exclusive === true, (slot) => nodes.add(slot));
  for (const rule of from)
    visit(memberKey(rule.set), sets.includes(rule.set), (slot) => domains.add(domainOf(world, rule, slot.node)));
  const said = new Set(from.map(avoiderKey));
  const rules: AntiAffinityFrom[] = [...from];
  for (const set of sets) {
    for (const [key, rule] of marks.avoidersOf(set)) {
      rules.push(rule);
      visit(key, said.has(key), (slot) => domains.add(domainOf(world, rule, slot.node)));
    }
  }
  return (slot) =>
    !nodes.has(slot) &&
    !(exclusive === true && slot.workersBooked(layer) > (own.get(slot) ?? 0)) &&
    (domains.size === 0 || !rules.some((rule) => domains.has(domainOf(world, rule, slot.node))));
}

/** Returns whether all workers in `workers` satisfy the anti-affinity rules in the capacity view `layer`. */
export function respectsAntiAffinity(
  world: World,
  request: PlacementRequest,
  workers: readonly WorkerAllocation[],
  layer: Layer,
): boolean {
  const mayLie = antiAffinityCheck(world, request, layer);
  return mayLie === ANYWHERE || workers.every(({ node }) => mayLie(world.capacity.slot(node)));
}

const NAMED_MAX = 3;

/**
 * The first workloads, in order of placement, that conflict with the request by its own anti-affinity rules or by
 * theirs.
 */
function inTheWay(world: World, request: PlacementRequest, { workers }: Pick<Placement, "workers">): WorkloadId[] {
  const { state, capacity } = world;
  const named = new Set<WorkloadId>();
  const grows = growingAttempt(world, request)?.id;
  const slots = new Set(workers.map(({ node }) => capacity.slot(node)));
  for (const holder of [...state.attempts.values(), ...state.nominations.values()]) {
    if (named.size === NAMED_MAX) break;
    if (("id" in holder ? holder.id : holder.attemptId) === grows) continue;
    const other = workloadOf(world, holder.workloadId).spec.gang.antiAffinity ?? {};
    const near = holder.workers.some(({ node }) => {
      const theirs = capacity.slot(node);
      return [...slots].some((slot) => areTooNear(world, [request.gang.antiAffinity ?? {}, slot], [other, theirs]));
    });
    if (near) named.add(holder.workloadId);
  }
  return [...named];
}

type Lying = readonly [antiAffinity: AntiAffinitySpec, slot: NodeSlot];

function areTooNear(world: World, [one, slot]: Lying, [other, theirs]: Lying): boolean {
  if ((one.exclusive === true || other.exclusive === true) && slot === theirs) return true;
  const against = (left: AntiAffinitySpec, right: AntiAffinitySpec): readonly AntiAffinityFrom[] =>
    (left.from ?? []).filter(({ set }) => right.sets?.includes(set) === true);
  return [...against(one, other), ...against(other, one)].some(
    (rule) => domainOf(world, rule, slot.node) === domainOf(world, rule, theirs.node),
  );
}

/** Workers of the request's own gang by node; they never conflict. */
function ownWorkers(world: World, request: PlacementRequest): ReadonlyMap<NodeSlot, number> {
  const own = new Map<NodeSlot, number>();
  const running = growingAttempt(world, request)?.workers.slice(0, request.ownKept) ?? [];
  for (const { node } of [...running, ...request.beside]) {
    const slot = world.capacity.slot(node);
    own.set(slot, (own.get(slot) ?? 0) + 1);
  }
  return own;
}

/** Name of the rule's domain that contains the node, or the node's own name if no domain of the rule contains it. */
function domainOf({ state }: World, rule: AntiAffinityFrom, { id, labels, pool, fabric }: Node): string {
  if ("topologyKey" in rule) return `${rule.topologyKey}=${labels?.[rule.topologyKey] ?? `node ${id}`}`;
  const site = state.sites.get(state.pools.get(pool)?.site as never);
  const depth = site?.fabricLevels.indexOf(rule.within) ?? -1;
  if (site === undefined || depth < 0) return `node ${id}`;
  return `${rule.within} ${JSON.stringify([site.name, ...fabric.slice(0, depth + 1)])}`;
}
