/**
 * Random calendar entries and budgets: windows, advance reservations, tariffs and budgets. They are short, because
 * worlds last only a minute or two.
 */
import { commandId, nodeId } from "@headroom/model";
import type { CalendarEntry, Input, Team } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Luck } from "./luck.ts";
import type { World } from "./world.ts";

/** Number of names for calendar entries. There are so few that entries are replaced now and then. */
const entriesMax = 4;

/** A change of the calendar, in worlds with a calendar; `null`: no change this time. */
export function calendarChange(luck: Luck, world: World, state: ReadonlyState): Input | null {
  if (!world.hasCalendar || !luck.chance(20)) return null;
  const common = { commandId: commandId(`calendar ${luck.drawn} ${state.sequence}`), actor: "someone" };
  const known = [...state.calendar.keys()];
  if (known.length > 0 && luck.chance(15))
    return { ...common, idempotencyKey: null, kind: "removeCalendarEntry", name: luck.pick(known) };
  const entry = randomEntry(luck, world, state.nowMs);
  return {
    ...common,
    idempotencyKey: null,
    kind: "apply",
    sites: [],
    pools: [],
    teams: [],
    workloads: [],
    calendar: [entry],
  };
}

function randomEntry(luck: Luck, world: World, nowMs: number): CalendarEntry {
  const name = `plan-${luck.between(1, entriesMax)}`;
  const startMs = nowMs + luck.pick([0, luck.between(1, 2000), luck.between(1, 20_000)]);
  const times = { startMs, endMs: startMs + luck.pick([1, 500, 10_000]) };
  const nodes = [...new Set([luck.pick(world.fleet.nodes).id, luck.pick(world.fleet.nodes).id])];
  const roll = luck.below(10);
  if (roll < 3) {
    const pool = luck.pick(world.fleet.pools).name;
    return { kind: "maintenance", name, ...times, ...(luck.chance(30) ? { pool } : { nodes }) };
  }
  if (roll < 7) {
    const whose = luck.chance(70) ? { team: luck.pick(world.teams).name } : { users: ["a third"] };
    const what = luck.chance(50) ? { nodes } : { accelerators: luck.between(1, 12) };
    return { kind: "reservation", name, ...times, ...whose, ...what };
  }
  return { kind: "tariff", name, when: { kind: "once", ...times }, microUsdPerKwh: luck.pick([50, 100, 101, 300]) };
}

/** A team's budget, in worlds with budgets. It is small enough to be used up. */
export function randomBudget(luck: Luck, hasBudgets: boolean): Pick<Team, "budget"> {
  if (!hasBudgets || !luck.chance(50)) return {};
  return {
    budget: {
      ...(luck.chance(70) ? { gpuHours: luck.pick([0, 0.0005, 0.005, 0.05]) } : { microUsd: luck.pick([500, 50_000]) }),
      period: luck.pick(["month", "total"]),
      over: luck.pick(["warn", "hold", "stop", "stop"]),
    },
  };
}

/**
 * Sometimes submits the last workload again under another name: the first of two identical requests must start first.
 */
export const hasTwin = (luck: Luck): boolean => luck.chance(15);

/** A random notice that some node goes away. */
export function noticeOf(luck: Luck, world: World, nowMs: number): Input | null {
  if (!world.hasNotices || !luck.chance(8)) return null;
  return { kind: "nodeNotice", nodeId: nodeId(luck.pick(world.fleet.nodes).id), goneAtMs: nowMs + luck.below(10_000) };
}
