import type { FleetEvent } from "../events.ts";
import type { NodeSpec, Pool } from "../model/fleet.ts";
import type { NodeId } from "../model/ids.ts";
import { canonicalJson } from "../state/canonical.ts";
import { invariant } from "../state/invariant.ts";
import type { NodeEntity, World } from "../state/world.ts";
import { accrueAll, recountAccounts } from "./accounts.ts";
import { unreachable } from "../state/unreachable.ts";

export function applyFleetEvent(world: World, event: FleetEvent): void {
  const { state, capacity } = world;
  switch (event.kind) {
    case "siteDefined":
      world.offPeak.lookAtMs = -1;
      state.sites.set(event.site.name, event.site);
      // Its levels may be others: what did not fit as it wished may fit now.
      capacity.nodesEpoch++;
      capacity.freedEpoch++;
      capacity.fleetEpoch++;
      return;
    case "poolDefined":
      // Its price may be another.
      accrueAll(world);
      openOtherwise(world, event.pool);
      state.pools.set(event.pool.name, event.pool);
      recountAccounts(world);
      return;
    case "nodeJoined":
      join(world, event.node, event.atMs);
      return;
    case "nodeChanged":
      change(world, event.node);
      return;
    case "nodeLost":
      updateNode(world, event.nodeId, { health: "lost" });
      return;
    case "nodeReturned":
      updateNode(world, event.nodeId, { health: "up" });
      return;
    case "nodeDrainStarted":
      updateNode(world, event.nodeId, { draining: true });
      return;
    case "nodeResumed":
      updateNode(world, event.nodeId, { draining: false });
      return;
    default:
      unreachable(event);
  }
}

/** What work may run in the pool may be other: what did not fit may fit now. */
function openOtherwise({ state, capacity }: World, pool: Pool): void {
  const known = state.pools.get(pool.name);
  if (known === undefined || (known.site === pool.site && canonicalJson(known.data) === canonicalJson(pool.data)))
    return;
  capacity.nodesEpoch++;
  capacity.freedEpoch++;
  capacity.fleetEpoch++;
}

function join(world: World, spec: NodeSpec, atMs: number): void {
  const { state, capacity } = world;
  const pool = state.pools.get(spec.pool);
  invariant(pool !== undefined, `node ${spec.id} joins pool ${spec.pool}, which does not exist`);
  const node: NodeEntity = {
    ...spec,
    ordinal: state.nodes.size,
    acceleratorType: pool.acceleratorType,
    health: "up",
    draining: false,
    joinedAtMs: atMs,
    revision: state.sequence,
    digestRevision: 0,
    digestLanes: null,
  };
  state.nodes.set(spec.id, node);
  capacity.join(node);
  world.calendar.rebuild();
}

/** Takes over changed amounts of a node that holds nothing. */
function change(world: World, spec: NodeSpec): void {
  const { state, capacity } = world;
  const node = state.nodes.get(spec.id);
  invariant(node !== undefined, `no node ${spec.id}`);
  const { fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax, acceleratorGroups } = spec;
  const amounts = { fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax, acceleratorGroups };
  capacity.resize(node, () => {
    Object.assign(node, amounts);
    node.revision = state.sequence;
  });
}

function updateNode(world: World, id: NodeId, changes: Partial<Pick<NodeEntity, "health" | "draining">>): void {
  const { state, capacity } = world;
  const node = state.nodes.get(id);
  invariant(node !== undefined, `no node ${id}`);
  capacity.update(node, () => {
    Object.assign(node, changes);
    node.revision = state.sequence;
  });
}
