/** The window of the calendar that keeps work waiting, where without the calendar there would be room. */
import { calendarEndMs, windowsInTheWay } from "../../placement/closed-nodes.ts";
import { findPlacement } from "../../placement/place.ts";
import type { Placement } from "../../cluster/request.ts";
import type { IndexedWindow } from "../../cluster/calendar-index.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import type { Verdict } from "../../contract/verdicts.ts";
import { FREEING } from "./wake-on.ts";

/** Of more windows not each is left aside alone. */
const WINDOWS_SIMULATED_MAX = 4;

export function explainWindow(
  world: World,
  request: PlacementRequest,
): (Verdict & { readonly kind: "blocked" }) | null {
  const windows = windowsInTheWay(world, request);
  if (windows.length === 0) return null;
  const placement = world.calendar.leftAside(() => findPlacement(world, request));
  if (placement === null) return null;
  const { name, kind: window, startMs, endMs } = windowToName(world, request, { windows, placement }).window;
  const reason = {
    kind: "window",
    name,
    window,
    startMs,
    endMs,
    expectedEndMs: calendarEndMs(world, request),
  } as const;
  return { kind: "blocked", reasons: [reason], wakeOn: [...FREEING, "windowEnded", "calendarRemoved", "calendarSet"] };
}

interface InTheWay {
  readonly windows: readonly IndexedWindow[];
  /** Where it would go if there were none of them. */
  readonly placement: Placement;
}

/** One without which alone there would be room, first those that may still be moved; else one that lies where it would go. */
function windowToName(world: World, request: PlacementRequest, { windows, placement }: InTheWay): IndexedWindow {
  const { calendar } = world;
  const hasBegun = ({ window }: IndexedWindow): boolean => window.startMs <= calendar.nowMs;
  const inOrder = [...windows.filter((each) => !hasBegun(each)), ...windows.filter(hasBegun)];
  const there = inOrder.filter(({ nodes }) => placement.workers.some(({ node }) => nodes.has(node)));
  const frees = (each: IndexedWindow): boolean => calendar.without(each, () => findPlacement(world, request)) !== null;
  const alone = inOrder.length === 1 ? undefined : inOrder.slice(0, WINDOWS_SIMULATED_MAX).find(frees);
  return alone ?? there[0] ?? (inOrder[0] as IndexedWindow);
}
