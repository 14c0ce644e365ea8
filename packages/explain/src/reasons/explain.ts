/**
 * Explains why a workload waits. The verdict is computed on request from the indexes that the round uses. Reasons are
 * in the order in which the round checks them; the first one is the one to act on.
 */
import { clockOf, readyTask, waitingTaskCount } from "@headroom/engine";
import type { Engine, WorkloadEntity } from "@headroom/engine";
import { WHOLE_MILLI, groupAt, milliIn } from "@headroom/model";
import type { EventKind, BlockedReason, FleetLack, Verdict, WorkloadId } from "@headroom/model";
import {
  worldOf,
  predictsRuns,
  couldEverFit,
  fitsUsableFleet,
  isHeldByLimit,
  placeableAsWished,
  blockingClass,
  calendarWindows,
  emptied,
  askOfRefused,
  isInGroups,
  partsAsked,
  workerShortfall,
  declaredWakeOn,
  filters,
  hotSpares,
  hotSparesFor,
  hotSparesKept,
  Inquiry,
  quota,
  runTime,
} from "@headroom/engine/internals";
import type { QueueBucket, PlacementRequest, World } from "@headroom/engine/internals";
import { blocked, withNever, FLEET_GROWS, FREEING, HEAD_MOVES, canNeverBePlaced } from "./blocked-verdict.ts";
import type { BlockedVerdict } from "./blocked-verdict.ts";
import { explainBackoff, explainBudget, explainTaskLimit, explainTime } from "./hold-reasons.ts";
import { explainMinRuntime } from "./explain-min-runtime.ts";

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
  const limit = explainTaskLimit(workload);
  if (limit !== null && nominated === undefined) return limit;
  if (nominated !== undefined && readyTask(workload, nowMs) === null)
    return blocked(["attemptEnded", "workersLeft", "nominationWithdrawn"], {
      kind: "nominated",
      nodes: nominated.workers.map(({ node }) => node),
    });
  if (readyTask(workload, nowMs) === null) return explainBackoff(workload, nowMs);
  const budget = explainBudget(world, workload.spec.team, nowMs);
  if (budget !== null) return withNever(blocked(["budgetRenewed", "teamDefined"], budget), budget.renewsAtMs === null);
  const bucket = world.queue.classOf(workload);
  const { request } = bucket;
  const couldEver = couldEverFit(world, bucket);
  const inquiry = new Inquiry(world, request, couldEver, nowMs);
  const own = withDeclarations(inquiry, explainBlocked(inquiry));
  // The round skips a request that exceeds the fleet, so its verdict does not say that another request is ahead.
  const behind = couldEver ? explainHead(world, workload) : null;
  if (own === null && behind === null) {
    const delays = runTime.explain?.(inquiry) ?? null;
    if (delays !== null) return blocked([...HEAD_MOVES, ...startMoves(world)], ...delays.reasons);
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
function withDeclarations({ world, request }: Inquiry, verdict: BlockedVerdict | null): BlockedVerdict | null {
  if (verdict === null) return null;
  const more = declaredWakeOn(world, request).filter((kind) => !verdict.wakeOn.includes(kind));
  return more.length === 0 ? verdict : { ...verdict, wakeOn: [...verdict.wakeOn, ...more] };
}

/** Whether the request lacks capacity that other work holds. */
const isShortfall = ({ reasons: [first] }: BlockedVerdict): boolean =>
  first?.kind === "acceleratorShortfall" || first?.kind === "workerShortfall" || first?.kind === "partShortfall";

/** Events that may move a protected start. Without predictions, none is corrected; few policies hold capacity for ordered nodes. */
const startMoves = ({ rules }: World): readonly EventKind[] =>
  rules.backfill.protectedStarts === 0
    ? orderMoves
    : runTime.wakeOn.filter((kind) => kind !== "predictionCorrected" || predictsRuns(rules));

const orderMoves: readonly EventKind[] = ["capacityOrderNodeJoined", "capacityOrderFailed", "capacityOrderReported"];

/** The verdict of a request that does not fit, or `null` if it fits now. */
function explainBlocked(inquiry: Inquiry): BlockedVerdict | null {
  if (inquiry.fits) return null;
  const partial: BlockedReason[] = [];
  const wakeOn: EventKind[] = [];
  for (const { explain: reasonsOf, wakeOn: own } of filters) {
    const found = reasonsOf?.(inquiry) ?? null;
    if (found === null) continue;
    wakeOn.push(...own);
    // The reason states what windows close, so it also changes with the windows.
    if (found.reasons.some((reason) => "closed" in reason)) wakeOn.push(...calendarWindows.wakeOn);
    if (found.isPartial !== true) return blocked([...FREEING, ...wakeOn], ...found.reasons, ...partial);
    partial.push(...found.reasons);
  }
  // Two answers are no filter's: the fleet is too small, or no group of a gang is blocked by itself.
  return inquiry.exceedsFleet ? explainFleet(inquiry) : explainGroups(inquiry);
}

/** The verdict of a request that the usable fleet could not hold even if nothing ran. */
function explainFleet(inquiry: Inquiry): BlockedVerdict {
  const { world, request, couldEver } = inquiry;
  const among = couldEver ? null : explainAmongHotSpares(inquiry);
  if (among !== null) return among;
  if (isInGroups(request)) {
    const empty = emptied(world);
    const exceeding = (one: PlacementRequest): BlockedReason => {
      const ofGroup = new Inquiry(empty, one, false, inquiry.nowMs);
      return { ...exceedsFleet(ofGroup, ofGroup.placeableWorkers()), ...groupName(request, one) };
    };
    const reason = world.calendar.leftAside(() => askOfRefused(empty, request, exceeding));
    return blocked(FLEET_GROWS, reason ?? exceeding(request));
  }
  // If the number of workers fits, but not under the request's constraints, only as many workers count as fit under the
  // constraints.
  const placeable = inquiry.emptyFleetHolds ? placeableAsWished(world, request) : inquiry.holds(request.gang);
  return blocked(FLEET_GROWS, exceedsFleet(inquiry, placeable));
}

/**
 * Reason `exceedsFleet`, with the first lack that a filter finds. No lack: the request, alone in the fleet, would fit
 * under each of its constraints, but not under all of them.
 */
function exceedsFleet(inquiry: Inquiry, placeableWorkers: number): BlockedReason {
  const { world, request, accepted } = inquiry;
  const { workers, acceleratorTypes } = request;
  const lack = filters.reduce<FleetLack | null>((found, filter) => found ?? filter.lack?.(inquiry) ?? null, null);
  return {
    kind: "exceedsFleet",
    acceleratorTypes,
    workers,
    placeableWorkers,
    neededCount: milliIn(partsAsked(world, request)) / WHOLE_MILLI,
    fleetCount: Math.max(0, ...accepted.map(({ usableCount }) => usableCount)),
    ...(lack === null ? {} : { lack }),
  };
}

/**
 * For a request that fits only on the nodes of hot spares. The verdict states the hot spares, and the reasons that apply
 * while the hot spares count as usable.
 */
function explainAmongHotSpares(inquiry: Inquiry): BlockedVerdict | null {
  const { world, request } = inquiry;
  const kept = hotSparesFor(world, request);
  if (kept.length === 0) return null;
  return world.capacity.opened(kept, () => {
    if (!fitsUsableFleet(world, request)) return null;
    const opened = explainBlocked(new Inquiry(world, request, true, inquiry.nowMs));
    if (opened === null) return null;
    const all = new Set([...opened.wakeOn, ...hotSpares.wakeOn]);
    return blocked([...all], { ...hotSparesKept(request, kept), suffice: false }, ...opened.reasons);
  });
}

/** The first task group that does not fit beside the other groups, in a gang that the fleet could hold. */
function explainGroups(inquiry: Inquiry): BlockedVerdict {
  const { world, request } = inquiry;
  const reason = askOfRefused(world, request, (one): BlockedReason | null => {
    const [first] = explainBlocked(new Inquiry(world, one, true, inquiry.nowMs))?.reasons ?? [];
    return first === undefined ? null : { ...first, ...groupName(request, one) };
  });
  // Every group fits by itself, but the groups do not fit together.
  const binding = { binding: "accelerators", neededPerWorker: request.gang.accelerators } as const;
  const scattered = (): BlockedReason => workerShortfall(inquiry, request.workers - 1, binding);
  return blocked([...FREEING, ...quota.wakeOn], reason ?? scattered());
}

const groupName = ({ gang }: PlacementRequest, { group }: PlacementRequest): { readonly group?: string } =>
  group === null || gang.taskGroups === undefined ? {} : { group: groupAt(gang, group).name };

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
