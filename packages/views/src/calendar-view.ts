/** The calendar as an API resource: entries with time, nodes and holder, the next one first. */
import { windowUse } from "@headroom/explain";
import type { CalendarItem as EngineItem } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import type { CalendarEntry, CalendarItem, Tariff, WindowUse } from "@headroom/protocol";
import { writeCarbon, writeCron, writeEnergyPrice, writeInstant } from "@headroom/protocol";
import { cronText } from "./cron-text.ts";
import { durationText, grouped, plural } from "./plain-text.ts";
import { isReadable, type ReadableTeams } from "./readable-teams.ts";
import { calendarEntryResource } from "./wire-forms.ts";

/** Reservations for other teams, or for users in any team, are not shown to a reader of some teams. */
export function calendarList(engine: Engine, readable: ReadableTeams = null): { items: CalendarItem[] } {
  const isShown = ({ entry }: EngineItem): boolean =>
    entry.kind !== "reservation" || readable === null || (entry.team != null && isReadable(readable, entry.team));
  const items = [...engine.state.calendar.values()].filter(isShown).map((item) => itemView(engine, item));
  return { items: items.toSorted((left, right) => startOf(left.entry) - startOf(right.entry)) };
}

/** Recurring entries come first. */
function startOf(entry: CalendarEntry): number {
  if (entry.kind !== "tariff") return entry.startMs;
  return entry.when.kind === "recurring" ? 0 : entry.when.startMs;
}

function itemView(engine: Engine, { entry, nodes, begun }: EngineItem): CalendarItem {
  const resource = calendarEntryResource(entry);
  const use = useView(engine, entry.name);
  return {
    entry: resource,
    ...(nodes === undefined ? {} : { nodes: [...nodes] }),
    ...(begun === undefined ? {} : { begun }),
    ...(use === null ? {} : { use }),
    sentence: `${calendarSentence(resource)}.`,
  };
}

const DRAINED_SHOWN = 20;

function useView(engine: Engine, name: string): WindowUse | null {
  const use = windowUse(engine, name);
  if (use === null) return null;
  const drained = use.drained.slice(0, DRAINED_SHOWN).map((each) => {
    const spec = engine.state.workloads.get(each.workloadId)?.spec;
    return { ...each, name: spec?.name ?? each.workloadId, team: spec?.team ?? "" };
  });
  return { ...use, drained, drainedCount: use.drained.length };
}

/**
 * Sentences such as `Its work holds 8 of 16 accelerators. 2 attempts on its 2 nodes are stopped for it: a, b.`; empty
 * for a tariff.
 */
export function windowUseSentence({ entry, use }: CalendarItem): string {
  if (use === undefined || entry.kind === "tariff") return "";
  const { nodeCount, acceleratorCount, heldFor, drained, drainedCount, completionCount } = use;
  const held =
    entry.kind === "reservation"
      ? `Its work holds ${grouped(heldFor)} of ${plural(acceleratorCount, "accelerator")}.`
      : "";
  const names = [...new Set(drained.map(({ name }) => name))];
  const shown = names.slice(0, NAMES_SHOWN).join(", ");
  const more = names.length > NAMES_SHOWN ? " and others" : "";
  const asked = drainedCount === 1 ? "is stopped" : "are stopped";
  const who =
    drainedCount === 0
      ? `No work on its ${plural(nodeCount, "node")} is stopped for it.`
      : `${plural(drainedCount, "attempt")} on its ${plural(nodeCount, "node")} ${asked} for it: ${shown}${more}.`;
  const ending = completionCount === 0 ? "" : endingSentence(completionCount);
  return [held, who, ending].filter((each) => each !== "").join(" ");
}

/** The number of attempts that end before a window without being stopped. */
export const endingSentence = (count: number): string =>
  `${plural(count, "attempt")} ${count === 1 ? "ends" : "end"} before it, by walltime.`;

const NAMES_SHOWN = 5;

/** A description such as `reservation demo: 16 accelerators for team research, from … until …`, without a full stop. */
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
    return `Tariff ${name}${where}, ${figures.join(" and ")}, in ${plural(steps, "step")} of ${durationText(stepMs)} from ${writeInstant(startMs)} on`;
  }
  const figures = [
    ...(microUsdPerKwh === undefined ? [] : [writeEnergyPrice(microUsdPerKwh)]),
    ...(gramsPerKwh === undefined ? [] : [writeCarbon(gramsPerKwh)]),
  ];
  const time =
    when.kind === "once"
      ? `from ${writeInstant(when.startMs)} until ${writeInstant(when.endMs)}`
      : `${timesText(writeCron(when.times))} for ${durationText(when.durationMs)}`;
  return `Tariff ${name}${where}, ${figures.join(" and ")}, ${time}`;
}

const timesText = (cron: string): string => {
  const words = cronText(cron);
  return words === null ? `at ${cron}` : `${words} UTC`;
};

const rangeText = (figures: readonly number[], write: (figure: number) => string): string =>
  `${write(Math.min(...figures))} to ${write(Math.max(...figures))}`;

const NODES_SHOWN = 3;

const nodesText = (nodes: readonly string[]): string =>
  nodes.length > NODES_SHOWN ? plural(nodes.length, "node") : nodes.join(", ");
