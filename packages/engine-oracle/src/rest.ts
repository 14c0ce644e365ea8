/** Requests that the policy should have started in a round: the head of the queue, and waiting requests that fit. */
import { MANUAL_PROVISIONER, expectedArrival, giveUpMsOf, isOutstanding, rulesOf } from "@headroom/model";
import type { CapacityOrder, Policy, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";
import { withoutClosedNodes } from "./closed-nodes.ts";
import { canBeTold } from "./constraint-checks.ts";
import { compareByPolicy, feasibility, hasReadyTask, isInGroups, requestOf } from "./recount.ts";

/** Whether the queue order depends on the workloads alone, so that the head is known without the scheduler. */
function hasOneLine(policy: Policy): boolean {
  const { teams, phases, order } = rulesOf(policy);
  const isPlain = order.every((key) => key !== "user" && key !== "running" && key !== "starting");
  return teams.order.length === 0 && isPlain && phases.includes("place");
}

/** Whether growth requests take part in queue order, so that one of them may be the head. */
const mayGrowInLine = (state: ReadonlyState): boolean =>
  rulesOf(state.policy).elastic.grow === "in-order" &&
  [...state.attempts.values()].some(
    ({ workloadId, workers }) => workers.length < (state.workloads.get(workloadId)?.spec.gang.workers ?? 0),
  );

/**
 * The head of the queue under a blocking policy; `null` under any other. Requests blocked by a limit or by the fleet's
 * size are skipped.
 */
export const blockingHead = (state: ReadonlyState, nowMs: number): Workload | null =>
  state.policy.whenHeadBlocked === "stop" ? firstOfLine(state, nowMs) : null;

/**
 * The first waiting request, skipping requests that limits or the fleet's size block. `null` if there is none, or if
 * this cannot be judged.
 */
export function firstOfLine(state: ReadonlyState, nowMs: number): Workload | null {
  if (!hasOneLine(state.policy) || mayGrowInLine(state)) return null;
  const { mayBlock } = feasibility(state);
  let head: Workload | null = null;
  for (const workload of state.workloads.values()) {
    if (!hasReadyTask(workload, nowMs)) continue;
    // The fit of task groups and of some constraints cannot be judged with certainty, so the head is unknown.
    if (isInGroups(workload.spec) || !canBeTold(state, workload.spec)) return null;
    // The fit of a gang with lost workers cannot be judged either, because the gang may use hot spares.
    if (workload.lostWorkers !== undefined && hasHotSpares(state)) return null;
    if (!mayBlock(requestOf(workload))) continue;
    if (head === null || compareByPolicy(state.policy, workload, head) < 0) head = workload;
  }
  return head;
}

const hasHotSpares = ({ nodes }: ReadonlyState): boolean =>
  [...nodes.values()].some(({ hotSpare }) => hotSpare === true);

/**
 * Checks that after a round no request waits that the policy would start now (DESIGN §7.11). Protected starts are not
 * in the state and are checked in `backfill.ts`.
 */
export function checkRest(findings: Findings, state: ReadonlyState, nowMs: number): void {
  if (reservesStarts(state) || !startsWork(state) || mayHold(state, nowMs)) return;
  for (const { id } of waitingAlthoughItFits(state, nowMs))
    findings.expect(false, () => `${id} waits although it fits`);
}

/** Waiting requests that could start now, in the policy's order. */
export function waitingAlthoughItFits(state: ReadonlyState, nowMs: number): readonly Workload[] {
  const { couldNow } = feasibility(state);
  const fits = (workload: Workload): boolean =>
    couldNow(requestOf(workload)) &&
    (state.calendar.size === 0 ||
      feasibility(withoutClosedNodes(state, workload, nowMs)).couldNow(requestOf(workload)));
  const isStopping = state.policy.whenHeadBlocked === "stop";
  const head = blockingHead(state, nowMs);
  // If teams take turns and the head blocks, the head depends on the scheduler.
  if (isStopping && head === null) return [];
  const isFirst = (workload: Workload): boolean => (isStopping ? workload === head : hasReadyTask(workload, nowMs));
  return [...state.workloads.values()].filter((workload) => isFirst(workload) && fits(workload));
}

export const reservesStarts = ({ policy }: ReadonlyState): boolean => rulesOf(policy).backfill.protectedStarts > 0;

/** Whether idle capacity may be held for work whose other nodes are ordered: such an order is awaited within an hour. */
export const mayHold = (state: ReadonlyState, nowMs: number): boolean =>
  !reservesStarts(state) && [...state.capacityOrders.values()].some((order) => isAwaited(state, order, nowMs));

/** Not awaited: an order that a person has to place and has not, and one that is late by more than its lead time allows. */
function isAwaited({ pools }: ReadonlyState, order: CapacityOrder, nowMs: number): boolean {
  const { automatic, arrival, orderedAtMs, joinedCount, pool } = order;
  if (automatic === undefined || !isOutstanding(order)) return false;
  const isByHand = automatic.provisioner === MANUAL_PROVISIONER;
  if (isByHand && orderedAtMs === null && joinedCount === 0) return false;
  const fromMs = isByHand && orderedAtMs !== null ? orderedAtMs : automatic.decidedAtMs;
  const statedMs = arrival.kind === "leadTime" ? arrival.p95Ms : arrival.p95AtMs - (orderedAtMs ?? 0);
  const leadMs = pools.get(pool)?.burst?.leadTimeP95Ms ?? Math.min(Math.max(0, statedMs), 24 * 3_600_000);
  const rule = pools.get(pool)?.qualification;
  const proofMs = rule === undefined ? 0 : Math.ceil(order.nodeCount / rule.atOnce) * rule.limitMs * 2;
  return nowMs < fromMs + giveUpMsOf(leadMs) + proofMs && expectedArrival(order, nowMs).p50AtMs <= nowMs + 3_600_000;
}

/** Whether the policy has phases that start work. */
export const startsWork = ({ policy }: ReadonlyState): boolean => {
  const { phases } = rulesOf(policy);
  return phases.includes("place") || phases.includes("rebalance");
};
