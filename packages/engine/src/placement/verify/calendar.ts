/** Calendar restrictions for verification, derived from the calendar's entries without indexes or scheduling code. */
import { rulesOf } from "@headroom/model";
import type { CalendarItem, Node, Workload, TeamName } from "@headroom/model";
import { windowDurationMs } from "../../usage/planned-duration.ts";
import type { ReadonlyState } from "../../state/state.ts";

/**
 * Name of the calendar window that the work would overlap on the node if it started now, or `null` if there is none.
 */
export function windowBroken(state: ReadonlyState, workload: Workload, node: Node, nowMs: number): string | null {
  const { spec } = workload;
  const untilMs = nowMs + windowDurationMs(rulesOf(state.policy), spec) + spec.graceTimeoutMs;
  for (const item of state.calendar.values()) {
    if (item.entry.kind === "tariff") continue;
    const { startMs, endMs, name } = item.entry;
    if (startMs < untilMs && nowMs < endMs && covers(item, node) && !isKeptFor(state, item, workload)) return name;
  }
  return null;
}

export function covers({ entry, nodes }: CalendarItem, node: Node): boolean {
  if (entry.kind === "tariff") return false;
  if (entry.kind === "maintenance" && entry.pool === node.pool) return true;
  return (nodes ?? entry.nodes ?? []).includes(node.id);
}

export function isKeptFor(state: ReadonlyState, { entry }: CalendarItem, { spec, actor }: Workload): boolean {
  if (entry.kind !== "reservation") return false;
  const isOfTeam = entry.team !== undefined && withAncestors(state, spec.team).includes(entry.team);
  return isOfTeam || entry.users?.includes(actor) === true;
}

/** The team and all teams above it. The list ends at a missing team or at a cycle. */
export function withAncestors(state: ReadonlyState, team: TeamName): readonly TeamName[] {
  const line: TeamName[] = [];
  for (let at: TeamName | null = team; at !== null && !line.includes(at); at = state.teams.get(at)?.parent ?? null)
    line.push(at);
  return line;
}
