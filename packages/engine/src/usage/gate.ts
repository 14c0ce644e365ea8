/**
 * Decides whether a budget prevents a team's work from starting. Only events change the answer, so it is constant
 * within a round.
 */
import { BUDGET_SPENT_PERCENT } from "@headroom/model";
import type { TeamName } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

/**
 * The first team with a used-up budget that prevents starts, from this team up to the root, or `null` if there is none.
 */
export function spentBudget(state: ReadonlyState, team: TeamName): TeamName | null {
  if (state.accounts.size === 0) return null;
  for (let at: TeamName | null = team; at !== null; at = state.teams.get(at)?.parent ?? null)
    if (isSpent(state, at) && state.teams.get(at)?.budget?.over !== "warn") return at;
  return null;
}

/** All teams from this one up to the root whose used-up budget prevents starts, the lowest team first. */
export function spentBudgets(state: ReadonlyState, team: TeamName): readonly TeamName[] {
  const spent: TeamName[] = [];
  for (let at = spentBudget(state, team); at !== null;) {
    spent.push(at);
    const above: TeamName | null = state.teams.get(at)?.parent ?? null;
    at = above === null ? null : spentBudget(state, above);
  }
  return spent;
}

export const isSpent = ({ accounts }: ReadonlyState, team: TeamName): boolean =>
  accounts.get(team)?.crossed?.percent === BUDGET_SPENT_PERCENT;
