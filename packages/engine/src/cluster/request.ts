/** The amounts that a request needs at once, and the quotas that block the request. */
import { WHOLE_MILLI, needsPart, groupAt, leastParts, typesOfGroup, groupsToGrow } from "@headroom/model";
import type { NodeId, TeamName, GangPart, Attempt, WorkerAllocation } from "@headroom/model";
import type { TypeCapacity } from "./capacity.ts";
import type { PlacementRequest } from "./placement-request.ts";
import { spentBudget } from "../usage/gate.ts";
import { COMPARED, statedAmount } from "./team-node.ts";
import type { Amount } from "./team-node.ts";
import type { QuotaReached, TeamUse } from "./team-use.ts";
import { unguaranteedReached } from "./unguaranteed.ts";
import type { World } from "./world.ts";

export interface Placement {
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
}

/** Whether the request is for several task groups, or for further workers of one task group. */
export const isInGroups = ({ gang }: Pick<PlacementRequest, "gang">): boolean => gang.taskGroups !== undefined;

/**
 * Minimum number of whole accelerators of one type that the request needs. 0 if fractions or several types may suffice.
 */
export const wholeNeeded = ({ gang, workers }: Pick<PlacementRequest, "gang" | "workers">): number =>
  !needsPart(gang) && gang.taskGroups === undefined ? workers * gang.accelerators : 0;

/** Whether the workers of the request reserve nothing. The gang of task groups states the largest amounts of any worker. */
export const needsNothing = ({ gang }: Pick<PlacementRequest, "gang">): boolean =>
  gang.accelerators === 0 && gang.coresMilli === 0 && gang.memoryMib === 0 && (gang.networkGbps ?? 0) === 0;

/** The attempt that requests further workers, or `null` if the request is for a start. */
export function growingAttempt({ state }: World, request: PlacementRequest): Attempt | null {
  return request.grows === null ? null : (state.attempts.get(request.grows) ?? null);
}

/** A node on which the gang already has a worker, or, if one task group grows, this group. */
export function nodeHeld(world: World, request: PlacementRequest): NodeId | undefined {
  const { group } = request;
  return growingAttempt(world, request)?.workers.find((worker) => group === null || worker.taskGroup === group)?.node;
}

/** Accelerator types that the request accepts, most preferred first. A running gang stays on its own type. */
export function acceptableTypes(world: World, request: PlacementRequest): readonly TypeCapacity[] {
  const attempt = growingAttempt(world, request);
  return attempt === null
    ? world.capacity.acceptable(request.acceleratorTypes)
    : typesToGrowOn(world, request, attempt);
}

function typesToGrowOn(world: World, request: PlacementRequest, attempt: Attempt): readonly TypeCapacity[] {
  if (request.spec.gang.taskGroups === undefined && request.group === null)
    return world.capacity.acceptable([attempt.acceleratorType]);
  const group = request.group ?? groupsToGrow(request.spec.gang, attempt.workers, request.workers)[0];
  const own = attempt.workers.find((worker) => worker.taskGroup === group);
  return own === undefined ? [] : world.capacity.acceptable([world.capacity.slot(own.node).node.acceleratorType]);
}

export const partsAsked = (world: World, request: PlacementRequest): readonly GangPart[] =>
  partsOfRequest(world, request).map((part) => {
    const shape = world.teamUse.charged(part.shape, "");
    return shape === part.shape ? part : { ...part, shape };
  });

function partsOfRequest(world: World, request: PlacementRequest): readonly GangPart[] {
  const { gang, workers } = request;
  if (gang.taskGroups === undefined) return [{ shape: gang, workers }];
  const { counts } = request;
  if (counts !== null) return leastParts(gang).map((part, at) => ({ ...part, workers: counts[at] ?? 0 }));
  if (!request.isGrowth) return leastParts(gang);
  const attempt = growingAttempt(world, request);
  const group = request.group ?? groupsToGrow(gang, attempt?.workers ?? [], workers)[0] ?? 0;
  return [{ shape: groupAt(gang, group), workers, group }];
}

/** Number of accelerators that one worker needs; a fraction counts as its fraction. */
export const acceleratorsPerWorker = ({ teamUse }: World, { gang }: PlacementRequest): number =>
  teamUse.amountOf(gang, 1, "").acceleratorsMilli / WHOLE_MILLI;

/**
 * Amounts that the request would hold on a type; `""` stands for any type. Workers of a task group that accepts only
 * one type count on that type.
 */
export function amountAsked(world: World, request: PlacementRequest, type: string): Amount {
  const { teamUse } = world;
  if (request.gang.taskGroups === undefined) return teamUse.amountOf(request.gang, request.workers, type);
  const typeOf = ({ group = 0 }: GangPart): string => {
    const [only, other] = typesOfGroup(request.spec, groupAt(request.gang, group));
    return other === undefined ? (only ?? "") : "";
  };
  return teamUse.amountOfParts(partsAsked(world, request), typeOf);
}

/** Amounts by which teams are compared. If only one accelerator type is accepted, they are on this type. */
export function amountCompared(world: World, request: PlacementRequest): Amount {
  if (world.teamUse.compared.length === COMPARED.length) return amountAsked(world, request, "");
  const [only, other] = acceptableTypes(world, request);
  return amountAsked(world, request, other === undefined ? (only?.type ?? "") : "");
}

/**
 * The quota that blocks the request on a type, or `null` if none does. It is a limit of the team or of a team above or,
 * for non-preemptible work, a guarantee.
 */
export const quotaReached = (world: World, request: PlacementRequest, type: string): QuotaReached | null =>
  quotaReachedBy(world, request, () => amountAsked(world, request, type));

/** Like `quotaReached`, for a given amount. */
export function quotaReachedBy(world: World, request: PlacementRequest, amountOf: () => Amount): QuotaReached | null {
  const { teamUse, state } = world;
  const spent = spentBudget(state, request.team);
  if (spent !== null) return { bound: "budget", team: spent, resource: "budget", limit: 0, used: 0 };
  return teamUse.isBounded ? boundReached(world, request, amountOf(), "present") : null;
}

/**
 * The quota that the request exceeds even if no other work runs, so that waiting for the end of other work does not
 * help. `null` if there is none.
 */
export const quotaExceededAlone = (world: World, request: PlacementRequest, amount: Amount): QuotaReached | null =>
  world.teamUse.isBounded ? boundReached(world, request, amount, "none") : null;

/** Usage to which a request is added for the comparison with a quota: that of all present work, or none. */
type ComparedUsage = "present" | "none";

const boundReached = (
  world: World,
  request: PlacementRequest,
  amount: Amount,
  usage: ComparedUsage,
): QuotaReached | null =>
  world.teamUse.limitReached(request, amount, usage === "none" ? "all" : undefined) ??
  borrowingReached(world.teamUse, request.team, amount, usage) ??
  guaranteeReached(world, request, amount, usage);

/**
 * The guarantee that blocks a non-preemptible request, or `null`. The policy decides whether the guarantees of its own
 * team and the teams above count, or those of other teams.
 */
export function guaranteeReached(
  world: World,
  { team, isPreemptible }: PlacementRequest,
  amount: Amount,
  usage: ComparedUsage = "present",
): QuotaReached | null {
  const { nonPreemptible } = world.rules.teams;
  if (isPreemptible || nonPreemptible === "limit") return null;
  return nonPreemptible === "guarantee"
    ? world.teamUse.guaranteePassed(team, amount, usage === "none" ? "all" : undefined)
    : unguaranteedReached(world, team, amount, usage);
}

/**
 * Under a policy with borrowing: the quota that the amount exceeds because other teams do not lend enough now or, for
 * `none`, even if no work runs. `null` if there is none.
 */
function borrowingReached(
  { quota, resources }: TeamUse,
  team: TeamName,
  amount: Amount,
  usage: ComparedUsage,
): QuotaReached | null {
  if (quota === null) return null;
  const { tree } = quota;
  const leaf = quota.leaf(team);
  const available = (at: number): number =>
    usage === "none" ? tree.potentialAvailable(leaf, at) : tree.available(leaf, at);
  const at = quota.amounts(amount).findIndex((more, index) => more > 0 && more > available(index));
  if (at < 0) return null;
  const position = quota.positions[at] as number;
  const used = statedAmount(position, tree.usage(leaf, at));
  const limit = (usage === "none" ? 0 : used) + statedAmount(position, available(at));
  return { bound: "borrowing", team, resource: resources[position] as string, limit, used };
}
