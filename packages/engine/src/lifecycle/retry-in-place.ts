/**
 * A task whose attempt failed keeps its place during a short back-off: its next attempt is placed at once on the same
 * nodes and launched when the back-off is over. Quotas, plans, drains and windows treat it like any other attempt.
 */
import { heedsHead } from "@headroom/model";
import type { Attempt, Workload } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { amountHeld } from "../cluster/amounts.ts";
import { haveRoomTogether } from "../cluster/ledger.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import { isInGroups, quotaReachedBy } from "../cluster/request.ts";
import { isAtTaskLimit, isWaitingForTime } from "../state/ready-task.ts";
import type { World } from "../cluster/world.ts";
import { couldEverFit, isHeldByLimit } from "../placement/could-ever.ts";
import { calendarEndMs } from "../placement/filters/calendar-windows.ts";
import { admitsNode } from "../placement/filters/data-places.ts";
import { takesKind } from "../placement/filters/workload-kind.ts";
import { placeRetry } from "../transitions/start.ts";
import type { AttemptEnd } from "./end-attempt.ts";

export interface RetryInPlace {
  readonly workload: Workload;
  /** The attempt that has ended. */
  readonly attempt: Attempt;
  readonly end: AttemptEnd;
  readonly retryAtMs: number;
}

export function retryInPlace(batch: Batch, retry: RetryInPlace): void {
  const { world, nowMs } = batch;
  const { attempt, retryAtMs } = retry;
  const backoffMs = retryAtMs - nowMs;
  if (backoffMs <= 0 || backoffMs > world.rules.retryInPlaceMs) return;
  if (!failedByItself(retry) || !mayStay(world, retry)) return;
  placeRetry(batch, attempt, retryAtMs);
}

/**
 * Whether the task itself failed. After the loss of a worker, or a loss without a recorded cause, the node may be the
 * cause, so the task does not keep its place.
 */
function failedByItself({ attempt, end }: RetryInPlace): boolean {
  if (attempt.stop !== null || attempt.missing !== undefined) return false;
  return end.outcome === "failed" || (end.outcome === "lost" && end.cause !== undefined);
}

function mayStay(world: World, { workload, attempt, retryAtMs }: RetryInPlace): boolean {
  const { capacity, queue } = world;
  const { spec } = workload;
  if (workload.stopRequested || isAtTaskLimit(workload) || isWaitingForTime(workload, retryAtMs)) return false;
  const staysOn = ({ node }: Attempt["workers"][number]): boolean => {
    const slot = capacity.slot(node);
    return slot.usable && takesKind(world, spec.kind, slot.node) && admitsNode(world, spec, node);
  };
  if (!attempt.workers.every(staysOn)) return false;
  const { workers } = attempt;
  if (capacity.power !== null && !haveRoomTogether(world, spec.gang, { workers, layer: "idle" })) return false;
  const { request } = queue.classOf(workload);
  if (quotaReachedBy(world, request, () => amountHeld(world, spec.gang, attempt)) !== null) return false;
  return !runsIntoWindow(world, request, { attempt, retryAtMs }) && isAheadOfOthers(world, workload, attempt);
}

function runsIntoWindow(
  world: World,
  request: PlacementRequest,
  { attempt, retryAtMs }: Pick<RetryInPlace, "attempt" | "retryAtMs">,
): boolean {
  const { calendar } = world;
  if (!calendar.hasWindows) return false;
  const endMs = calendarEndMs(world, request) + retryAtMs - calendar.nowMs;
  return calendar.closedTo(request, endMs).some(({ nodes }) => attempt.workers.some(({ node }) => nodes.has(node)));
}

/**
 * Whether no other work has a better claim to this attempt's place: no request that is ahead in the queue, gets a
 * protected start or blocks the queue could start here. The answer comes from the queue, because the protected starts
 * of the last round are cached data that a restart loses.
 */
function isAheadOfOthers(world: World, workload: Workload, { acceleratorType }: Attempt): boolean {
  const { rules, queue, capacity } = world;
  if (!heedsHead(rules)) return true;
  return queue.waitingClasses().every((bucket) => {
    const { request } = bucket;
    const head = bucket.waiting.first();
    if (head === undefined || queue.compare(workload, head) < 0) return true;
    const { acceleratorTypes } = request;
    const wantsType =
      isInGroups(request) || capacity.acceptable(acceleratorTypes).some(({ type }) => type === acceleratorType);
    return !wantsType || !couldEverFit(world, bucket) || isHeldByLimit(world, request);
  });
}
