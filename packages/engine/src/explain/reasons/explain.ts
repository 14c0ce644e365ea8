/**
 * Explains why a workload waits. The verdict is computed on request from the indexes that the round uses. Reasons are
 * in the order in which the round checks them; the first one is the one to act on.
 */
import { bisect } from "../../base/collections/bisect.ts";
import { clockOf, worldOf } from "../../engine/engine.ts";
import type { EventKind } from "../../contract/events.ts";
import { groupAt, typesOfGroup } from "../../model/gang.ts";
import type { WorkloadId } from "../../model/ids.ts";
import type { GangSpec } from "../../model/workload.ts";
import type { Engine } from "../../engine/ready.ts";
import { predictsRuns } from "../../usage/run-times.ts";
import { findBesideStarts } from "../../placement/backfill/beside-starts.ts";
import { reservationsOf } from "../../placement/backfill/reservations.ts";
import type { Reservation } from "../../placement/backfill/reservations.ts";
import { findPlacement } from "../../placement/place.ts";
import { predictionOf } from "../../transitions/start.ts";
import { couldEverFit, fitsUsableFleet, isHeldByLimit } from "../../placement/could-ever.ts";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import { blockingClass } from "../../round/place-waiting.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import { amountAt, FIRST_TYPE_AT, statedAmount } from "../../cluster/team-node.ts";
import type { Amount } from "../../cluster/team-node.ts";
import { emptied } from "../../placement/empty-fleet.ts";
import { askOfRefused, placeGroups } from "../../placement/place-groups.ts";
import {
  amountAsked,
  isInGroups,
  partsAsked,
  quotaExceededAlone,
  quotaReachedBy,
  wholeNeeded,
} from "../../cluster/request.ts";
import { readyTask, waitingTaskCount } from "../../state/ready-task.ts";
import type { World } from "../../cluster/world.ts";
import type { WorkloadEntity } from "../../state/state.ts";
import type { BlockedReason, Verdict } from "../../contract/verdicts.ts";
import { acceptedNodes } from "./accepted-nodes.ts";
import type { AcceptedNodes } from "./accepted-nodes.ts";
import { blocked, withNever, FLEET_GROWS, FREEING, HEAD_MOVES, canNeverBePlaced } from "./blocked-verdict.ts";
import type { BlockedVerdict } from "./blocked-verdict.ts";
import { exceedingGroup, exceedsFleet, workerShortfall, placeableNow } from "./shortfalls.ts";
import { explainBackoff, explainBudget, explainTime } from "./hold-reasons.ts";
import { explainMinRuntime } from "./explain-min-runtime.ts";
import { declaredWakeOn, filters } from "../../placement/filters/filters.ts";
import type { Inquiry } from "../../placement/filters/filter.ts";
import { hotSpares, hotSparesFor, hotSparesKept } from "../../placement/filters/hot-spares.ts";
import { quota } from "../../placement/filters/quota.ts";
import { topologyPolicy } from "../../placement/filters/topology-policy.ts";
import { explainReservedTopology } from "../../strategies/hived/explain-reserved-topology.ts";

type TeamLimit = BlockedReason & { readonly kind: "teamLimit" };

export const explain = (engine: Engine, id: WorkloadId): Verdict => explainWith(engine, id, explainMinRuntime);

/** Verdict for listings of many workloads. It leaves out the reason `minRuntime`, which takes longest to compute. */
export const explainBriefly = (engine: Engine, id: WorkloadId): Verdict => explainWith(engine, id, () => null);

function explainWith(engine: Engine, id: WorkloadId, minRuntimeOf: typeof explainMinRuntime): Verdict {
  const world = worldOf(engine);
  const workload = world.state.workloads.get(id);
  if (workload === undefined || workload.endedAtMs !== null) return { kind: "notWaiting" };
  const nominated = [...world.state.nominations.values()].find((place) => place.workloadId === id && !place.growth);
  if (waitingTaskCount(workload) === 0 && nominated === undefined) return { kind: "notWaiting" };
  const nowMs = clockOf(engine);
  const timely = explainTime(world, workload, nowMs);
  if (timely !== null) return timely;
  if (nominated !== undefined && readyTask(workload, nowMs) === null)
    return blocked(["attemptEnded", "workersLeft", "nominationWithdrawn"], {
      kind: "nominated",
      nodes: nominated.workers.map(({ node }) => node),
    });
  if (readyTask(workload, nowMs) === null) return explainBackoff(workload);
  const budget = explainBudget(world, workload.spec.team, nowMs);
  if (budget !== null) return withNever(blocked(["budgetRenewed", "teamDefined"], budget), budget.renewsAtMs === null);
  const bucket = world.queue.classOf(workload);
  const { request } = bucket;
  const couldEver = couldEverFit(world, bucket);
  const own = withDeclarations(world, request, explainRequest(world, request, couldEver));
  // The round skips a request that exceeds the fleet, so its verdict does not say that another request is ahead.
  const behind = couldEver ? explainHead(world, workload) : null;
  if (own === null && behind === null) {
    const reserved = explainReservation(world, bucket, nowMs);
    if (reserved !== null) return blocked(reservationMoves(world), reserved);
  }
  if (own !== null) {
    const minRuntime = isShortfall(own) ? minRuntimeOf(world, request, workload, nowMs) : null;
    const others = [minRuntime, behind].filter((reason) => reason !== null);
    const all = others.length === 0 ? own : { ...own, reasons: [...own.reasons, ...others] };
    return withNever(all, canNeverBePlaced(world, request, couldEver, own.reasons));
  }
  return behind === null ? { kind: "placeable" } : blocked(HEAD_MOVES, behind);
}

/** For a request that a filter rejects on some nodes, adds the events that change declared properties of nodes. */
function withDeclarations(
  world: World,
  request: PlacementRequest,
  verdict: BlockedVerdict | null,
): BlockedVerdict | null {
  if (verdict === null) return null;
  const more = declaredWakeOn(world, request).filter((kind) => !verdict.wakeOn.includes(kind));
  return more.length === 0 ? verdict : { ...verdict, wakeOn: [...verdict.wakeOn, ...more] };
}

/** Whether the request lacks capacity that other work holds. */
const isShortfall = ({ reasons: [first] }: BlockedVerdict): boolean =>
  first?.kind === "acceleratorShortfall" || first?.kind === "workerShortfall" || first?.kind === "partShortfall";

/** Events that may move the protected start, or give it to another request. */
const reservationMoves = ({ rules }: World): readonly EventKind[] =>
  predictsRuns(rules) ? [...HEAD_MOVES, "attemptStarted", "predictionCorrected"] : [...HEAD_MOVES, "attemptStarted"];

/** The protected start that the request would delay. `null` if protected starts do not block the request. */
function explainReservation(world: World, bucket: QueueBucket, nowMs: number): BlockedReason | null {
  const { request } = bucket;
  const expectedEndMs = nowMs + request.durationMs;
  const starts = reservationsOf(world).filter(
    ({ startMs, bucket: reserved }) => startMs < expectedEndMs && reserved !== bucket,
  );
  const other = firstInTheWay(world, request, starts);
  return other === null
    ? null
    : {
        kind: "reservation",
        workloadId: other.workloadId,
        startMs: other.startMs,
        expectedEndMs,
        ...predictionOf(world, request),
      };
}

/**
 * The first protected start that blocks the request: the request fits beside the earlier ones but not beside this one.
 * If the request now fits beside all of them together, the first protected start.
 */
function firstInTheWay(world: World, request: PlacementRequest, starts: readonly Reservation[]): Reservation | null {
  if (starts.length > 1 && findBesideStarts(world, request, starts) !== null) return starts[0] as Reservation;
  const blocksWith = (count: number): boolean => findBesideStarts(world, request, starts.slice(0, count)) === null;
  return starts[bisect(0, starts.length, blocksWith) - 1] ?? null;
}

/**
 * The verdict of a request that does not fit, or `null` if it fits now. `couldEver` states whether the usable fleet, if
 * empty, could hold it.
 */
function explainRequest(world: World, request: PlacementRequest, couldEver: boolean): BlockedVerdict | null {
  if (couldEver && findPlacement(world, request) !== null) return null;
  const inquiry = inquiryOf(world, request, couldEver);
  for (const { explain: reasonOf, wakeOn } of filters) {
    const reason = reasonOf?.(inquiry) ?? null;
    if (reason !== null) return blocked([...FREEING, ...wakeOn], reason);
  }
  const roomIf = (couldEverNow: boolean): BlockedVerdict =>
    (isInGroups(request) ? explainGroups : explainRoom)(world, request, couldEverNow);
  const among = couldEver ? null : explainAmongHotSpares(world, request, () => roomIf(true));
  return among ?? roomIf(couldEver);
}

const inquiryOf = (world: World, request: PlacementRequest, couldEver: boolean): Inquiry => ({
  world,
  request,
  couldEver,
  place: (variant) => findPlacement(world, variant),
  fitsFleet: (variant) => fitsUsableFleet(world, variant),
  placeableWorkers: () => (isInGroups(request) ? 0 : placeableNow(world, request)),
});

/**
 * For a request that fits only on the nodes of hot spares. The verdict states the hot spares, and the reasons that
 * `others` returns while the hot spares count as usable.
 */
function explainAmongHotSpares(
  world: World,
  request: PlacementRequest,
  others: () => BlockedVerdict,
): BlockedVerdict | null {
  const kept = hotSparesFor(world, request);
  if (kept.length === 0) return null;
  return world.capacity.opened(kept, () => {
    if (!fitsUsableFleet(world, request)) return null;
    const { reasons, wakeOn } = others();
    const all = new Set([...wakeOn, ...hotSpares.wakeOn]);
    return blocked([...all], { ...hotSparesKept(request, kept), suffice: false }, ...reasons);
  });
}

/** Reasons of capacity for a gang without task groups. */
function explainRoom(world: World, request: PlacementRequest, couldEver: boolean): BlockedVerdict {
  const { gang, acceleratorTypes } = request;
  const neededCount = wholeNeeded(request);
  const accepted = acceptedNodes(world, request);
  // A gang never mixes accelerator types, so each type is judged separately. A type that could not hold the gang even
  // if empty is left out.
  const able = accepted.filter((nodes) => nodes.holds(gang) >= request.workers);
  // `couldEver` can be false although the number of workers fits on a type: a constraint may rule the type out, or the
  // nodes may be hot spares.
  if (able.length === 0 || !couldEver) return blocked(FLEET_GROWS, exceedsFleet(world, request));
  const limits = limitReasons(world, request, able);
  const wakeOn: readonly EventKind[] = limits.length === 0 ? FREEING : [...FREEING, ...quota.wakeOn];
  const open = able.filter(({ type }) => limitReason(world, request, type) === null);
  if (open.length === 0) return blocked(wakeOn, ...limits);
  const reservedTopology = explainReservedTopology(world, request);
  if (reservedTopology !== null)
    return blocked([...FREEING, "teamDefined", ...topologyPolicy.wakeOn], reservedTopology, ...limits);
  const roomiest = open.reduce((left, right) => (right.freeCount > left.freeCount ? right : left));
  const { freeCount } = roomiest;
  if (freeCount < neededCount) {
    const counts = { neededCount, freeCount, fleetCount: roomiest.usableCount };
    return blocked(wakeOn, { kind: "acceleratorShortfall", acceleratorTypes, ...counts }, ...limits);
  }
  return blocked(wakeOn, workerShortfall(world, request, open), ...limits);
}

const limitReason = (world: World, request: PlacementRequest, { type }: Pick<TypeCapacity, "type">): TeamLimit | null =>
  limitReasonOf(world, request, type, amountAsked(world, request, type));

/**
 * One reason for each quota that excludes a type. A quota that is not stated by type excludes all types and is reported
 * once.
 */
function limitReasons(world: World, request: PlacementRequest, able: readonly AcceptedNodes[]): readonly TeamLimit[] {
  const reasons = new Map<string, TeamLimit>();
  for (const { type } of able) {
    const reason = limitReason(world, request, type);
    if (reason === null) continue;
    const { bound, team, resource } = reason;
    const key = [bound, team, resource].join(" ");
    if (!reasons.has(key)) reasons.set(key, reason);
  }
  return [...reasons.values()];
}

function limitReasonOf(world: World, request: PlacementRequest, type: string, amount: Amount): TeamLimit | null {
  // A quota that the request exceeds even without other usage comes before a quota that other work has used up.
  const reached = quotaExceededAlone(world, request, amount) ?? quotaReachedBy(world, request, () => amount);
  if (reached === null) return null;
  const { bound, team, resource, limit: limitCount, used: usedCount } = reached;
  const neededCount = amountOf(world, amount, resource);
  const user = reached.user === undefined ? {} : { user: reached.user };
  return {
    kind: "teamLimit",
    bound,
    ...user,
    team,
    acceleratorType: type,
    resource,
    neededCount,
    limitCount,
    usedCount,
  };
}

/** An amount of a resource in the unit in which teams state it. */
function amountOf({ teamUse }: World, amount: Amount, resource: string): number {
  const position = teamUse.position(resource);
  const isOfOneType = position >= FIRST_TYPE_AT && amount.byType === undefined;
  return statedAmount(position, isOfOneType ? amount.acceleratorsMilli : amountAt(amount, position));
}

/**
 * Reasons of capacity for a gang with task groups: the first group that does not fit beside the other groups, or a
 * quota.
 */
function explainGroups(world: World, request: PlacementRequest, couldEver: boolean): BlockedVerdict {
  const { taskGroups } = request.gang;
  if (!couldEver) {
    const empty = emptied(world);
    const exceeding = (one: PlacementRequest): BlockedReason => ({
      ...exceedingGroup(empty, one, placeableNow(empty, one)),
      ...groupName(taskGroups, one),
    });
    const reason = world.calendar.leftAside(() => askOfRefused(empty, request, exceeding));
    return blocked(FLEET_GROWS, reason ?? exceeding(request));
  }
  const limit = limitReason(world, request, { type: "" }) ?? limitOnFirstTypes(world, request);
  const limits = limit === null ? [] : [limit];
  const wakeOn = [...FREEING, ...quota.wakeOn];
  const reservedTopology = explainReservedTopology(world, request);
  if (reservedTopology !== null) return blocked([...wakeOn, ...topologyPolicy.wakeOn], reservedTopology, ...limits);
  const own = limit === null ? askOfRefused(world, request, (one) => firstReason(world, taskGroups, one)) : null;
  return blocked(wakeOn, ...(own === null ? (limit === null ? [scattered(world, request)] : limits) : [own]));
}

const groupName = (taskGroups: GangSpec["taskGroups"], { group }: PlacementRequest): { readonly group?: string } => {
  return group === null || taskGroups === undefined ? {} : { group: taskGroups[group]?.name ?? "" };
};

/** The reason for a group that does not fit beside the other groups, in a gang that the fleet could hold. */
function firstReason(world: World, taskGroups: GangSpec["taskGroups"], one: PlacementRequest): BlockedReason | null {
  const [first] = explainRequest(world, one, true)?.reasons ?? [];
  return first === undefined ? null : { ...first, ...groupName(taskGroups, one) };
}

/** Every group fits by itself, but the groups do not fit together. */
function scattered(world: World, request: PlacementRequest): BlockedReason {
  const accepted = acceptedNodes(world, request);
  return {
    kind: "workerShortfall",
    workers: request.workers,
    placeableWorkers: request.workers - 1,
    binding: "accelerators",
    neededPerWorker: request.gang.accelerators,
    freeCount: Math.max(0, ...accepted.map(({ freeCount }) => freeCount)),
  };
}

/** The quota that is reached if each group gets the type that it prefers most. */
function limitOnFirstTypes(world: World, request: PlacementRequest): BlockedReason | null {
  if (placeGroups(world, request, { layer: "idle", heedsQuotas: false }) === null) return null;
  const amount = world.teamUse.amountOfParts(partsAsked(world, request), ({ group = 0 }) => {
    const types = typesOfGroup(request.spec, groupAt(request.gang, group));
    return world.capacity.acceptable(types)[0]?.type ?? "";
  });
  return limitReasonOf(world, request, "", amount);
}

/**
 * Reason `behindHead`: the policy stops at a blocked head of the queue, and the head is another workload that does not
 * fit.
 */
function explainHead(world: World, workload: WorkloadEntity): BlockedReason | null {
  const { queue, state } = world;
  if (state.policy.whenHeadBlocked !== "stop") return null;
  const head = blockingClass(world)?.waiting.first();
  if (head === undefined || head === workload) return null;
  const mayBlock = (bucket: QueueBucket): boolean =>
    couldEverFit(world, bucket) && !isHeldByLimit(world, bucket.request);
  const waiting = queue.waitingClasses().filter(mayBlock);
  const aheadCount = waiting.reduce((sum, bucket) => sum + bucket.waiting.rank(workload), 0);
  return { kind: "behindHead", headWorkloadId: head.id, aheadCount: Math.max(1, aheadCount) };
}
