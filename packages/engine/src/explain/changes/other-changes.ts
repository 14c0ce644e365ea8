/** Changes that others make, or that time brings: for each kind the values to try, the smallest change first, and what they are. */
import type { Input } from "../../contract/inputs.ts";
import { acceleratorsIn, partsOf } from "../../model/gang.ts";
import type { Attempt } from "../../model/workload.ts";
import { expectedEndMs } from "../../usage/expected-duration.ts";
import { emptyNodeWorkers } from "../../placement/place-on-type.ts";
import { acceptedBy } from "../../placement/filters/filters.ts";
import { workloadOf } from "../../cluster/entities.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import type { Change } from "./change.ts";
import type { OtherLowerBound } from "./other-lower-bound.ts";
import { isAlike, nodeLike } from "./node-like.ts";
import { growing } from "./values.ts";
import type { Values } from "./values.ts";

export type OtherChange = Extract<
  Change,
  {
    readonly kind:
      | "largerGuarantee"
      | "largerLimit"
      | "resumeNodes"
      | "laterWindow"
      | "fewerHotSpares"
      | "admitData"
      | "afterEnds"
      | "moreNodes";
  }
>;

/** Values of one kind, what happens when one of them comes about, and how they are looked at before any is tried. */
export interface OtherLine {
  readonly values: Values<OtherChange>;
  /** What leads to a value from another one that has come about (`null`: from none); `null`: nothing does. */
  inputs(change: OtherChange, from: OtherChange | null): readonly Input[] | null;
  /** What states things as they were before any of them; `null`: they are taken back one by one. */
  readonly before: readonly Input[] | null;
  /** The first that is not ruled out; their count: all are. */
  firstLowerBound(lowerBound: OtherLowerBound): number;
  /** The first value beyond one that brings so many accelerators more; absent: values bring none, or cannot be told apart by them. */
  beyond?(index: number, missing: number): number;
}

const exitOf = ({ id, workers }: Attempt): Input => ({
  kind: "attemptExited",
  attemptId: id,
  exits: workers.map((_, worker) => ({ kind: "exited", worker, code: 0 })),
});

const countOf = (change: OtherChange | null): number => (change !== null && "count" in change ? change.count : 0);

/** Of so many that happen one after the other those that are still to come; `null`: too many have happened. */
function furtherOf(all: readonly Input[], change: OtherChange, from: OtherChange | null): readonly Input[] | null {
  return countOf(from) > countOf(change) ? null : all.slice(countOf(from), countOf(change));
}

interface OtherCompletion {
  readonly attempt: Attempt;
  readonly endMs: number;
}

/** Running attempts, those that are expected to end first before the others. */
function expectedEnds(world: World, nowMs: number): readonly OtherCompletion[] {
  return [...world.state.attempts.values()]
    .map((attempt): OtherCompletion => {
      const { spec } = workloadOf(world, attempt.workloadId);
      return { attempt, endMs: Math.max(nowMs, expectedEndMs(world.rules, attempt, spec)) };
    })
    .toSorted((left, right) => left.endMs - right.endMs || left.attempt.placedSequence - right.attempt.placedSequence);
}

/**
 * Beyond those that make room for the work in question so many more ends are considered, which those take who are ahead of it. Where
 * they are not enough it waits for its turn, and that is what start estimates are about.
 */
const ENDS_FOR_OTHERS_MAX = 64;

/** Among others who wait it may be the first ends that let it pass, before there is room for those who are ahead. */
export function afterEnds(world: World, nowMs: number): OtherLine {
  const ends = expectedEnds(world, nowMs);
  const exits = ends.map(({ attempt }) => exitOf(attempt));
  const held = ends.map(({ attempt }) =>
    acceleratorsIn(partsOf(workloadOf(world, attempt.workloadId).spec.gang, attempt.workers)),
  );
  const at = (index: number): OtherChange => {
    const { attempt, endMs } = ends[index] as OtherCompletion;
    return { kind: "afterEnds", count: index + 1, workloadId: attempt.workloadId, expectedAtMs: endMs };
  };
  return {
    values: { count: ends.length, isMonotone: false, scope: ENDS_FOR_OTHERS_MAX, at },
    inputs: (change, from) => furtherOf(exits, change, from),
    before: null,
    firstLowerBound: (lowerBound) => lowerBound.afterEnds(ends.map(({ attempt }) => attempt)) - 1,
    beyond: (index, missing) => {
      let next = index + 1;
      for (let still = missing - (held[next] ?? 0); still > 0 && next < held.length; still -= held[next] ?? 0) next++;
      return next;
    },
  };
}

/** So many kinds of nodes of a type are told apart; of more it is the one beside which most is free. */
const KINDS_MAX = 4;

/** For each type that it accepts: nodes like one of each kind that could hold a worker, up to so many that they hold all of it. */
export function moreNodes(world: World, request: PlacementRequest): readonly OtherLine[] {
  return world.capacity
    .acceptable(request.acceleratorTypes)
    .flatMap(({ slots }) => kindsOfNodes(world, request, slots).map((like) => joining(request, like)));
}

function joining({ workers, gang }: PlacementRequest, like: NodeSlot): OtherLine {
  const { id, acceleratorType } = like.node;
  const most = Math.ceil(workers / emptyNodeWorkers(like, gang));
  const at = (index: number): OtherChange => ({ kind: "moreNodes", count: index + 1, acceleratorType, like: id });
  const nodes = Array.from({ length: most }, (_, index): Input => ({
    kind: "nodeSeen",
    node: nodeLike(like.node, index),
  }));
  return {
    values: growing(most, at),
    inputs: (change, from) => furtherOf(nodes, change, from),
    before: null,
    firstLowerBound: (lowerBound) => Math.min(most, (lowerBound.nodesLike(id) ?? most + 1) - 1),
    beyond: (index, missing) => index + Math.max(1, Math.ceil(missing / Math.max(1, like.totalCount))),
  };
}

/** One of each kind of those that could hold a worker; first the one in the narrowest domain that has most free, ties to who joined first. */
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
