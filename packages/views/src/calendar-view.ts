/** The calendar for people: what is planned, when and for whom, the next first. */
import type { CalendarItem as EngineItem, Engine } from "@headroom/engine";
import type { CalendarEntry, CalendarItem, Tariff } from "@headroom/protocol";
import { writeCarbon, writeCron, writeEnergyPrice, writeInstant } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";
import { calendarEntryResource } from "./wire-forms.ts";

export function calendarList({ state }: Engine): { items: CalendarItem[] } {
  const items = [...state.calendar.values()].map(itemView);
  return { items: items.toSorted((left, right) => startOf(left.entry) - startOf(right.entry)) };
}

/** What comes back again and again stands first. */
function startOf(entry: CalendarEntry): number {
  if (entry.kind !== "tariff") return entry.startMs;
  return entry.when.kind === "recurring" ? 0 : entry.when.startMs;
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
  if (entry.kind === "tariff") return tariffSentence(entry);
  const time = `from ${writeInstant(entry.startMs)} until ${writeInstant(entry.endMs)}`;
  const named = entry.nodes === undefined ? "" : nodesText(entry.nodes);
  if (entry.kind === "maintenance")
    return `Maintenance ${entry.name} of ${entry.pool === undefined ? named : `pool ${entry.pool}`}, ${time}${entry.reason === undefined ? "" : ` (${entry.reason})`}`;
  const { team, users = [], accelerators = 0, acceleratorType } = entry;
  const who = [...(team === undefined ? [] : [`team ${team}`]), ...users].join(", ");
  const type = acceleratorType === undefined ? "" : `${acceleratorType} `;
  const what = named === "" ? `${grouped(accelerators)} ${type}accelerators` : named;
  return `Reservation ${entry.name} of ${what} for ${who}, ${time}`;
}

function tariffSentence({ name, site, when, microUsdPerKwh, gramsPerKwh }: Tariff): string {
  const where = site === undefined ? "" : ` of site ${site}`;
  if (when.kind === "series") {
    const { startMs, stepMs } = when;
    const figures = [
      ...(when.microUsdPerKwh === undefined ? [] : [rangeText(when.microUsdPerKwh, writeEnergyPrice)]),
      ...(when.gramsPerKwh === undefined ? [] : [rangeText(when.gramsPerKwh, writeCarbon)]),
    ];
    const steps = Math.max(when.microUsdPerKwh?.length ?? 0, when.gramsPerKwh?.length ?? 0);
    return `Tariff ${name}${where}, ${figures.join(" and ")}, by ${plural(steps, "step")} of ${durationText(stepMs)} from ${writeInstant(startMs)} on`;
  }
  const figures = [
    ...(microUsdPerKwh === undefined ? [] : [writeEnergyPrice(microUsdPerKwh)]),
    ...(gramsPerKwh === undefined ? [] : [writeCarbon(gramsPerKwh)]),
  ];
  const time =
    when.kind === "once"
      ? `from ${writeInstant(when.startMs)} until ${writeInstant(when.endMs)}`
      : `at ${writeCron(when.times)} for ${durationText(when.durationMs)}`;
  return `Tariff ${name}${where}, ${figures.join(" and ")}, ${time}`;
}

const rangeText = (figures: readonly number[], write: (figure: number) => string): string =>
  `${write(Math.min(...figures))} to ${write(Math.max(...figures))}`;

const NODES_SHOWN = 3;

const nodesText = (nodes: readonly string[]): string =>
  nodes.length > NODES_SHOWN ? plural(nodes.length, "node") : nodes.join(", ");
