import { windowDurationMs } from "../../usage/planned-duration.ts";
import type { IndexedWindow } from "../../cluster/calendar-index.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { Placement } from "../../cluster/request.ts";
import type { World } from "../../cluster/world.ts";
import type { Filter } from "./filter.ts";
import type { Inquiry } from "./inquiry.ts";

/**
 * Excludes nodes with a calendar window for other work if the request, started now, could still run when the window
 * begins.
 */
export const calendarWindows: Filter = {
  signature: ({ spec, actor }, { rules, calendar }) =>
    calendar.hasWindows
      ? `${windowDurationMs(rules, spec) + spec.graceTimeoutMs} ${calendar.isNamed(actor) ? actor : ""}`
      : undefined,
  basis: "calendar",
  appliesTo: (world, request) => windowsInTheWay(world, request).length > 0,
  check: (world, request) => {
    const windows = windowsInTheWay(world, request);
    return ({ node: { id } }) => !windows.some(({ nodes }) => nodes.has(id));
  },
  wakeOn: ["windowEnded", "calendarRemoved", "calendarSet"],
  explain: (inquiry) => {
    const { world, request, place } = inquiry;
    const windows = windowsInTheWay(world, request);
    const placement = windows.length === 0 ? null : world.calendar.leftAside(() => place(request));
    if (placement === null) return null;
    const { name, kind: window, startMs, endMs } = windowToName(inquiry, windows, placement).window;
    const expectedEndMs = calendarEndMs(world, request);
    return { reasons: [{ kind: "window", name, window, startMs, endMs, expectedEndMs }] };
  },
};

/**
 * Calendar windows that the request would overlap if it started now. Growth is assumed to run as long as a new start.
 */
export function windowsInTheWay(world: World, request: PlacementRequest): readonly IndexedWindow[] {
  const { calendar } = world;
  return calendar.hasWindows ? calendar.closedTo(request, calendarEndMs(world, request)) : NOTHING;
}

/**
 * The latest possible end of the request if it started now: its longest run time (predictions are ignored) and its
 * grace period.
 */
export const calendarEndMs = ({ calendar }: World, { spec, longestMs }: PlacementRequest): number =>
  calendar.nowMs + longestMs + spec.graceTimeoutMs;

const NOTHING: readonly IndexedWindow[] = [];

/** Maximum number of windows for which it is tried whether the request fits without this window alone. */
const WINDOWS_SIMULATED_MAX = 4;

/**
 * The window to name as the reason: a window without which the request would fit, or else a window on a node of
 * `placement`. Windows that have not begun come first.
 */
function windowToName(
  { world: { calendar }, request, place }: Inquiry,
  windows: readonly IndexedWindow[],
  placement: Placement,
): IndexedWindow {
  const hasBegun = ({ window }: IndexedWindow): boolean => window.startMs <= calendar.nowMs;
  const inOrder = [...windows.filter((each) => !hasBegun(each)), ...windows.filter(hasBegun)];
  const there = inOrder.filter(({ nodes }) => placement.workers.some(({ node }) => nodes.has(node)));
  const frees = (each: IndexedWindow): boolean => calendar.without(each, () => place(request)) !== null;
  const alone = inOrder.length === 1 ? undefined : inOrder.slice(0, WINDOWS_SIMULATED_MAX).find(frees);
  return alone ?? there[0] ?? (inOrder[0] as IndexedWindow);
}
