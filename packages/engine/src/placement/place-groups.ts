/**
 * Places a gang with task groups: all groups or none, one after another, largest workers first. If a group then finds
 * no capacity, other orders are tried. Each group is placed like a separate gang beside the groups before it; if its
 * accelerator type leaves too little for the next group, the next type is tried. The gang's fabric constraints apply to
 * all groups together.
 */
import { milliOf, specOfGroup, groupsToGrow, minWorkersOf } from "@headroom/model";
import type { NodeId, GangSpec, WorkerAllocation, WorkloadSpec } from "@headroom/model";
import { amountHeld } from "../cluster/amounts.ts";
import type { Layer } from "../cluster/node-slot.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";
import { withinOneExecutor } from "./filters/executor.ts";
import { domainsFor } from "./group-domains.ts";
import { placeOnType } from "./place-on-type.ts";
import { acceptableTypes, growingAttempt, quotaReachedBy } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { isPlacedByScore, placeByScore } from "./score/place-by-score.ts";

export interface GroupsWhere {
  readonly layer: Layer;
  /** True if the search checks the quotas. If false, the caller checks them. */
  readonly heedsQuotas: boolean;
}

/** Maximum number of placements tried for one group while types are combined. */
const TRIES_MAX = 64;

export function placeGroups(world: World, request: PlacementRequest, where: GroupsWhere): Placement | null {
  if (request.isGrowth) return placeFurther(world, request, where);
  for (const one of withinOneExecutor(world, request))
    for (const among of domainsFor(world, one)) {
      const workers = new GroupPlacing(world, one, { ...where, among }).place();
      if (workers !== null) return placementOf(world, one.spec, workers);
    }
  return null;
}

/** Calls `ask` for the first group that finds no capacity, with the earlier groups booked. */
export function askOfRefused<Answer>(
  world: World,
  request: PlacementRequest,
  ask: (group: PlacementRequest) => Answer | null,
): Answer | null {
  const [among = null] = domainsFor(world, request);
  return new GroupPlacing(world, request, { layer: "idle", heedsQuotas: true, among }).askOfRefused(ask);
}

/** The request for the workers of one task group alone. */
function classOfGroup(
  request: PlacementRequest,
  group: number,
  more: Partial<Pick<PlacementRequest, "workers" | "among" | "beside">>,
): PlacementRequest {
  const spec = specOfGroup(request.spec, group);
  const { gang, acceleratorTypes } = spec;
  const workers = request.counts?.[group] ?? minWorkersOf(gang);
  const own = { spec, gang, acceleratorTypes, group, workers, ...more };
  return request.with(own);
}

/** The order in which task groups are placed: groups with larger workers first, because fewer nodes can hold these. */
function placingOrder({ taskGroups = [] }: GangSpec): readonly number[] {
  return taskGroups
    .map((group, index) => ({ ...group, index, milli: group.accelerators * milliOf(group) }))
    .toSorted(
      (left, right) =>
        right.milli - left.milli ||
        right.coresMilli - left.coresMilli ||
        right.memoryMib - left.memoryMib ||
        left.index - right.index,
    )
    .map(({ index }) => index);
}

/** Workers in rank order: by group, and within a group in the order of placement. */
function placementOf({ capacity }: World, { gang }: WorkloadSpec, workers: readonly WorkerAllocation[]): Placement {
  const ranked = workers.toSorted((left, right) => (left.taskGroup ?? 0) - (right.taskGroup ?? 0));
  const leading = gang.taskGroups?.findIndex(({ accelerators }) => accelerators > 0) ?? 0;
  const first = ranked.find(({ taskGroup }) => taskGroup === Math.max(0, leading)) as WorkerAllocation;
  return { acceleratorType: capacity.slot(first.node).node.acceleratorType, workers: ranked };
}

/** Places further workers of one group, on the accelerator type of its running workers. */
function placeFurther(world: World, request: PlacementRequest, { layer, heedsQuotas }: GroupsWhere): Placement | null {
  const attempt = growingAttempt(world, request);
  if (attempt === null) return null;
  const groups =
    request.group === null ? groupsToGrow(request.gang, attempt.workers, request.workers) : [request.group];
  const domain = domainsFor(world, request).next();
  if (domain.done === true) return null;
  const among = domain.value;
  for (const group of groups) {
    const one = classOfGroup(request, group, { workers: request.workers, among });
    for (const type of acceptableTypes(world, one)) {
      const amountOf = () => world.teamUse.amountOf(one.gang, one.workers, type.type);
      if (heedsQuotas && quotaReachedBy(world, request, amountOf) !== null) continue;
      const workers = placeOnType(world, one, { type, layer });
      if (workers === null) continue;
      const { acceleratorType } = attempt;
      return { acceleratorType, workers: workers.map((worker) => ({ ...worker, taskGroup: group })) };
    }
  }
  return null;
}

interface TaskGroupPlacing extends GroupsWhere {
  readonly among: ReadonlySet<NodeId> | null;
}

/** Placed groups are booked as nominations until the gang is complete, then released. */
class GroupPlacing {
  readonly #world: World;
  readonly #request: PlacementRequest;
  readonly #where: TaskGroupPlacing;
  readonly #largestFirst: readonly number[];
  #order: readonly number[];
  readonly #placed: WorkerAllocation[] = [];
  #triesLeft = TRIES_MAX;
  #furthest = -1;
  #askAt: { readonly depth: number; readonly ask: (group: PlacementRequest) => void } | null = null;

  constructor(world: World, request: PlacementRequest, where: TaskGroupPlacing) {
    this.#world = world;
    this.#request = request;
    this.#where = where;
    this.#largestFirst = placingOrder(request.gang);
    this.#order = this.#largestFirst;
  }

  /**
   * Tries the group with the largest workers first. If a group then finds no capacity, each group in turn is placed
   * first.
   */
  place(): readonly WorkerAllocation[] | null {
    for (const group of this.#largestFirst) {
      const workers = this.#placeInOrder([group, ...this.#largestFirst.filter((other) => other !== group)]);
      if (workers !== null) return workers;
    }
    return null;
  }

  #placeInOrder(order: readonly number[]): readonly WorkerAllocation[] | null {
    this.#order = order;
    this.#furthest = -1;
    this.#triesLeft = TRIES_MAX;
    return this.#placeFrom(0);
  }

  askOfRefused<Answer>(ask: (group: PlacementRequest) => Answer | null): Answer | null {
    if (this.place() !== null || this.#placeInOrder(this.#largestFirst) !== null) return null;
    let answer: Answer | null = null;
    this.#triesLeft = TRIES_MAX;
    this.#askAt = { depth: this.#furthest, ask: (group) => (answer ??= ask(group)) };
    this.#placeFrom(0);
    return answer;
  }

  #placeFrom(depth: number): readonly WorkerAllocation[] | null {
    const group = this.#order[depth];
    if (group === undefined) return [...this.#placed];
    this.#furthest = Math.max(this.#furthest, depth);
    const { among } = this.#where;
    const one = classOfGroup(this.#request, group, { among, beside: [...this.#placed] });
    if (this.#askAt?.depth === depth) this.#askAt.ask(one);
    for (const type of this.#world.capacity.acceptable(one.acceleratorTypes)) {
      if (this.#triesLeft-- <= 0) return null;
      const onType = one.with({ acceleratorTypes: [type.type] });
      const workers = this.#placeOn(onType, type.type);
      if (workers === null) continue;
      const whole = this.#with(
        workers.map((worker) => ({ ...worker, taskGroup: group })),
        depth,
      );
      if (whole !== null) return whole;
    }
    return null;
  }

  #placeOn(one: PlacementRequest, acceleratorType: string): readonly WorkerAllocation[] | null {
    const { layer } = this.#where;
    const type = this.#world.capacity.type(acceleratorType);
    if (type === undefined) return null;
    if (layer === "idle" && isPlacedByScore(this.#world, one)) return placeByScore(this.#world, one)?.workers ?? null;
    return placeOnType(this.#world, one, { type, layer });
  }

  /** Places the remaining groups, with `workers` placed. Returns the workers of all groups. */
  #with(workers: readonly WorkerAllocation[], depth: number): readonly WorkerAllocation[] | null {
    const { capacity } = this.#world;
    const { gang } = this.#request;
    this.#placed.push(...workers);
    capacity.nomination(gang, workers, 1);
    const whole = this.#isWithinQuotas() ? this.#placeFrom(depth + 1) : null;
    capacity.nomination(gang, workers, -1);
    this.#placed.length -= workers.length;
    return whole;
  }

  #isWithinQuotas(): boolean {
    if (!this.#where.heedsQuotas) return true;
    const held = { workers: this.#placed, acceleratorType: "" };
    const amountOf = () => amountHeld(this.#world, this.#request.gang, held);
    return quotaReachedBy(this.#world, this.#request, amountOf) === null;
  }
}
