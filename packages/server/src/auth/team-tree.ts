/** The tree of teams as decisions about access read it. */
import type { ReadonlyState } from "@headroom/engine";
import type { TeamName } from "@headroom/model";
import { readsAllTeams } from "./authorize.ts";
import type { Principal } from "./authorize.ts";

type Teams = Pick<ReadonlyState, "teams">;
/** The part of the tree that paths are read from. */
export interface TeamParents {
  readonly teams: { get(name: TeamName): { readonly parent: TeamName | null } | undefined };
}

/** The team and the teams above it. A name without a team has no teams above it. */
export function withTeamsAbove({ teams }: TeamParents, name: TeamName): readonly TeamName[] {
  const path: TeamName[] = [];
  for (let at: TeamName | null = name; at !== null && !path.includes(at); at = teams.get(at)?.parent ?? null)
    path.push(at);
  return path;
}

/** Teams whose work the principal may see; `null`: all. */
export function readableTeams(state: Teams, principal: Principal): ReadonlySet<string> | null {
  if (readsAllTeams(principal)) return null;
  const granted = new Set(
    principal.grants.flatMap(({ team, permissions }) =>
      permissions.has("workloads.read") && team !== null ? team : [],
    ),
  );
  return new Set(
    [...state.teams.keys()].filter((name) => withTeamsAbove(state, name).some((team) => granted.has(team))),
  );
}
