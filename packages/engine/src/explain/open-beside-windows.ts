/**
 * The instant from which the calendar lets work start: the end of the first window after which the empty fleet has
 * capacity for it.
 */
import { acceptableTypes, isInGroups } from "../cluster/request.ts";
import { looksAround } from "../placement/filters/anti-affinity.ts";
import { windowsInTheWay } from "../placement/filters/calendar-windows.ts";
import { acceptedBy } from "../placement/filters/filters.ts";
import { emptied } from "../placement/empty-fleet.ts";
import { placeOnType } from "../placement/place-on-type.ts";
import type { NodeId } from "../model/ids.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";

/**
 * Maximum number of window ends tried: each costs one placement on the whole fleet for each bucket. If there are more,
 * the next end is reported untested and may be too early.
 */
const ENDS_SIMULATED_MAX = 16;

/**
 * The instant before which calendar windows leave no capacity even on an empty fleet; 0: there is capacity, or other
 * constraints decide. It is never later than the real start: between two ends capacity only shrinks, because later
 * starts overlap later windows.
 */
export function openBesideWindowsMs(world: World, bucket: QueueBucket, nowMs: number): number {
  const { calendar } = world;
  const isOpen = (): boolean => hasRoomBeside(world, bucket);
  const isOpenNow = (): boolean => windowsInTheWay(world, bucket.request).length === 0 || isOpen();
  if (!calendar.hasWindows || calendar.at(nowMs, isOpenNow) || !calendar.leftAside(isOpen)) return 0;
  const ends = endsThatOpen(world, bucket, nowMs);
  const untried = ends[ENDS_SIMULATED_MAX] ?? 0;
  return ends.slice(0, ENDS_SIMULATED_MAX).find((endMs) => calendar.at(endMs, isOpen)) ?? untried;
}

/** Ends of windows that close a usable node, in order. Windows that only a later start would overlap are included. */
function endsThatOpen(world: World, bucket: QueueBucket, nowMs: number): readonly number[] {
  const { calendar, capacity } = world;
  const types = new Set(acceptableTypes(world, bucket.request).map(({ type }) => type));
  const accepts = acceptedBy(world, bucket.request);
  const mayLieOn = (id: NodeId): boolean => {
    const slot = capacity.slot(id);
    return types.has(slot.node.acceleratorType) && slot.usable && accepts(slot);
  };
  const inTheWay = calendar.closedTo(bucket.request, Number.POSITIVE_INFINITY);
  const ends = inTheWay.filter(({ nodes }) => [...nodes].some(mayLieOn)).map(({ window }) => window.endMs);
  return [...new Set(ends)].filter((endMs) => endMs > nowMs).toSorted((left, right) => left - right);
}

/** Whether the empty fleet has capacity outside the windows; true if other constraints decide. */
function hasRoomBeside(world: World, bucket: QueueBucket): boolean {
  const { spec } = bucket.request;
  if (isInGroups(bucket.request) || looksAround(world, spec) || world.capacity.hotSpares.size > 0) return true;
  const empty = emptied(world);
  return acceptableTypes(empty, bucket.request).some(
    (type) => placeOnType(empty, bucket.request, { type, layer: "idle" }) !== null,
  );
}
