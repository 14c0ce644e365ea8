/** Nothing is placed past a limit of its team or of any team above it (DESIGN §7.4). A limit lowered later evicts nobody. */
import type { ReadonlyState, TeamName } from "@headroom/engine";
import type { SimulatedRound } from "../run/simulation.ts";
import { mustHold } from "./violation.ts";

export function checkTeamLimits({ ready, engine }: SimulatedRound): void {
  const { state } = engine;
  for (const event of ready.events) {
    if (event.kind !== "gangPlaced") continue;
    const spec = state.workloads.get(event.workloadId)?.spec;
    if (spec === undefined || spec.gang.accelerators === 0) continue;
    for (const team of withAncestors(state, spec.team)) {
      const limit = state.teams.get(team)?.limit[event.acceleratorType];
      if (limit === undefined) continue;
      const used = teamUse(state, team, event.acceleratorType);
      mustHold(
        used <= limit,
        () => `${event.attemptId} took ${team} to ${used} ${event.acceleratorType}, its limit is ${limit}`,
      );
    }
  }
}

export function withAncestors(state: ReadonlyState, team: TeamName): TeamName[] {
  const line: TeamName[] = [];
  for (let at: TeamName | null = team; at !== null; at = state.teams.get(at)?.parent ?? null) line.push(at);
  return line;
}

/** Accelerators of a type that a team and everything below it hold, counted from the attempts. */
export function teamUse(state: ReadonlyState, team: TeamName, acceleratorType: string): number {
  let used = 0;
  for (const attempt of state.attempts.values()) {
    if (attempt.acceleratorType !== acceleratorType) continue;
    const spec = state.workloads.get(attempt.workloadId)?.spec;
    if (spec !== undefined && withAncestors(state, spec.team).includes(team)) {
      used += spec.gang.accelerators * attempt.workers.length;
    }
  }
  return used;
}
