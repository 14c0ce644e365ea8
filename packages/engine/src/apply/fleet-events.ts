import { cachedKey, canonicalJson, invariant } from "@headroom/model";
import type {
  FleetEvent,
  ForeignUse,
  IncidentEvent,
  Node,
  NodeQualification,
  NodeSpec,
  Pool,
  NodeId,
} from "@headroom/model";
import { nodeOf } from "./writable.ts";
import type { Appliers, WritableWorld } from "./writable.ts";
import type { WritableNode } from "../state/mutable-state.ts";
import { accrueAll, recountAccounts } from "./accounts.ts";
import { workloadOf } from "../cluster/entities.ts";
import { growthOf, recount, recountUsers } from "../cluster/holdings.ts";
import { factsOfPools } from "../cluster/world.ts";
import { isExecutorSuspended, suspendLikeExecutor } from "./executor-events.ts";
import { beginIdleTime } from "./capacity-order-events.ts";
import { changeStores, wakeForTransfers } from "./store-events.ts";
import { removalEvents } from "./removal-events.ts";

export const fleetEvents: Appliers<FleetEvent> = {
  siteDefined(world, { site }) {
    world.startWindow.lookAtMs = -1;
    world.state.sites.set(site.name, site);
    // The fabric levels or the caps may have changed: rejected requests may fit now.
    world.capacity.nodesChanged();
    world.capacity.meterPower(world.state);
  },
  executorRegistered(world, { executor }) {
    const { state, queue, capacity } = world;
    const before = state.executors.get(executor.id)?.capabilities;
    const { images, secrets, inputs, uploads } = executor.capabilities;
    const isElsewhere = before?.uploadsFrom?.join("\n") !== executor.capabilities.uploadsFrom?.join("\n");
    const isOther = before?.secretRules?.join("\n") !== executor.capabilities.secretRules?.join("\n");
    const isNew = before?.images !== images || before?.secrets !== secrets || isOther;
    // Work in container images, with secrets or transfers, that no node could hold may fit now, or no longer.
    if (isNew || before?.inputs !== inputs || before?.uploads !== uploads || isElsewhere) capacity.nodesChanged();
    state.executors.set(executor.id, executor);
    // The executor's running gangs may now be able to grow, or may no longer be able to.
    for (const attempt of state.attempts.values()) {
      const workload = workloadOf(world, attempt.workloadId);
      queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
    }
  },
  poolDefined(world, { pool }) {
    const { state, capacity } = world;
    const known = state.pools.get(pool.name);
    // The price may have changed.
    accrueAll(world);
    if (known !== undefined && mayFitNow(known, pool)) capacity.nodesChanged();
    world.hotSparesStated += (pool.hotSpares ?? 0) - (known?.hotSpares ?? 0);
    state.pools.set(pool.name, pool);
    Object.assign(world, factsOfPools(state));
    const nodes = [...state.nodes.values()].filter((node) => node.pool === pool.name);
    for (const node of nodes) changeProperties(world, node, pool);
    changeAccelerators(world, nodes, pool);
    suspendLikeExecutor(world, nodes, pool.executor);
    recountAccounts(world);
  },
  nodeJoined(world, { node, atMs }) {
    join(world, node, atMs);
  },
  nodeChanged(world, { node }) {
    change(world, node);
  },
  nodeRelabelled(world, { nodeId, fabric, labels }) {
    const node = nodeOf(world, nodeId);
    node.fabric = fabric;
    node.labels = labels;
    node.revision = world.state.sequence;
    // Amounts and bookings stay. Placement trees are built again, and requests that did not fit are tried again.
    world.capacity.nodesChanged();
  },
  nodeLost(world, { nodeId }) {
    updateNode(world, nodeId, (node) => (node.health = "lost"));
    beginIdleTime(world, [{ node: nodeId }]);
  },
  nodeReturned(world, { nodeId }) {
    updateNode(world, nodeId, (node) => (node.health = "up"));
  },
  foreignUseChanged(world, { nodeId, use }) {
    const node = nodeOf(world, nodeId);
    world.capacity.changeForeignUse(node, () => {
      setOrDelete(node, "foreignUse", use ?? undefined);
      node.revision = world.state.sequence;
    });
  },
  nodeCacheChanged(world, { nodeId, added, removed }) {
    const node = nodeOf(world, nodeId);
    const gone = new Set([...removed, ...added.map(cachedKey)]);
    const stays = (node.cachedInputs ?? []).filter((input) => !gone.has(cachedKey(input)));
    const inputs = [...stays, ...added].toSorted((left, right) => (cachedKey(left) < cachedKey(right) ? -1 : 1));
    world.cachedInputs.remove(nodeId, removed);
    world.cachedInputs.add(nodeId, added);
    setOrDelete(node, "cachedInputs", inputs.length === 0 ? undefined : inputs);
    node.revision = world.state.sequence;
    wakeForTransfers(world);
  },
  nodeQualificationRequired(world, { nodeId, suite, cause, atMs }) {
    const id = world.state.sequence;
    const qualification = { id, suite, cause, sinceMs: atMs, phase: "waiting", run: 0 } as const;
    updateNode(world, nodeId, (node) => (node.qualification = qualification));
  },
  nodeQualificationStarted(world, { nodeId, run, expectedMs, atMs }) {
    const node = nodeOf(world, nodeId);
    const { detail: _before, ...qualification } = qualificationOf(node);
    node.qualification = { ...qualification, phase: "running", run, startedAtMs: atMs, expectedMs };
    node.revision = world.state.sequence;
  },
  nodeQualificationEnded(world, { nodeId, outcome, detail, atMs }) {
    const { startedAtMs: _started, expectedMs: _expected, ...qualification } = qualificationOf(nodeOf(world, nodeId));
    if (outcome === "passed" || outcome === "waived") {
      updateNode(world, nodeId, (node) => {
        delete node.qualification;
        if (node.idleSinceMs !== undefined) node.idleSinceMs = atMs;
      });
      return;
    }
    const node = nodeOf(world, nodeId);
    node.qualification = { ...qualification, phase: outcome === "failed" ? "failed" : "waiting", detail };
    node.revision = world.state.sequence;
  },
  storesChanged: changeStores,
  nodeDrainStarted(world, { nodeId }) {
    updateNode(world, nodeId, (node) => (node.draining = true));
  },
  nodeResumed(world, { nodeId }) {
    updateNode(world, nodeId, (node) => (node.draining = false));
  },
  hotSpareReserved(world, { nodeId }) {
    updateNode(world, nodeId, (node) => (node.hotSpare = true));
  },
  hotSpareReleased(world, { nodeId }) {
    updateNode(world, nodeId, (node) => delete node.hotSpare);
  },
  ...removalEvents,
};

/** Whether the pool's data rules or hot spares changed, so that rejected requests may fit. */
const mayFitNow = (known: Pool, pool: Pool): boolean =>
  known.site !== pool.site ||
  known.hotSpares !== pool.hotSpares ||
  canonicalJson(known.data) !== canonicalJson(pool.data) ||
  canonicalJson(known.kinds) !== canonicalJson(pool.kinds) ||
  canonicalJson(known.power) !== canonicalJson(pool.power);

/** Records about the health of the fleet: no decision reads them. */
export const incidentEvents: Appliers<IncidentEvent> = { incidentAnnotated() {}, faultsReported() {} };

function qualificationOf({ id, qualification }: WritableNode): NodeQualification {
  invariant(qualification !== undefined, `node ${id} does not have to qualify`);
  return qualification;
}

function updateNode(world: WritableWorld, id: NodeId, set: (node: WritableNode) => unknown): void {
  const node = nodeOf(world, id);
  world.capacity.update(node, () => {
    set(node);
    node.revision = world.state.sequence;
  });
}

/** Properties of accelerators and network that a node takes from its pool. */
const POOL_PROPERTIES = ["mig", "networkGbps", "acceleratorMemoryMib"] as const;

function changeProperties(world: WritableWorld, node: WritableNode, pool: Pool): void {
  // If the node is about to change its accelerator type, these properties change together with the type.
  if (node.acceleratorType !== pool.acceleratorType) return;
  if (POOL_PROPERTIES.every((property) => node[property] === pool[property])) return;
  updateNode(world, node.id, () => takeOver(node, pool));
}

function takeOver(node: WritableNode, pool: Pool): void {
  for (const property of POOL_PROPERTIES) setOrDelete(node, property, pool[property]);
}

/**
 * Sets a field, or deletes it if the value is absent. A field that stays in its position among the node's fields does
 * not change the digest of the node.
 */
function setOrDelete<Field extends keyof WritableNode>(
  node: WritableNode,
  field: Field,
  value: WritableNode[Field] | undefined,
): void {
  if (value === undefined) delete node[field];
  else node[field] = value;
}

/**
 * The pool has another accelerator type, or its type another family. A node changes its type when it reports itself and
 * is empty (`nodeChanged`). Until then no new work is placed there, and running work continues.
 */
function changeAccelerators(
  world: WritableWorld,
  nodes: readonly WritableNode[],
  { acceleratorType, acceleratorFamily }: Pool,
): void {
  let isOtherFamily = false;
  for (const node of nodes) {
    const isChanged = node.acceleratorType !== acceleratorType;
    if (isChanged !== (node.acceleratorsChanged === true))
      updateNode(world, node.id, () => setOrDelete(node, "acceleratorsChanged", isChanged ? true : undefined));
    if (isChanged || node.acceleratorFamily === acceleratorFamily) continue;
    setOrDelete(node, "acceleratorFamily", acceleratorFamily);
    node.revision = world.state.sequence;
    world.capacity.joinFamily(node);
    isOtherFamily = world.teamUse.setFamily(acceleratorType, acceleratorFamily) || isOtherFamily;
  }
  if (isOtherFamily) recountAll(world);
}

function recountAll(world: WritableWorld): void {
  recount(world);
  recountUsers(world);
}

function join(world: WritableWorld, spec: NodeSpec, atMs: number): void {
  const { state } = world;
  const pool = state.pools.get(spec.pool);
  invariant(pool !== undefined, `node ${spec.id} joins pool ${spec.pool}, which does not exist`);
  const node: WritableNode = {
    ...spec,
    ordinal: state.joinedNodeCount++,
    acceleratorType: pool.acceleratorType,
    ...(pool.acceleratorFamily === undefined ? {} : { acceleratorFamily: pool.acceleratorFamily }),
    ...(pool.mig === undefined ? {} : { mig: pool.mig }),
    ...(pool.networkGbps === undefined ? {} : { networkGbps: pool.networkGbps }),
    ...(pool.acceleratorMemoryMib === undefined ? {} : { acceleratorMemoryMib: pool.acceleratorMemoryMib }),
    health: "up",
    draining: false,
    ...(isExecutorSuspended(world, pool.executor) ? { suspended: true as const } : {}),
    joinedAtMs: atMs,
    revision: state.sequence,
    digestRevision: 0,
    digestLanes: null,
  };
  state.nodes.set(spec.id, node);
  world.capacity.join(node);
  recordFamily(world, node);
}

function recordFamily(world: WritableWorld, { acceleratorType, acceleratorFamily }: WritableNode): void {
  if (world.teamUse.setFamily(acceleratorType, acceleratorFamily)) recountAll(world);
  world.calendar.rebuild();
}

/** Applies changed resource amounts of an empty node. */
function change(world: WritableWorld, spec: NodeSpec): void {
  const { state, capacity } = world;
  const node = nodeOf(world, spec.id);
  const { fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax, acceleratorGroups } = spec;
  const amounts = { fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax, acceleratorGroups };
  const set = (): void => {
    setOrDelete(node, "foreignUse", foreignUseWithin(node, spec));
    Object.assign(node, amounts);
    node.revision = state.sequence;
  };
  if (node.acceleratorsChanged !== true) return capacity.resize(node, set);
  const pool = state.pools.get(node.pool);
  invariant(pool !== undefined, `no pool ${node.pool}`);
  capacity.retype(node, () => {
    set();
    node.acceleratorType = pool.acceleratorType;
    setOrDelete(node, "acceleratorFamily", pool.acceleratorFamily);
    takeOver(node, pool);
    delete node.acceleratorsChanged;
  });
  recordFamily(world, node);
}

/**
 * Foreign use of a node after a change. Executors report it only when it changes, so it stays. With another number of accelerators, its
 * accelerators do not fit: the next inventory chooses them again.
 */
function foreignUseWithin({ foreignUse, acceleratorCount }: Node, spec: NodeSpec): ForeignUse | undefined {
  if (foreignUse === undefined || acceleratorCount !== spec.acceleratorCount) return undefined;
  const coresMilli = Math.min(foreignUse.coresMilli, spec.coresMilli);
  const memoryMib = Math.min(foreignUse.memoryMib, spec.memoryMib);
  return { ...foreignUse, coresMilli, memoryMib };
}
