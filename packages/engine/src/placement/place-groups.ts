/**
 * Where a gang of groups goes: the workers of all groups or none. The groups are placed one after the other, the largest workers
 * first, or another group before them where that leaves it no room. Each is placed by the same code as a gang of its own and
 * sees what the ones before it took; a type that leaves no room for the next group gives way to the next one. What the whole
 * gang wishes of the fabric narrows all of them.
 */
import { milliOf, specOfGroup } from "../model/gang.ts";
import type { NodeId } from "../model/ids.ts";
import { groupsToGrow } from "../model/slices.ts";
import { minWorkersOf } from "../model/workload.ts";
import type { GangSpec, WorkerAllocation, WorkloadSpec } from "../model/workload.ts";
import { amountHeld } from "../cluster/amounts.ts";
import type { Layer } from "../cluster/node-slot.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { domainsFor } from "./group-domains.ts";
import { placeOnType } from "./place-on-type.ts";
import { acceptableTypes, growingAttempt, quotaReachedBy } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { isPlacedByScore, placeByScore } from "./score/place-by-score.ts";

export interface GroupsWhere {
  readonly layer: Layer;
  /** False: the quotas are somebody else's business. */
  readonly heedsQuotas: boolean;
}

/** How often a group is placed while types are tried against each other; more kinds of it than that are not looked at. */
const TRIES_MAX = 64;

export function placeGroups(world: World, found: QueueBucket, where: GroupsWhere): Placement | null {
  if (found.isGrowth) return placeFurther(world, found, where);
  for (const among of domainsFor(world, found)) {
    const workers = new GroupPlacing(world, found, { ...where, among }).place();
    if (workers !== null) return placementOf(world, found.spec, workers);
  }
  return null;
}

/** The first group, in the order of placing, for which there is no room, with those before it in their places while `ask` looks. */
export function askOfRefused<Answer>(
  world: World,
  found: QueueBucket,
  ask: (group: QueueBucket) => Answer | null,
): Answer | null {
  const [among = null] = domainsFor(world, found);
  return new GroupPlacing(world, found, { layer: "idle", heedsQuotas: true, among }).askOfRefused(ask);
}

/** The request of one group as a class of its own. */
function classOfGroup(
  found: QueueBucket,
  group: number,
  more: Partial<Pick<QueueBucket, "workers" | "among" | "beside">>,
): QueueBucket {
  const spec = specOfGroup(found.spec, group);
  const { gang, acceleratorTypes } = spec;
  const workers = found.counts?.[group] ?? minWorkersOf(gang);
  const own = { spec, gang, acceleratorTypes, group, workers, ...more };
  return Object.assign(Object.create(found) as QueueBucket, own);
}

/** Larger workers first: they find room in fewer places. */
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

/** In rank order: by group, and within one as they were placed. */
function placementOf({ capacity }: World, { gang }: WorkloadSpec, workers: readonly WorkerAllocation[]): Placement {
  const ranked = workers.toSorted((left, right) => (left.taskGroup ?? 0) - (right.taskGroup ?? 0));
  const leading = gang.taskGroups?.findIndex(({ accelerators }) => accelerators > 0) ?? 0;
  const first = ranked.find(({ taskGroup }) => taskGroup === Math.max(0, leading)) as WorkerAllocation;
  return { acceleratorType: capacity.slot(first.node).node.acceleratorType, workers: ranked };
}

/** Further workers of one group, on the type that it has already. */
function placeFurther(world: World, found: QueueBucket, { layer, heedsQuotas }: GroupsWhere): Placement | null {
  const attempt = growingAttempt(world, found);
  if (attempt === null) return null;
  const groups = found.group === null ? groupsToGrow(found.gang, attempt.workers, found.workers) : [found.group];
  const domain = domainsFor(world, found).next();
  if (domain.done === true) return null;
  const among = domain.value;
  for (const group of groups) {
    const one = classOfGroup(found, group, { workers: found.workers, among });
    for (const type of acceptableTypes(world, one)) {
      const amountOf = () => world.teamUse.amountOf(one.gang, one.workers, type.type);
      if (heedsQuotas && quotaReachedBy(world, found, amountOf) !== null) continue;
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

/** Places are booked as promises while the gang is put together, and given up again before anybody looks. */
class GroupPlacing {
  readonly #world: World;
  readonly #found: QueueBucket;
  readonly #where: TaskGroupPlacing;
  readonly #largestFirst: readonly number[];
  #order: readonly number[];
  readonly #placed: WorkerAllocation[] = [];
  #triesLeft = TRIES_MAX;
  #furthest = -1;
  #askAt: { readonly depth: number; readonly ask: (group: QueueBucket) => void } | null = null;

  constructor(world: World, found: QueueBucket, where: TaskGroupPlacing) {
    this.#world = world;
    this.#found = found;
    this.#where = where;
    this.#largestFirst = placingOrder(found.gang);
    this.#order = this.#largestFirst;
  }

  /** The largest workers first; where that leaves no room for others, one of those before it. */
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

  askOfRefused<Answer>(ask: (group: QueueBucket) => Answer | null): Answer | null {
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
    const one = classOfGroup(this.#found, group, { among, beside: [...this.#placed] });
    if (this.#askAt?.depth === depth) this.#askAt.ask(one);
    for (const type of this.#world.capacity.acceptable(one.acceleratorTypes)) {
      if (this.#triesLeft-- <= 0) return null;
      const onType = Object.assign(Object.create(one) as QueueBucket, { acceleratorTypes: [type.type] });
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

  #placeOn(one: QueueBucket, acceleratorType: string): readonly WorkerAllocation[] | null {
    const { layer } = this.#where;
    const type = this.#world.capacity.type(acceleratorType);
    if (type === undefined) return null;
    if (layer === "idle" && isPlacedByScore(this.#world, one)) return placeByScore(this.#world, one)?.workers ?? null;
    return placeOnType(this.#world, one, { type, layer });
  }

  /** The rest of the gang beside these workers. */
  #with(workers: readonly WorkerAllocation[], depth: number): readonly WorkerAllocation[] | null {
    const { capacity } = this.#world;
    const { gang } = this.#found;
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
    const amountOf = () => amountHeld(this.#world, this.#found.gang, held);
    return quotaReachedBy(this.#world, this.#found, amountOf) === null;
  }
}
