/** Amounts that a request needs at once, and quotas that block it. */
import { WHOLE_MILLI, needsPart } from "../model/device-part.ts";
import type { NodeId, TeamName } from "../model/ids.ts";
import { groupAt, leastParts, typesOfGroup } from "../model/gang.ts";
import type { GangPart } from "../model/gang.ts";
import { groupsToGrow } from "../model/slices.ts";
import type { Attempt, WorkerAllocation } from "../model/workload.ts";
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

/** Whether the request is for several task groups, or for growth of one. */
export const isInGroups = ({ gang }: Pick<PlacementRequest, "gang">): boolean => gang.taskGroups !== undefined;

/** Minimum number of whole accelerators of one type; 0 if fractions or several types may suffice. */
export const wholeNeeded = ({ gang, workers }: Pick<PlacementRequest, "gang" | "workers">): number =>
  !needsPart(gang) && gang.taskGroups === undefined ? workers * gang.accelerators : 0;

/** The attempt that would get further workers; `null` for work that waits to start. */
export function growingAttempt({ state }: World, request: PlacementRequest): Attempt | null {
  return request.grows === null ? null : (state.attempts.get(request.grows) ?? null);
}

/** A node on which the gang, or its growing task group, already has a worker. */
export function nodeHeld(world: World, request: PlacementRequest): NodeId | undefined {
  const { group } = request;
  return growingAttempt(world, request)?.workers.find((worker) => group === null || worker.taskGroup === group)?.node;
}

/** Accepted types, most preferred first; a running gang stays on its own type. */
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

/** Number of accelerators of one worker, with fractions. */
export const acceleratorsPerWorker = ({ teamUse }: World, { gang }: PlacementRequest): number =>
  teamUse.amountOf(gang, 1, "").acceleratorsMilli / WHOLE_MILLI;

/**
 * Amounts that the request would hold on a type; `""`: on any type. Task groups that accept a single type count on that
 * type only.
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

/** Amounts for the comparison of teams: on the only accepted type, if there is just one. */
export function amountCompared(world: World, request: PlacementRequest): Amount {
  if (world.teamUse.compared.length === COMPARED.length) return amountAsked(world, request, "");
  const [only, other] = acceptableTypes(world, request);
  return amountAsked(world, request, other === undefined ? (only?.type ?? "") : "");
}

/**
 * The quota that blocks the request on a type: a limit of the team or of a team above, or, for non-preemptible work, a
 * guarantee; `null`: none.
 */
export const quotaReached = (world: World, request: PlacementRequest, type: string): QuotaReached | null =>
  quotaReachedBy(world, request, () => amountAsked(world, request, type));

/** Like `quotaReached`, for any amount. */
export function quotaReachedBy(world: World, request: PlacementRequest, amountOf: () => Amount): QuotaReached | null {
  const { teamUse, state } = world;
  const spent = spentBudget(state, request.team);
  if (spent !== null) return { bound: "budget", team: spent, resource: "budget", limit: 0, used: 0 };
  return teamUse.isBounded ? boundReached(world, request, amountOf(), "present") : null;
}

/** The quota that the request exceeds by itself, so that waiting for the end of other work does not help; `null`: none. */
export const quotaExceededAlone = (world: World, request: PlacementRequest, amount: Amount): QuotaReached | null =>
  world.teamUse.isBounded ? boundReached(world, request, amount, "none") : null;

/** The usage with which a request is compared: that of all work, or none. */
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

/** The guarantee that bounds a non-preemptible request: of its own team and those above, or of other teams. */
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

/** With borrowing: the quota that is missing because no team lends this amount, or could lend it. */
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
