/** What the calendar keeps a request from: nodes on which it is expected to run into a window that is not for it. */
import type { NodeId } from "../model/ids.ts";
import type { IndexedWindow } from "../cluster/calendar-index.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";

/** Windows that the request would run into if it started now. Growth is taken to last as long as a start. */
export function windowsInTheWay(world: World, request: PlacementRequest): readonly IndexedWindow[] {
  const { calendar } = world;
  return calendar.hasWindows ? calendar.closedTo(request, calendarEndMs(world, request)) : NOTHING;
}

/** When the request would be gone for sure if it started now: its time, whatever is predicted of it, and the grace that it has after that. */
export const calendarEndMs = ({ calendar }: World, { spec, longestMs }: PlacementRequest): number =>
  calendar.nowMs + longestMs + spec.graceTimeoutMs;

export const isClosedBy = (windows: readonly IndexedWindow[], node: NodeId): boolean =>
  windows.some(({ nodes }) => nodes.has(node));

const NOTHING: readonly IndexedWindow[] = [];
