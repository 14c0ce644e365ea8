import type { CalendarEvent } from "../contract/events.ts";
import { invariant } from "../base/invariant.ts";
import { rememberEntry } from "../state/ended-entries.ts";
import { unreachable } from "../base/unreachable.ts";
import { waitForTariff, waitForWindow, waitForWindows, waitForWindowsAhead } from "../cluster/world.ts";
import type { WritableWorld } from "./writable.ts";

export function applyCalendarEvent(world: WritableWorld, event: CalendarEvent): void {
  const { calendar } = world.state;
  switch (event.kind) {
    case "calendarSet": {
      const { entry, nodes } = event;
      calendar.set(entry.name, nodes === undefined ? { entry } : { entry, nodes });
      world.state.endedEntries.delete(entry.name);
      refile(world);
      if (entry.kind === "tariff") return waitForTariff(world.timers, entry);
      waitForWindow(world.timers, entry);
      for (const attempt of world.state.attempts.values()) waitForWindows(world, attempt);
      for (const nomination of world.state.nominations.values()) waitForWindowsAhead(world, nomination);
      return;
    }
    case "windowEnded":
      if (event.fingerprint !== undefined) rememberEntry(world.state.endedEntries, event.name, event.fingerprint);
      calendar.delete(event.name);
      return refile(world);
    case "calendarRemoved":
      calendar.delete(event.name);
      return refile(world);
    case "windowBegan": {
      const item = calendar.get(event.name);
      invariant(item !== undefined, `the calendar has no ${event.name}`);
      calendar.set(event.name, { ...item, begun: true });
      return;
    }
    default:
      unreachable(event);
  }
}

/**
 * Waiting work is bucketed by duration while there are windows, and rejected requests may fit beside changed windows.
 */
function refile(world: WritableWorld): void {
  world.startWindow.lookAtMs = -1;
  world.calendar.rebuild();
  world.queue.reorder(world.rules);
  world.capacity.freedEpoch++;
}
