/** Order of the buckets in a round. */
import { rejectedAtEpoch } from "../cluster/queue.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { FlatOrder } from "./flat-order.ts";
import { headOrder } from "../cluster/head-order.ts";
import type { CompareClasses } from "../cluster/head-order.ts";
import { QueueOrder } from "./queue-order.ts";
import { comparesRequests } from "./team-comparison.ts";
import { TeamOrder } from "./team-order.ts";

export interface RoundOrder {
  /** The bucket whose head is served next; `null`: none is left. */
  first(): QueueBucket | null;
  /** The head of the bucket was served. The next request may be of the same bucket or team. */
  served(bucket: QueueBucket): void;
  /** Removes the bucket for the rest of the phase. */
  drop(bucket: QueueBucket): void;
  /** Adds a bucket to the order. */
  add(bucket: QueueBucket): void;
}

/** Counter that grows whenever a rejected request may fit. */
export const capacityEpochOf = (world: World): number => world.capacity.freedEpoch + world.teamUse.limitEpoch;

export const isClosed = (world: World, bucket: QueueBucket): boolean =>
  bucket.memo.get(rejectedAtEpoch) === capacityEpochOf(world);

/** Marks a request that does not fit, and will not until capacity is freed or a limit changes. */
export const markRejected = (world: World, { memo }: QueueBucket): void =>
  memo.set(rejectedAtEpoch, capacityEpochOf(world));

/** The buckets that determine the order of the buckets not known to be rejected. */
export function classesInTurn(world: World, classes: readonly QueueBucket[]): readonly QueueBucket[] {
  const open = classes.filter((bucket) => !isClosed(world, bucket));
  return heedsClosed(world, open) ? classes : open;
}

/**
 * Whether skipped buckets affect the order of the others: if teams are compared by their best request, each bucket
 * represents its team until its turn; and a team's own work may compete with its child teams.
 */
export function heedsClosed(world: World, open: readonly QueueBucket[]): boolean {
  const { order } = world.rules.teams;
  return open.length > 1 && order.length > 0 && (comparesRequests(order) || isAnyAbove(world, open));
}

/** Whether the team of one bucket is an ancestor of the team of another. */
function isAnyAbove({ teamUse }: World, classes: readonly QueueBucket[]): boolean {
  const below = classes.map(({ request }) => teamUse.node(request.team)).filter(({ parent }) => parent !== null);
  if (below.length === 0) return false;
  const own = new Set(classes.map(({ request }) => teamUse.node(request.team)));
  return below.some((node) => {
    for (let above = node.parent; above !== null; above = above.parent) if (own.has(above)) return true;
    return false;
  });
}

/** `compareHeads`: order among the buckets of a team; default: the policy's. */
export function roundOrder(
  world: World,
  classes: readonly QueueBucket[],
  compareHeads: CompareClasses = headOrder(world),
): RoundOrder {
  return world.rules.teams.order.length === 0
    ? new FlatOrder(classes, compareHeads)
    : new TeamOrder(world, classes, compareHeads);
}

/** The order of buckets of the queue alone, by the policy's order; takes ownership of the list. */
export function queueOrder(world: World, classes: QueueBucket[]): RoundOrder {
  return world.rules.teams.order.length === 0 || areOfOneTeam(classes)
    ? new QueueOrder(world.rules, classes, headOrder(world))
    : new TeamOrder(world, classes, headOrder(world));
}

/** True if no two teams are compared. Buckets that are added later belong to the same team. */
function areOfOneTeam(classes: readonly QueueBucket[]): boolean {
  for (const { request } of classes) if (request.team !== classes[0]?.request.team) return false;
  return true;
}
