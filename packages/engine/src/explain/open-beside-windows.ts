/** When the calendar lets work start: the end of the first window after which it would have room if nothing ran. */
import { acceptableTypes, isInGroups } from "../cluster/request.ts";
import { looksAround } from "../placement/filters/anti-affinity.ts";
import { windowsInTheWay } from "../placement/filters/calendar-windows.ts";
import { acceptedBy } from "../placement/filters/filters.ts";
import { emptied } from "../placement/empty-fleet.ts";
import { placeOnType } from "../placement/place-on-type.ts";
import type { NodeId } from "../model/ids.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";

/** An end costs a placement on the whole fleet, for every kind of work that asks; what begins after more of them is told too early. */
const ENDS_SIMULATED_MAX = 16;

/**
 * The instant before which windows leave it no room even if nothing ran; 0: they leave it some, or more than room and windows
 * decides. Never later than it could start: between two ends there is only ever less room, since what starts later lasts longer
 * into what is planned.
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

/** The ends of the windows that close a node on which it may lie, in order: also of those that it would run into only if it started later. */
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

/** Whether there is room beside windows if nothing runs; taken to be there where more than room and windows decides. */
function hasRoomBeside(world: World, bucket: QueueBucket): boolean {
  const { spec } = bucket.request;
  if (isInGroups(bucket.request) || looksAround(world, spec) || world.capacity.hotSpares.size > 0) return true;
  const empty = emptied(world);
  return acceptableTypes(empty, bucket.request).some(
    (type) => placeOnType(empty, bucket.request, { type, layer: "idle" }) !== null,
  );
}
