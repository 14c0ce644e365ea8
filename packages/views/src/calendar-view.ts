/** The calendar for people: what is planned, when and for whom, the next first. */
import type { CalendarItem as EngineItem, Engine } from "@headroom/engine";
import type { CalendarEntry, CalendarItem } from "@headroom/protocol";
import { writeInstant } from "@headroom/protocol";
import { grouped, plural } from "./plain-text.ts";
import { calendarEntryResource } from "./wire-forms.ts";

export function calendarList({ state }: Engine): { items: CalendarItem[] } {
  const items = [...state.calendar.values()].map(itemView);
  return { items: items.toSorted((left, right) => left.entry.startMs - right.entry.startMs) };
}

function itemView({ entry, nodes, begun }: EngineItem): CalendarItem {
  const resource = calendarEntryResource(entry);
  return {
    entry: resource,
    ...(nodes === undefined ? {} : { nodes: [...nodes] }),
    ...(begun === undefined ? {} : { begun }),
    sentence: `${calendarSentence(resource)}.`,
  };
}

/** `reservation demo: 16 accelerators for team research, from … until …`, without the full stop. */
export function calendarSentence(entry: CalendarEntry): string {
  const time = `from ${writeInstant(entry.startMs)} until ${writeInstant(entry.endMs)}`;
  const named = entry.nodes === undefined ? "" : nodesText(entry.nodes);
  if (entry.kind === "maintenance")
    return `Maintenance ${entry.name} of ${entry.pool === undefined ? named : `pool ${entry.pool}`}, ${time}`;
  const { team, users = [], accelerators = 0, acceleratorType } = entry;
  const who = [...(team === undefined ? [] : [`team ${team}`]), ...users].join(", ");
  const type = acceleratorType === undefined ? "" : `${acceleratorType} `;
  const what = named === "" ? `${grouped(accelerators)} ${type}accelerators` : named;
  return `Reservation ${entry.name} of ${what} for ${who}, ${time}`;
}

const NODES_SHOWN = 3;

const nodesText = (nodes: readonly string[]): string =>
  nodes.length > NODES_SHOWN ? plural(nodes.length, "node") : nodes.join(", ");
