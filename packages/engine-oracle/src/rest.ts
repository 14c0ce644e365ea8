/** What a policy would have started after a round: who is the head, and who waits although it fits. */
import { rulesOf, withoutClosedNodes } from "@headroom/engine/internals";
import type { Findings, Policy, ReadonlyState, Workload } from "@headroom/engine/internals";
import { canBeTold } from "./constraint-checks.ts";
import { compareByPolicy, feasibility, hasReadyTask, isInGroups, requestOf } from "./recount.ts";

/** Whether the order of what waits is one line by what the work itself says: then the head is known without the scheduler. */
function hasOneLine(policy: Policy): boolean {
  const { teams, phases, order } = rulesOf(policy);
  const isPlain = order.every((key) => key !== "user" && key !== "running" && key !== "starting");
  return teams.order.length === 0 && isPlain && phases.includes("place");
}

/** Gangs that ask for further workers in the order of the queue may be its head. */
const mayGrowInLine = (state: ReadonlyState): boolean =>
  rulesOf(state.policy).elastic.grow === "in-order" &&
  [...state.attempts.values()].some(
    ({ workloadId, workers }) => workers.length < (state.workloads.get(workloadId)?.spec.gang.workers ?? 0),
  );

/**
 * The first of the queue, under a policy whose head blocks; `null` under any other. Who is held by a limit or by a fleet too
 * small waits aside.
 */
export const blockingHead = (state: ReadonlyState, nowMs: number): Workload | null =>
  state.policy.whenHeadBlocked === "stop" ? firstOfLine(state, nowMs) : null;

/** Who is first of all that waits, limits and fleets too small aside; `null`: nobody is, or it cannot be told. */
export function firstOfLine(state: ReadonlyState, nowMs: number): Workload | null {
  if (!hasOneLine(state.policy) || mayGrowInLine(state)) return null;
  const { mayBlock } = feasibility(state);
  let head: Workload | null = null;
  for (const workload of state.workloads.values()) {
    if (!hasReadyTask(workload, nowMs)) continue;
    // Whether a gang of groups fits is not seen with certainty, nor are some wishes, so neither is whether it is the head.
    if (isInGroups(workload.spec) || !canBeTold(state, workload.spec)) return null;
    // Neither is whether what lost workers fits with the spares that it may take.
    if (workload.lostWorkers !== undefined && hasHotSpares(state)) return null;
    if (!mayBlock(requestOf(workload))) continue;
    if (head === null || compareByPolicy(state.policy, workload, head) < 0) head = workload;
  }
  return head;
}

const hasHotSpares = ({ nodes }: ReadonlyState): boolean =>
  [...nodes.values()].some(({ hotSpare }) => hotSpare === true);

/** After a round nothing that the policy would start now waits (DESIGN §7.11). Protected starts are not in the state: `backfill.ts`. */
export function checkRest(findings: Findings, state: ReadonlyState, nowMs: number): void {
  if (reservesStarts(state) || !startsWork(state)) return;
  for (const { id } of waitingAlthoughItFits(state, nowMs))
    findings.expect(false, () => `${id} waits although it fits`);
}

/** Who could start now by the policy's own order. */
export function waitingAlthoughItFits(state: ReadonlyState, nowMs: number): readonly Workload[] {
  const { couldNow } = feasibility(state);
  const fits = (workload: Workload): boolean =>
    couldNow(requestOf(workload)) &&
    (state.calendar.size === 0 ||
      feasibility(withoutClosedNodes(state, workload, nowMs)).couldNow(requestOf(workload)));
  const isStopping = state.policy.whenHeadBlocked === "stop";
  const head = blockingHead(state, nowMs);
  // Where teams take turns and the head blocks, who the head is is the scheduler's business.
  if (isStopping && head === null) return [];
  const isFirst = (workload: Workload): boolean => (isStopping ? workload === head : hasReadyTask(workload, nowMs));
  return [...state.workloads.values()].filter((workload) => isFirst(workload) && fits(workload));
}

export const reservesStarts = ({ policy }: ReadonlyState): boolean => rulesOf(policy).backfill.reserve !== "none";

/** A policy may leave out the phases that start anything. */
export const startsWork = ({ policy }: ReadonlyState): boolean => {
  const { phases } = rulesOf(policy);
  return phases.includes("place") || phases.includes("rebalance");
};
