/**
 * After a round nothing feasible waits (DESIGN §7.11, for policies without reservations): where the policy skips, nothing at
 * all that fits; where the head blocks, not the head. And nobody was started ahead of somebody whom the policy puts first
 * and who could have been started instead. Who is held by a limit or by a fleet too small waits aside.
 */
import { readyTask, type Policy, type ReadonlyState, type Workload } from "@headroom/engine";
import type { SimulatedRound } from "../run/simulation.ts";
import { mustHold } from "./violation.ts";
import { feasibility } from "./feasibility.ts";

export function checkQueue({ ready, engine }: SimulatedRound): void {
  const { state } = engine;
  const { mayBlock, couldNow } = feasibility(state);
  const waiting = readyInOrder(state, ready.atMs);
  if (state.policy.whenHeadBlocked === "skip") {
    const feasible = waiting.find(couldNow);
    mustHold(feasible === undefined, () => `${feasible?.id} waits although it fits`);
    return;
  }
  const head = waiting.find(mayBlock);
  if (head === undefined) return;
  mustHold(!couldNow(head), () => `${head.id} is the head of the queue and waits although it fits`);
  for (const event of ready.events) {
    if (event.kind !== "gangPlaced") continue;
    const placed = state.workloads.get(event.workloadId);
    if (placed === undefined || placed.id === head.id) continue;
    const isInOrder = compare(state.policy, placed, head) < 0;
    mustHold(isInOrder, () => `${placed.id} was started ahead of ${head.id}, which the policy puts first`);
  }
}

function readyInOrder(state: ReadonlyState, nowMs: number): Workload[] {
  return [...state.workloads.values()]
    .filter((workload) => workload.endedAtMs === null && readyTask(workload, nowMs) !== null)
    .toSorted((a, b) => compare(state.policy, a, b));
}

/** The policy's order, written down a second time. */
function compare(policy: Policy, a: Workload, b: Workload): number {
  for (const key of policy.order) {
    if (key === "submitted") break;
    const [first, second] =
      key === "priority"
        ? [b.spec.priority, a.spec.priority]
        : [a.spec.walltimeMs ?? Number.POSITIVE_INFINITY, b.spec.walltimeMs ?? Number.POSITIVE_INFINITY];
    if (first !== second) return first < second ? -1 : 1;
  }
  return a.ordinal - b.ordinal;
}
