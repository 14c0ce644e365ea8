import { invariant } from "@headroom/model";
import type { CalendarEvent } from "@headroom/model";
import { rememberEntry } from "../state/ended-entries.ts";
import { waitForEveryWindow, waitForTariff, waitForWindow } from "../cluster/world.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

export const calendarEvents: Appliers<CalendarEvent> = {
  calendarSet(world, { entry, nodes }) {
    const { state } = world;
    state.calendar.set(entry.name, nodes === undefined ? { entry } : { entry, nodes });
    state.endedEntries.delete(entry.name);
    refile(world);
    if (entry.kind === "tariff") return waitForTariff(world.timers, entry);
    waitForWindow(world.timers, entry);
    waitForEveryWindow(world);
  },
  calendarRemoved(world, { name }) {
    world.state.calendar.delete(name);
    refile(world);
  },
  windowBegan({ state: { calendar } }, { name }) {
    const item = calendar.get(name);
    invariant(item !== undefined, `the calendar has no ${name}`);
    calendar.set(name, { ...item, begun: true });
  },
  windowEnded(world, { name, fingerprint }) {
    if (fingerprint !== undefined) rememberEntry(world.state.endedEntries, name, fingerprint);
    world.state.calendar.delete(name);
    refile(world);
  },
};

/**
 * Puts waiting work into new buckets, because buckets depend on duration while there are windows. Rejected requests may
 * fit beside changed windows.
 */
function refile(world: WritableWorld): void {
  world.startWindow.lookAtMs = -1;
  world.calendar.rebuild();
  world.queue.reorder(world.rules);
  world.capacity.freedEpoch++;
}
