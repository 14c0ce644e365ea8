/** Order in which a round serves the buckets of the queue. */
import type { TeamName } from "@headroom/model";
import { rejectedAtEpoch } from "../cluster/queue.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { WaitingLines } from "../cluster/waiting-lines.ts";
import type { World } from "../cluster/world.ts";
import { FlatOrder } from "./flat-order.ts";
import { headOrder } from "../cluster/head-order.ts";
import type { CompareClasses } from "../cluster/head-order.ts";
import { QueueOrder } from "./queue-order.ts";
import { comparesRequests } from "./team-comparison.ts";
import { TeamOrder } from "./team-order.ts";
import { WaitingOrder } from "./waiting-order.ts";

export interface RoundOrder {
  /**
   * The bucket whose first request is served next, or `null` if no bucket is left. Requests that need more whole
   * accelerators than `acceleratorsMax` may be passed over: they cannot start.
   */
  first(acceleratorsMax?: number): QueueBucket | null;
  /** Records that the bucket's first request was served. The next request served may be of the same bucket or team. */
  served(bucket: QueueBucket): void;
  /** Removes the bucket for the rest of the phase. */
  drop(bucket: QueueBucket): void;
  /** Adds a bucket to the order. */
  add(bucket: QueueBucket): void;
}

/**
 * The capacity epoch: a counter that grows when capacity is freed or a limit changes, so that a rejected request may
 * fit.
 */
export const capacityEpochOf = (world: World): number => world.capacity.freedEpoch + world.teamUse.limitEpoch;

export const isClosed = (world: World, bucket: QueueBucket): boolean =>
  bucket.memo.get(rejectedAtEpoch) === capacityEpochOf(world);

/** Marks a bucket whose request does not fit. The mark holds until capacity is freed or a limit changes. */
export const markRejected = (world: World, { memo }: QueueBucket): void =>
  memo.set(rejectedAtEpoch, capacityEpochOf(world));

/**
 * The buckets that a round must sort: those that are not marked as rejected, or all buckets if rejected ones affect the
 * order.
 */
export function classesInTurn(world: World, classes: readonly QueueBucket[]): readonly QueueBucket[] {
  const open = classes.filter((bucket) => !isClosed(world, bucket));
  return heedsClosed(world, open) ? classes : open;
}

/**
 * Returns whether rejected buckets affect the order of the other buckets. If teams are compared by their best request,
 * a rejected bucket represents its team until its turn. A team's own work may also compete with the work of its child
 * teams.
 */
export function heedsClosed(world: World, open: readonly QueueBucket[]): boolean {
  const { order } = world.rules.teams;
  return open.length > 1 && order.length > 0 && (comparesRequests(order) || isAnyAbove(world, open));
}

/** Returns whether the team of one bucket is an ancestor of the team of another. */
function isAnyAbove({ teamUse }: World, classes: readonly QueueBucket[]): boolean {
  const below = classes.map(({ request }) => teamUse.node(request.team)).filter(({ parent }) => parent !== null);
  if (below.length === 0) return false;
  const own = new Set(classes.map(({ request }) => teamUse.node(request.team)));
  return below.some((node) => {
    for (let above = node.parent; above !== null; above = above.parent) if (own.has(above)) return true;
    return false;
  });
}

/**
 * Builds the order of buckets for a round. `compareHeads` orders the buckets within a team, by default as the policy
 * says.
 */
export function roundOrder(
  world: World,
  classes: readonly QueueBucket[],
  compareHeads: CompareClasses = headOrder(world),
): RoundOrder {
  return world.rules.teams.order.length === 0
    ? new FlatOrder(classes, compareHeads)
    : TeamOrder.ofBuckets(world, classes, compareHeads);
}

/** Builds the order of the buckets in `classes` by the policy. Keeps and changes the list. */
export function queueOrder(world: World, classes: QueueBucket[]): RoundOrder {
  return world.rules.teams.order.length === 0 || areOfOneTeam(classes)
    ? new QueueOrder(world.rules, classes, headOrder(world))
    : TeamOrder.ofBuckets(world, classes, headOrder(world));
}

/** Builds the order of all waiting buckets that take part, along the lines that the queue keeps. */
export function waitingOrder(
  world: World,
  lines: WaitingLines,
  mayTakePart: (world: World, bucket: QueueBucket) => boolean,
): RoundOrder {
  const compare = headOrder(world);
  const takesPart = (bucket: QueueBucket): boolean => mayTakePart(world, bucket);
  if (world.rules.teams.order.length === 0 || lines.teamCount <= 1)
    return new WaitingOrder(lines, { compare, takesPart, team: null });
  const ownOrder = (team: TeamName): RoundOrder => new WaitingOrder(lines, { compare, takesPart, team });
  return new TeamOrder(world, lines.teams, { compareHeads: compare, ownOrder });
}

/** Returns whether all buckets belong to one team. Buckets that are added later then belong to the same team. */
function areOfOneTeam(classes: readonly QueueBucket[]): boolean {
  for (const { request } of classes) if (request.team !== classes[0]?.request.team) return false;
  return true;
}
