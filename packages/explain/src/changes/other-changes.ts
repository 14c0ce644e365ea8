/**
 * Changes that other users, administrators or time could bring: for each kind the values to try, smallest change first,
 * and the inputs that apply them.
 */
import { acceleratorsIn, partsOf } from "@headroom/model";
import type { Input, Attempt } from "@headroom/model";
import { expectedEndMs, emptyNodeWorkers, acceptedBy, workloadOf } from "@headroom/engine/internals";
import type { NodeSlot, PlacementRequest, World } from "@headroom/engine/internals";
import type { Change } from "./change.ts";
import type { OtherLowerBound } from "./other-lower-bound.ts";
import { isAlike, nodeLike } from "./node-like.ts";
import { growing } from "./values.ts";
import type { Values } from "./values.ts";

/**
 * One kind of change: the values to try, the inputs that apply a value, and a lower bound that rules out values without
 * a run.
 */
export interface OtherLine {
  readonly values: Values<Change>;
  /**
   * The inputs that change the fork from the value at index `from` to the value at `index`. `from` is -1 if no value is
   * applied yet. For `index` -1, the inputs restore the original state. `null` if there are no such inputs.
   */
  inputs(index: number, from: number): readonly Input[] | null;
  /** The inputs that restore the original state. Without them, the values are undone one by one. */
  readonly before?: readonly Input[];
  /**
   * Index of the first value that the lower bound does not rule out. It is the number of values if the lower bound
   * rules out all. Kinds without a lower bound do not have this function.
   */
  firstLowerBound?(lowerBound: OtherLowerBound): number;
  /**
   * Index of the smallest value that adds at least `missing` accelerators to the value at `index`. Kinds whose values
   * are not numbers of accelerators do not have this function.
   */
  beyond?(index: number, missing: number): number;
}

const exitOf = ({ id, workers }: Attempt): Input => ({
  kind: "attemptExited",
  attemptId: id,
  exits: workers.map((_, worker) => ({ kind: "exited", worker, code: 0 })),
});

/** Each value adds one input to those of the value before it. */
const further =
  (all: readonly Input[]): OtherLine["inputs"] =>
  (index, from) =>
    from > index ? null : all.slice(from + 1, index + 1);

interface OtherCompletion {
  readonly attempt: Attempt;
  readonly endMs: number;
}

/** Running attempts in the order of their expected ends. */
function expectedEnds(world: World, nowMs: number): readonly OtherCompletion[] {
  return [...world.state.attempts.values()]
    .map((attempt): OtherCompletion => {
      const { spec } = workloadOf(world, attempt.workloadId);
      return { attempt, endMs: Math.max(nowMs, expectedEndMs(world.rules, attempt, spec)) };
    })
    .toSorted((left, right) => left.endMs - right.endMs || left.attempt.placedSequence - right.attempt.placedSequence);
}

/**
 * Maximum number of ends that are tried after enough capacity would be free: requests ahead in the queue take some of
 * it. If these ends do not suffice, the change is not stated, and only start estimates answer the question.
 */
const ENDS_FOR_OTHERS_MAX = 64;

/**
 * Ends of running attempts, in order. More ends are not always better: after few ends, this request may pass the
 * requests ahead of it, because they still lack capacity.
 */
export function afterEnds(world: World, nowMs: number): OtherLine {
  const ends = expectedEnds(world, nowMs);
  const held = ends.map(({ attempt }) =>
    acceleratorsIn(partsOf(workloadOf(world, attempt.workloadId).spec.gang, attempt.workers)),
  );
  const at = (index: number): Change => {
    const { attempt, endMs } = ends[index] as OtherCompletion;
    return { kind: "afterEnds", count: index + 1, workloadId: attempt.workloadId, expectedAtMs: endMs };
  };
  return {
    values: { count: ends.length, isMonotone: false, scope: ENDS_FOR_OTHERS_MAX, at },
    inputs: further(ends.map(({ attempt }) => exitOf(attempt))),
    firstLowerBound: (lowerBound) => lowerBound.afterEnds(ends.map(({ attempt }) => attempt)) - 1,
    beyond: (index, missing) => {
      let next = index + 1;
      for (let still = missing - (held[next] ?? 0); still > 0 && next < held.length; still -= held[next] ?? 0) next++;
      return next;
    },
  };
}

/**
 * Maximum number of kinds of nodes tried for each accelerator type. With more kinds, only the kind in the domain with
 * the most free capacity is tried.
 */
const KINDS_MAX = 4;

/**
 * New nodes, identical to existing ones. For each accepted type and each kind of node that could hold a worker, the
 * numbers go up to one that holds the whole gang.
 */
export function moreNodes(world: World, request: PlacementRequest): readonly OtherLine[] {
  return world.capacity
    .acceptable(request.acceleratorTypes)
    .flatMap(({ slots }) => kindsOfNodes(world, request, slots).map((like) => joining(request, like)));
}

function joining({ workers, gang }: PlacementRequest, like: NodeSlot): OtherLine {
  const { id, acceleratorType } = like.node;
  const most = Math.ceil(workers / emptyNodeWorkers(like, gang));
  const at = (index: number): Change => ({ kind: "moreNodes", count: index + 1, acceleratorType, like: id });
  const nodes = Array.from({ length: most }, (_, index): Input => ({
    kind: "nodeSeen",
    node: nodeLike(like.node, index),
  }));
  return {
    values: growing(most, at),
    inputs: further(nodes),
    firstLowerBound: (lowerBound) => Math.min(most, (lowerBound.nodesLike(id) ?? most + 1) - 1),
    beyond: (index, missing) => index + Math.max(1, Math.ceil(missing / Math.max(1, like.totalCount))),
  };
}

/**
 * One node of each suitable kind. The first is the node in the narrowest domain with the most free capacity. If two are
 * equal, the node that joined first wins.
 */
function kindsOfNodes(world: World, request: PlacementRequest, slots: readonly NodeSlot[]): readonly NodeSlot[] {
  const accepts = acceptedBy(world, request);
  const could = slots.filter((slot) => emptyNodeWorkers(slot, request.gang) > 0 && accepts(slot));
  const best = besideMostFree(slots, could);
  if (best === null) return [];
  const kinds = [best];
  for (const slot of could) {
    if (kinds.some(({ node }) => isAlike(node, slot.node))) continue;
    if (kinds.length === KINDS_MAX) return [best];
    kinds.push(slot);
  }
  return kinds;
}

function besideMostFree(slots: readonly NodeSlot[], among: readonly NodeSlot[]): NodeSlot | null {
  const freeBeside = new Map<string, number>();
  const domainOf = ({ node }: NodeSlot): string => [node.pool, ...node.fabric].join("\u0000");
  for (const slot of slots)
    if (slot.usable) freeBeside.set(domainOf(slot), (freeBeside.get(domainOf(slot)) ?? 0) + slot.freeCount);
  const free = (of: NodeSlot): number => freeBeside.get(domainOf(of)) ?? 0;
  return among.reduce<NodeSlot | null>((best, slot) => (best === null || free(slot) > free(best) ? slot : best), null);
}
