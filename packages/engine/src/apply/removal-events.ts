/** Nodes, pools and sites that leave the fleet. State and indexes keep nothing about them. */
import { cachedKey } from "@headroom/model";
import type { FleetEvent, NodeId } from "@headroom/model";
import { recount, recountUsers } from "../cluster/holdings.ts";
import { factsOfPools } from "../cluster/world.ts";
import type { WritableNode } from "../state/mutable-state.ts";
import { forgetUnused } from "./executor-events.ts";
import { leaveOrder } from "./capacity-order-events.ts";
import { nodeOf } from "./writable.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

type RemovalEvent = Extract<FleetEvent, { readonly kind: `${string}${"Removed" | "Requested" | "Cancelled"}` }>;

export const removalEvents: Appliers<RemovalEvent> = {
  nodeRemovalRequested(world, { nodeId, actor, atMs }) {
    update(world, nodeId, (node) => (node.removal = { actor, sinceMs: atMs }));
    world.removing.add(nodeId);
    world.requeueing.add(nodeId);
  },
  nodeRemovalCancelled(world, { nodeId }) {
    update(world, nodeId, (node) => delete node.removal);
    world.removing.delete(nodeId);
    world.requeueing.delete(nodeId);
  },
  nodeRemoved(world, { nodeId }) {
    leaveOrder(world, nodeId);
    const node = nodeOf(world, nodeId);
    world.cachedInputs.remove(nodeId, (node.cachedInputs ?? []).map(cachedKey));
    world.capacity.remove(node);
    world.state.nodes.delete(nodeId);
    world.removing.delete(nodeId);
    world.requeueing.delete(nodeId);
  },
  poolRemovalRequested({ state }, { pool, actor, atMs }) {
    state.poolRemovals.set(pool, { actor, sinceMs: atMs });
  },
  poolRemovalCancelled({ state }, { pool }) {
    state.poolRemovals.delete(pool);
  },
  poolRemoved(world, { pool }) {
    const { state } = world;
    world.hotSparesStated -= state.pools.get(pool)?.hotSpares ?? 0;
    state.pools.delete(pool);
    state.poolRemovals.delete(pool);
    Object.assign(world, factsOfPools(state));
    forgetUnused(world);
    // Amounts of accelerator memory are charged by the pools that there are, so rejected requests may fit now.
    world.capacity.nodesChanged();
  },
  siteRemovalRequested({ state }, { site, actor, atMs }) {
    state.siteRemovals.set(site, { actor, sinceMs: atMs });
  },
  siteRemovalCancelled({ state }, { site }) {
    state.siteRemovals.delete(site);
  },
  siteRemoved(world, { site }) {
    world.startWindow.lookAtMs = -1;
    world.state.sites.delete(site);
    world.state.siteRemovals.delete(site);
    world.capacity.nodesChanged();
    world.capacity.meterPower(world.state);
  },
};

function update(world: WritableWorld, id: NodeId, set: (node: WritableNode) => unknown): void {
  const node = nodeOf(world, id);
  world.capacity.update(node, () => {
    set(node);
    node.revision = world.state.sequence;
  });
}

/** Brings the indexes up to date after nodes were removed one after another. */
export function settleNodes(world: WritableWorld): void {
  const { capacity, teamUse, calendar } = world;
  let isOtherFamily = false;
  for (const type of capacity.settle()) isOtherFamily = teamUse.setFamily(type, undefined) || isOtherFamily;
  if (isOtherFamily) {
    recount(world);
    recountUsers(world);
  }
  calendar.rebuild();
}
