/** The route of limits: what each team may use, has used and has left. */
import { limitsOfTeam } from "../access/teams.ts";
import type { GatewayConfig } from "../config/schema.ts";
import type { LimitedTeam, LimitState } from "../telemetry/team-metrics.ts";
import type { AdminRoutes } from "./admin-answer.ts";

/** Limits of teams by configuration: they change only with it. */
const limited = new WeakMap<GatewayConfig, readonly LimitedTeam[]>();

export function limitedTeams(config: GatewayConfig): readonly LimitedTeam[] {
  const found = limited.get(config);
  if (found !== undefined) return found;
  const teams = config.teams.map((team) => ({ team: team.name, limits: limitsOfTeam(team) }));
  limited.set(config, teams);
  return teams;
}

export function limitRoutes(limits: () => readonly LimitState[]): AdminRoutes {
  return ({ method, path }) =>
    method === "GET" && path === "/v1/limits" ? { status: 200, body: { limits: limits() } } : undefined;
}
