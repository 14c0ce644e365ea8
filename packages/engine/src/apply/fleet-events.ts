import type { FleetEvent } from "../contract/events.ts";
import type { ExecutorSpec, NodeSpec, Pool } from "../model/fleet.ts";
import type { NodeId } from "../model/ids.ts";
import { canonicalJson } from "../base/canonical.ts";
import { invariant } from "../base/invariant.ts";
import type { WritableWorld } from "./writable.ts";
import type { WritableNode } from "../state/mutable-state.ts";
import { accrueAll, recountAccounts } from "./accounts.ts";
import { workloadOf } from "../cluster/entities.ts";
import { growthOf, recount, recountUsers } from "../cluster/holdings.ts";
import { executorsOf } from "../cluster/world.ts";
import { unreachable } from "../base/unreachable.ts";

export function applyFleetEvent(world: WritableWorld, event: FleetEvent): void {
  const { state, capacity } = world;
  switch (event.kind) {
    case "siteDefined":
      world.startWindow.lookAtMs = -1;
      state.sites.set(event.site.name, event.site);
      // The fabric levels may have changed: rejected requests may fit now.
      capacity.nodesEpoch++;
      capacity.freedEpoch++;
      capacity.fleetEpoch++;
      return;
    case "executorRegistered":
      return register(world, event.executor);
    case "poolDefined":
      // The price may have changed.
      accrueAll(world);
      openOtherwise(world, event.pool);
      world.hotSparesStated += (event.pool.hotSpares ?? 0) - (state.pools.get(event.pool.name)?.hotSpares ?? 0);
      state.pools.set(event.pool.name, event.pool);
      world.executors = executorsOf(state);
      divideOtherwise(world, event.pool);
      changeAccelerators(world, event.pool);
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
    case "hotSpareReserved":
      updateNode(world, event.nodeId, { hotSpare: true });
      return;
    case "hotSpareReleased":
      updateNode(world, event.nodeId, { hotSpare: undefined });
      return;
    default:
      unreachable(event);
  }
}

/** Running gangs of the executor may be able to grow now, or no longer be. */
function register(world: WritableWorld, executor: ExecutorSpec): void {
  const { state, queue } = world;
  state.executors.set(executor.id, executor);
  for (const attempt of state.attempts.values()) {
    const workload = workloadOf(world, attempt.workloadId);
    queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
  }
}

/** The pool's data rules or hot spares may have changed: rejected requests may fit now. */
function openOtherwise({ state, capacity }: WritableWorld, pool: Pool): void {
  const known = state.pools.get(pool.name);
  if (known === undefined) return;
  const isAsOpen = known.site === pool.site && canonicalJson(known.data) === canonicalJson(pool.data);
  if (isAsOpen && known.hotSpares === pool.hotSpares) return;
  capacity.nodesEpoch++;
  capacity.freedEpoch++;
  capacity.fleetEpoch++;
}

/** The pool's MIG device, bandwidth or memory of accelerators may have changed: rejected requests may fit now. */
function divideOtherwise({ state, capacity }: WritableWorld, pool: Pool): void {
  const { name, mig, networkGbps, acceleratorMemoryMib, acceleratorType } = pool;
  for (const node of state.nodes.values()) {
    // If a node is about to change its accelerator type, these properties change with the type.
    if (node.acceleratorType !== acceleratorType) continue;
    const isSame = node.mig === mig && node.networkGbps === networkGbps;
    if (node.pool !== name || (isSame && node.acceleratorMemoryMib === acceleratorMemoryMib)) continue;
    capacity.update(node, () => {
      takeOver(node, pool);
      node.revision = state.sequence;
    });
  }
}

/** The properties of accelerators and network that a node takes from its pool. */
function takeOver(node: WritableNode, { mig, networkGbps, acceleratorMemoryMib }: Pool): void {
  if (mig === undefined) delete node.mig;
  else node.mig = mig;
  if (networkGbps === undefined) delete node.networkGbps;
  else node.networkGbps = networkGbps;
  if (acceleratorMemoryMib === undefined) delete node.acceleratorMemoryMib;
  else node.acceleratorMemoryMib = acceleratorMemoryMib;
}

/**
 * The pool has another accelerator type, or its type another family. A node changes its type when it reports itself and
 * is empty (`nodeChanged`). Until then no new work is placed there, and running work continues.
 */
function changeAccelerators(world: WritableWorld, { name, acceleratorType, acceleratorFamily }: Pool): void {
  const { state, capacity, teamUse } = world;
  let isOtherFamily = false;
  for (const node of state.nodes.values()) {
    if (node.pool !== name) continue;
    const isChanged = node.acceleratorType !== acceleratorType;
    if (isChanged !== (node.acceleratorsChanged === true))
      capacity.update(node, () => {
        if (isChanged) node.acceleratorsChanged = true;
        else delete node.acceleratorsChanged;
        node.revision = state.sequence;
      });
    if (isChanged || node.acceleratorFamily === acceleratorFamily) continue;
    setFamily(node, acceleratorFamily);
    node.revision = state.sequence;
    capacity.joinFamily(node);
    isOtherFamily = teamUse.setFamily(acceleratorType, acceleratorFamily) || isOtherFamily;
  }
  if (!isOtherFamily) return;
  recount(world);
  recountUsers(world);
}

function setFamily(node: WritableNode, family: string | undefined): void {
  if (family === undefined) delete node.acceleratorFamily;
  else node.acceleratorFamily = family;
}

function join(world: WritableWorld, spec: NodeSpec, atMs: number): void {
  const { state, capacity } = world;
  const pool = state.pools.get(spec.pool);
  invariant(pool !== undefined, `node ${spec.id} joins pool ${spec.pool}, which does not exist`);
  const node: WritableNode = {
    ...spec,
    ordinal: state.nodes.size,
    acceleratorType: pool.acceleratorType,
    ...(pool.acceleratorFamily === undefined ? {} : { acceleratorFamily: pool.acceleratorFamily }),
    ...(pool.mig === undefined ? {} : { mig: pool.mig }),
    ...(pool.networkGbps === undefined ? {} : { networkGbps: pool.networkGbps }),
    ...(pool.acceleratorMemoryMib === undefined ? {} : { acceleratorMemoryMib: pool.acceleratorMemoryMib }),
    health: "up",
    draining: false,
    joinedAtMs: atMs,
    revision: state.sequence,
    digestRevision: 0,
    digestLanes: null,
  };
  state.nodes.set(spec.id, node);
  capacity.join(node);
  if (world.teamUse.setFamily(node.acceleratorType, node.acceleratorFamily)) {
    recount(world);
    recountUsers(world);
  }
  world.calendar.rebuild();
}

/** Applies changed resource amounts of an empty node. */
function change(world: WritableWorld, spec: NodeSpec): void {
  const { state, capacity } = world;
  const node = state.nodes.get(spec.id);
  invariant(node !== undefined, `no node ${spec.id}`);
  const { fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax, acceleratorGroups } = spec;
  const amounts = { fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax, acceleratorGroups };
  const set = (): void => {
    Object.assign(node, amounts);
    node.revision = state.sequence;
  };
  if (node.acceleratorsChanged !== true) return capacity.resize(node, set);
  const pool = state.pools.get(node.pool);
  invariant(pool !== undefined, `no pool ${node.pool}`);
  const { acceleratorType, acceleratorFamily } = pool;
  capacity.retype(node, () => {
    set();
    node.acceleratorType = acceleratorType;
    setFamily(node, acceleratorFamily);
    takeOver(node, pool);
    delete node.acceleratorsChanged;
  });
  if (world.teamUse.setFamily(acceleratorType, acceleratorFamily)) {
    recount(world);
    recountUsers(world);
  }
  world.calendar.rebuild();
}

interface NodeChanges extends Partial<Pick<WritableNode, "health" | "draining">> {
  /** `undefined` in the event removes the field. */
  readonly hotSpare?: true | undefined;
}

function updateNode(world: WritableWorld, id: NodeId, changes: NodeChanges): void {
  const { state, capacity } = world;
  const node = state.nodes.get(id);
  invariant(node !== undefined, `no node ${id}`);
  capacity.update(node, () => {
    Object.assign(node, changes);
    if (node.hotSpare === undefined) delete node.hotSpare;
    node.revision = state.sequence;
  });
}
