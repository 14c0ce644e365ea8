/** Nodes that the engine has ordered, as a forecast expects them: all of them join at the middle of the expectation. */
import { expectedArrival, isOutstanding } from "@headroom/model";
import type { CapacityOrder, NodeId, NodeSpec, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { orderedNodes } from "@headroom/explain";

interface ComingNode {
  readonly atMs: number;
  readonly node: NodeSpec;
}

export function comingNodes(state: ReadonlyState, nowMs: number): readonly ComingNode[] {
  const coming: ComingNode[] = [];
  for (const order of state.capacityOrders.values()) {
    if (order.automatic === undefined || !isOutstanding(order)) continue;
    const atMs = Math.max(nowMs, expectedArrival(order, nowMs).p50AtMs);
    for (const node of nodesToCome(state, order)) coming.push({ atMs, node });
  }
  return coming;
}

/** Workloads for which the engine ordered nodes that are still to come. */
export function workWithComingNodes({ capacityOrders }: ReadonlyState): ReadonlySet<WorkloadId> {
  const known = new Set<WorkloadId>();
  for (const order of capacityOrders.values())
    if (isOutstanding(order)) for (const id of order.automatic?.ground.workloads ?? []) known.add(id);
  return known;
}

/** Nodes under the names that the provisioner stated, as far as it stated any. */
function nodesToCome(state: ReadonlyState, order: CapacityOrder): readonly NodeSpec[] {
  const named = (order.automatic?.nodeNames ?? []).filter((id) => !state.nodes.has(id));
  return orderedNodes(state, order, order.nodeCount - order.joinedCount).map((node, index) => {
    const id: NodeId | undefined = named[index];
    return id === undefined ? node : { ...node, id };
  });
}
