/** Nodes that the engine orders and releases: bounds of pools, sizes of orders, and nodes that are released. */
import type { CapacityOrder, Event, Node, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";

type Decided = Event & { readonly kind: "capacityOrderDecided" };
type Released = Event & { readonly kind: "capacityNodesReleased" };

/** A node that waits for its provisioner belongs to an order of the engine, and holds no work. */
export function checkReleasedNode(
  findings: Findings,
  state: ReadonlyState,
  { node, attempts }: { readonly node: Node; readonly attempts: number },
): void {
  const { id, removal, capacityOrder } = node;
  findings.expect(attempts === 0, () => `node ${id} is released while ${attempts} attempts run there`);
  findings.expect(
    removal?.awaits === capacityOrder && state.capacityOrders.get(capacityOrder ?? "")?.automatic !== undefined,
    () => `node ${id} waits for the provisioner of ${removal?.awaits}, and belongs to ${capacityOrder ?? "no order"}`,
  );
}

export function checkBurstEvents(findings: Findings, state: ReadonlyState, events: readonly Event[]): void {
  for (const event of events) {
    if (event.kind === "capacityOrderDecided") checkDecision(findings, state, event);
    if (event.kind === "capacityNodesReleased") checkRelease(findings, state, event);
  }
}

const OUTSTANDING: readonly CapacityOrder["phase"][] = ["planned", "ordered", "arriving", "qualifying"];

function checkDecision(findings: Findings, state: ReadonlyState, { order, ground, atMs }: Decided): void {
  const rule = state.pools.get(order.pool)?.burst;
  findings.expect(rule !== undefined, () => `nodes were ordered for ${order.pool}, which has no rule`);
  if (rule === undefined) return;
  let extra = 0;
  for (const { pool, automatic, phase, nodeCount, joinedCount } of state.capacityOrders.values())
    if (pool === order.pool && automatic !== undefined)
      extra += OUTSTANDING.includes(phase) ? nodeCount : phase === "cancelled" ? 0 : joinedCount;
  findings.expect(extra <= rule.nodesMax, () => `${order.pool} has ${extra} of ${rule.nodesMax} extra nodes`);
  const account = state.burstAccounts.get(order.pool);
  findings.expect(
    (account?.dayNodes ?? 0) <= (rule.nodesPerDay ?? Number.POSITIVE_INFINITY),
    () => `${account?.dayNodes} nodes were ordered for ${order.pool} on one day`,
  );
  if (ground.workloadCount > ground.workloads.length) return;
  const largest = Math.max(...ground.workloads.map((id) => workersOf(state, id)));
  findings.expect(
    order.nodeCount <= ground.taskCount * largest,
    () => `${order.nodeCount} nodes were ordered for ${ground.taskCount} tasks of at most ${largest} workers`,
  );
  for (const id of ground.workloads) {
    const submittedAtMs = state.workloads.get(id)?.submittedAtMs ?? 0;
    findings.expect(atMs - submittedAtMs >= rule.orderAfterMs, () => `nodes were ordered for ${id} too early`);
  }
}

function workersOf({ workloads }: ReadonlyState, id: WorkloadId): number {
  const gang = workloads.get(id)?.spec.gang;
  if (gang === undefined) return 0;
  return gang.taskGroups === undefined ? gang.workers : gang.taskGroups.reduce((sum, { workers }) => sum + workers, 0);
}

function checkRelease(findings: Findings, state: ReadonlyState, { name, nodes, reason, idleMs }: Released): void {
  const after = state.capacityOrders.get(name)?.automatic?.releaseAfterMs ?? 0;
  findings.expect(
    reason === "ended" || nodes.length === 0 || idleMs >= after,
    () => `nodes of ${name} were released after ${idleMs} of ${after} ms`,
  );
}
