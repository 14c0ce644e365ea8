/**
 * Larger limits and guarantees of teams, up to the amount that all waiting work of the team or the user needs. Limits
 * are included only if the request reaches them.
 */
import { ALL_ACCELERATORS, teamWithQuota } from "@headroom/model";
import type { Input, TeamName } from "@headroom/model";
import { waitingTaskCount } from "@headroom/engine";
import { amountAsked, quotaReached, amountAt, FIRST_TYPE_AT, isUnder, statedAmount } from "@headroom/engine/internals";
import type { PlacementRequest, TeamNode, World } from "@headroom/engine/internals";
import type { Change } from "./change.ts";
import type { OtherLine } from "./other-changes.ts";
import { appliedDocuments } from "./counterfactuals.ts";
import { growing } from "./values.ts";
import type { Values } from "./values.ts";

/**
 * For each limit that the request reaches on an accepted type: larger limits, up to the amount with which all waiting
 * work under this limit could run.
 */
export function largerLimits(world: World, request: PlacementRequest): readonly OtherLine[] {
  const reached = new Map<string, OtherLine>();
  for (const { type } of world.capacity.acceptable(request.acceleratorTypes)) {
    const amount = amountAsked(world, request, type);
    const limit = world.teamUse.limitReached(request, amount);
    if (limit === null) continue;
    const { team, resource, limit: from, used, user } = limit;
    const unit = unitOf(resource);
    const alone = used + neededOf(world, request, resource);
    const most = Math.max(alone, used + waitingFor(world, team, resource, user));
    const toAt = (index: number): number => Math.min(most, from + (index + 1) * unit);
    const at = (index: number): Change => ({
      kind: "largerLimit",
      team,
      resource,
      from,
      to: toAt(index),
      ...(user === undefined ? {} : { user }),
    });
    const stepsTo = (amount: number): number => Math.ceil((amount - from) / unit);
    const values = { ...growing(stepsTo(most), at), alone: stepsTo(alone) };
    const field = user === undefined ? "limit" : "userLimit";
    reached.set(`${team} ${resource}`, teamLine(world.teamUse.node(team), values, field, resource, toAt));
  }
  return [...reached.values()];
}

/**
 * Larger guarantees of the team and of the teams above it. The list is empty if no quota blocks the request and the
 * policy has no phase that reclaims.
 */
export function largerGuarantees(world: World, request: PlacementRequest): readonly OtherLine[] {
  const { rules, teamUse } = world;
  const isReclaiming = rules.phases.some((phase) => phase === "reclaim" || phase === "rebalance");
  const isGuarded = world.capacity
    .acceptable(request.acceleratorTypes)
    .some(({ type }) => quotaReached(world, request, type) !== null);
  if (!isReclaiming && !isGuarded) return [];
  const lines: OtherLine[] = [];
  for (let node: TeamNode | null = teamUse.node(request.team); node !== null; node = node.parent)
    for (const resource of guaranteedResources(world, node, request))
      lines.push(guaranteeUp(world, node, request, resource, isGuarded));
  return lines;
}

/**
 * Resources whose guarantee is raised: requested resources with a stated guarantee, and requested accelerator types if
 * the guarantee names types without a total, or if the quota tree counts the type. If there are none, the guarantee of
 * all accelerators together is raised.
 */
function guaranteedResources(
  { capacity, teamUse }: World,
  { team, isByTypeAlone }: TeamNode,
  { gang, acceleratorTypes }: PlacementRequest,
): readonly string[] {
  // If the guarantee names a family of types, the family is used instead of the type.
  const asked = capacity
    .acceptable(acceleratorTypes)
    .map(({ type, family }) => (family !== undefined && family in (team.guarantee ?? {}) ? family : type));
  const byItself = (gang.accelerators === 0 ? [] : asked).filter(
    (type) => isByTypeAlone || teamUse.quota?.positions.includes(teamUse.position(type)) === true,
  );
  const stated = Object.keys(team.guarantee ?? {}).filter(
    (resource) => asked.includes(resource) || resource === ALL_ACCELERATORS,
  );
  const resources = [...new Set([...stated, ...byItself])];
  return resources.length > 0 || gang.accelerators === 0 ? resources : [ALL_ACCELERATORS];
}

/**
 * Larger guarantees of one team. `isGuarded` states that quotas block the request. If they do not, a larger guarantee
 * only allows reclaim, so amounts larger than this request needs are not tried.
 */
function guaranteeUp(
  world: World,
  node: TeamNode,
  request: PlacementRequest,
  resource: string,
  isGuarded: boolean,
): OtherLine {
  const position = world.teamUse.position(resource);
  const used = statedAmount(position, node.used[position] ?? 0);
  const from = node.team.guarantee?.[resource] ?? null;
  const alone = Math.ceil(used + neededOf(world, request, resource));
  const all = isGuarded ? Math.ceil(used + waitingFor(world, node.name, resource)) : alone;
  const most = Math.max(alone, all);
  const least = Math.floor(from ?? 0);
  const toAt = (index: number): number => least + index + 1;
  const at = (index: number): Change => ({
    kind: "largerGuarantee",
    team: node.name,
    resource,
    from,
    to: toAt(index),
  });
  const values = { ...growing(most - least, at), alone: alone - least };
  return teamLine(node, values, "guarantee", resource, toAt);
}

/**
 * Amount of a resource that all waiting work under a team needs, in the unit of quotas. It includes work ahead of the
 * request. With `user`, only that user's work counts.
 */
function waitingFor(world: World, team: TeamName, resource: string, user?: string): number {
  const { teamUse, queue } = world;
  const above = teamUse.node(team);
  let sum = 0;
  for (const each of queue.waitingClasses()) {
    if ((user !== undefined && each.request.actor !== user) || !isUnder(teamUse.node(each.request.team), above))
      continue;
    let gangs = each.waiting.length - each.waitingArrays.size;
    for (const array of each.waitingArrays) gangs += waitingTaskCount(array);
    sum += gangs * neededOf(world, each.request, resource);
  }
  return sum;
}

/** Smallest increase of a resource: one core (1000 thousandths), one GiB (1024 MiB), one accelerator. */
function unitOf(resource: string): number {
  if (resource === "cores") return 1000;
  return resource === "memory" ? 1024 : 1;
}

/** The amount that the request needs, in the unit of quotas. */
function neededOf(world: World, request: PlacementRequest, resource: string): number {
  const amount = amountAsked(world, request, "");
  const position = world.teamUse.position(resource);
  return statedAmount(position, position < FIRST_TYPE_AT ? amountAt(amount, position) : amount.acceleratorsMilli);
}

/** Larger amounts of one resource of one team, as a kind of change. `toAt` returns the amount at an index. */
function teamLine(
  { team }: TeamNode,
  values: Values<Change>,
  field: "guarantee" | "limit" | "userLimit",
  resource: string,
  toAt: (index: number) => number,
): OtherLine {
  const inputs = (index: number): readonly Input[] => [
    appliedDocuments({ teams: [teamWithQuota(team, { [field]: { [resource]: toAt(index) } })] }),
  ];
  const before = [appliedDocuments({ teams: [team] })];
  return {
    values,
    inputs,
    before,
    firstLowerBound: (lowerBound) => {
      const first = lowerBound.underTeam(values.count, inputs);
      lowerBound.takeIn(before);
      return first;
    },
  };
}
