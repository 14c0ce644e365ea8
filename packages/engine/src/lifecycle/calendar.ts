/**
 * Calendar entries: validation, choice of the nodes for a reservation that states a number of accelerators, and
 * removal.
 */
import { isOfTypes, takesWork, nextDueMs, invariant } from "@headroom/model";
import type { Command, CalendarEntry, Tariff, TimeWindow, Node, NodeId, Rejection } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { expectedEndMs } from "../usage/expected-duration.ts";
import { workloadOf } from "../cluster/entities.ts";
import { isNoticeName } from "../state/notices.ts";
import { indexedWindow } from "../cluster/calendar-index.ts";
import type { IndexedWindow } from "../cluster/calendar-index.ts";
import type { World } from "../cluster/world.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

type Documents = Pick<Command & { readonly kind: "apply" }, "sites" | "pools" | "teams">;

export type Planned = ReadonlyMap<string, IndexedWindow>;

/**
 * The reason why an entry is refused, or `null` if it is accepted. The entry may refer to documents of the same set.
 * `planned` holds the windows that are recorded before this one, by name.
 */
export function calendarAdmissionFailure(
  world: World,
  entry: CalendarEntry,
  { sites, pools, teams }: Documents,
  nowMs: number,
  planned: Planned,
): Rejection | null {
  const { state } = world;
  if (isNoticeName(entry.name)) return { code: "reservedName", name: entry.name };
  if (entry.kind === "tariff") return tariffAdmissionFailure(world, entry, sites);
  for (const nodeId of entry.nodes ?? []) if (!state.nodes.has(nodeId)) return { code: "unknownNode", nodeId };
  if (entry.kind === "maintenance") {
    const { pool } = entry;
    const isKnown = pool === undefined || state.pools.has(pool) || pools.some(({ name }) => name === pool);
    return isKnown ? overAdmissionFailure(entry, nowMs) : { code: "unknownPool", pool };
  }
  const { team, name, accelerators } = entry;
  if (team !== undefined && !state.teams.has(team) && !teams.some((each) => each.name === team))
    return { code: "unknownTeam", team };
  const over = overAdmissionFailure(entry, nowMs);
  if (over !== null || accelerators === undefined) return over;
  const { availableCount, nodes } = choose(world, entry, accelerators, planned);
  return nodes === null ? { code: "reservationTooLarge", name, wantedCount: accelerators, availableCount } : null;
}

/**
 * The engine's clock decides whether an entry has ended, because such an entry leaves the calendar in the same round.
 */
const overAdmissionFailure = ({ name, endMs }: TimeWindow, nowMs: number): Rejection | null =>
  endMs <= nowMs ? { code: "windowOver", name, endMs, nowMs } : null;

export function recordEntry(batch: Batch, entry: CalendarEntry, actor: string): void {
  const amount = entry.kind === "reservation" ? entry.accelerators : undefined;
  const chosen = entry.kind === "tariff" ? null : chosenNodes(batch.world, entry, NOTHING_PLANNED);
  invariant(amount === undefined || chosen !== null, `nothing is left for the reservation ${entry.name}`);
  const nodes = chosen === null ? {} : { nodes: chosen };
  batch.emit({ kind: "calendarSet", version: 1, atMs: batch.nowMs, entry, actor, ...nodes });
}

const NOTHING_PLANNED: Planned = new Map();

/** The nodes of a window that is not recorded yet. `planned` holds the windows that are recorded before it. */
export const plannedWindow = (world: World, window: TimeWindow, planned: Planned): IndexedWindow =>
  indexedWindow(world.state, window, chosenNodes(world, window, planned) ?? undefined);

/**
 * The nodes for a reservation that states a number of accelerators. `null` if there are too few nodes, or if the entry
 * does not state a number.
 */
const chosenNodes = (world: World, entry: TimeWindow, planned: Planned): readonly NodeId[] | null =>
  entry.kind === "maintenance" || entry.accelerators === undefined
    ? null
    : choose(world, entry, entry.accelerators, planned).nodes;

/** Refuses a tariff whose site does not exist, and a tariff that never applies. */
function tariffAdmissionFailure(
  { state }: World,
  { name, site, when }: Tariff,
  sites: Documents["sites"],
): Rejection | null {
  if (site !== undefined && !state.sites.has(site) && !sites.some((each) => each.name === site))
    return { code: "unknownSite", site };
  return when.kind === "recurring" && nextDueMs(when.times, state.nowMs) === null ? { code: "neverDue", name } : null;
}

interface Chosen {
  /** The chosen nodes. `null` if there are too few. */
  readonly nodes: readonly NodeId[] | null;
  readonly availableCount: number;
}

/**
 * Chooses nodes that no other entry uses in that period. Nodes with the fewest attempts of other teams and users
 * (`othersThen`) come first.
 */
function choose(world: World, entry: TimeWindow, wantedCount: number, planned: Planned): Chosen {
  const others = [...world.calendar.windows.filter(({ window }) => !planned.has(window.name)), ...planned.values()];
  const taken = new Set(
    others
      .filter(({ window }) => window.name !== entry.name && overlap(window, entry))
      .flatMap(({ nodes }) => [...nodes]),
  );
  const isSuitable = (node: Node): boolean =>
    takesWork(node) &&
    node.hotSpare !== true &&
    node.acceleratorCount > 0 &&
    !taken.has(node.id) &&
    isOfType(entry, node);
  const suitable = [...world.state.nodes.values()].filter(isSuitable);
  const busy = new Map(suitable.map((node) => [node, othersThen(world, entry, node.id)]));
  suitable.sort((left, right) => (busy.get(left) ?? 0) - (busy.get(right) ?? 0) || left.ordinal - right.ordinal);
  const nodes: NodeId[] = [];
  let count = 0;
  for (const node of suitable) {
    if (count >= wantedCount) break;
    nodes.push(node.id);
    count += node.acceleratorCount;
  }
  return { nodes: count >= wantedCount ? nodes : null, availableCount: count };
}

const overlap = (left: TimeWindow, right: TimeWindow): boolean =>
  left.startMs < right.endMs && right.startMs < left.endMs;

const isOfType = (entry: TimeWindow, node: Node): boolean =>
  entry.kind === "maintenance" || entry.acceleratorType === undefined || isOfTypes([entry.acceleratorType], node);

/** Number of attempts on the node that may not use the window and are expected to run when it begins. */
function othersThen(world: World, entry: TimeWindow, id: NodeId): number {
  let count = 0;
  for (const attemptId of world.capacity.slot(id).attempts.keys()) {
    const attempt = world.state.attempts.get(attemptId);
    if (attempt === undefined) continue;
    const { spec, actor } = workloadOf(world, attempt.workloadId);
    if (Math.max(world.state.nowMs + 1, expectedEndMs(world.rules, attempt, spec)) <= entry.startMs) continue;
    if (!world.calendar.isFor(entry, { team: spec.team, actor })) count++;
  }
  return count;
}

export function removeCalendarEntry(
  batch: Batch,
  { name, actor }: Command & { readonly kind: "removeCalendarEntry" },
): Decision {
  if (!batch.world.state.calendar.has(name)) return refused({ code: "unknownCalendarEntry", name });
  batch.emit({ kind: "calendarRemoved", version: 1, atMs: batch.nowMs, name, actor });
  return done({ kind: "calendarEntryRemoved", name });
}
