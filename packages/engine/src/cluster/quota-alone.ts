/** Quotas that a request exceeds by itself: work in flight does not count, so waiting for its end does not help. */
import type { World } from "./world.ts";
import type { PlacementRequest } from "./placement-request.ts";
import { passes, passesOtherType } from "./amount-vectors.ts";
import { ACCELERATORS_AT, statedAmount } from "./team-node.ts";
import type { Amount, TeamNode } from "./team-node.ts";
import type { QuotaReached, TeamUse } from "./team-use.ts";
import { unguaranteedExceeded } from "./unguaranteed.ts";

/**
 * In the order of `quotaReachedBy`: the limits of the team and of the teams above it, their user limits, the capacity of
 * the team in an empty quota tree, and, for non-preemptible work, its team's or other teams' guarantees; `null`: none.
 */
export function quotaExceededAlone(world: World, request: PlacementRequest, amount: Amount): QuotaReached | null {
  const { teamUse, rules } = world;
  if (!teamUse.isBounded) return null;
  const teams = teamsUpwards(teamUse, request);
  const bound = request.isPreemptible ? "limit" : rules.teams.nonPreemptible;
  return (
    firstOf(teams, (team) => limitExceeded(teamUse, team, amount)) ??
    firstOf(teams, (team) => userLimitExceeded(teamUse, team, { amount, user: request.actor })) ??
    borrowableExceeded(teamUse, request, amount) ??
    (bound === "guarantee" ? firstOf(teams, (team) => guaranteeExceeded(teamUse, team, amount)) : null) ??
    (bound === "unguaranteed" ? unguaranteedExceeded(world, request.team, amount) : null)
  );
}

function teamsUpwards(teamUse: TeamUse, { team }: PlacementRequest): readonly TeamNode[] {
  const teams: TeamNode[] = [];
  for (let at: TeamNode | null = teamUse.node(team); at !== null; at = at.parent) teams.push(at);
  return teams;
}

function firstOf(teams: readonly TeamNode[], exceeded: (team: TeamNode) => QuotaReached | null): QuotaReached | null {
  for (const team of teams) {
    const found = exceeded(team);
    if (found !== null) return found;
  }
  return null;
}

function limitExceeded(
  { resources }: TeamUse,
  { name: team, limit, used }: TeamNode,
  amount: Amount,
): QuotaReached | null {
  const at = passes(NOTHING_USED, limit, amount);
  if (at < 0) return null;
  return { bound: "limit", team, resource: resources[at] as string, ...figures(at, limit, used) };
}

function userLimitExceeded(
  { resources, users }: TeamUse,
  { name: team, userLimit }: TeamNode,
  { amount, user }: { readonly amount: Amount; readonly user: string },
): QuotaReached | null {
  const at = passes(NOTHING_USED, userLimit, amount);
  if (at < 0) return null;
  return {
    bound: "user",
    team,
    resource: resources[at] as string,
    ...figures(at, userLimit, users.used(team, user)),
    user,
  };
}

function guaranteeExceeded({ resources }: TeamUse, node: TeamNode, amount: Amount): QuotaReached | null {
  const { name: team, guarantee, fixed } = node;
  if (guarantee.length === 0) return null;
  const ofType = passesOtherType(node, amount);
  const at = ofType >= 0 ? ofType : passes(NOTHING_USED, guarantee, amount);
  if (at < 0) return null;
  const reached = { bound: "guarantee", team, resource: resources[at] as string } as const;
  const { limit, used } = figures(at, guarantee, fixed);
  return { ...reached, limit: ofType >= 0 ? 0 : limit, used };
}

/** With borrowing: more than the team could use if no team used anything. */
function borrowableExceeded(
  { quota, resources }: TeamUse,
  { team }: PlacementRequest,
  amount: Amount,
): QuotaReached | null {
  if (quota === null) return null;
  const leaf = quota.leaf(team);
  const at = quota
    .amounts(amount)
    .findIndex((more, index) => more > 0 && more > quota.tree.potentialAvailable(leaf, index));
  if (at < 0) return null;
  const position = quota.positions[at] as number;
  const unit = position >= ACCELERATORS_AT ? 1000 : 1;
  return {
    bound: "borrowing",
    team,
    resource: resources[position] as string,
    limit: quota.tree.potentialAvailable(leaf, at) / unit,
    used: quota.tree.usage(leaf, at) / unit,
  };
}

const NOTHING_USED: readonly number[] = [];

const figures = (
  at: number,
  bound: readonly number[],
  used: readonly number[],
): Pick<QuotaReached, "limit" | "used"> => ({
  limit: statedAmount(at, bound[at] as number),
  used: statedAmount(at, used[at] ?? 0),
});
