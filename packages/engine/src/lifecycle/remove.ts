/**
 * Removal of nodes, and of pools and sites with their nodes. A part of the fleet that holds no work leaves at once. Other
 * removals are refused, or the work is requeued and the rounds complete the removal when it has ended
 * (`round/finish-removals.ts`).
 */
import type { Command, Node, NodeId, PoolName, RemovalMode, SiteName } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { attemptsOn } from "../cluster/entities.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";
import { endNotice } from "./notices.ts";

export function removeNode(
  batch: Batch,
  { nodeId, actor, running }: Command & { readonly kind: "removeNode" },
): Decision {
  const node = batch.world.state.nodes.get(nodeId);
  if (node === undefined) return refused({ code: "unknownNode", nodeId });
  const use = useOf(batch, [node]);
  if (isRefused(use, running)) return refused({ code: "fleetInUse", of: "node", name: nodeId, ...use });
  removeNodes(batch, [node], actor);
  return done({ kind: "nodeRemoved", nodeId, workloads: use.workloads });
}

export function removePool(
  batch: Batch,
  { pool, actor, running }: Command & { readonly kind: "removePool" },
): Decision {
  if (!batch.world.state.pools.has(pool)) return refused({ code: "unknownPool", pool });
  const nodes = nodesOf(batch, new Set([pool]));
  const use = useOf(batch, nodes);
  if (isRefused(use, running)) return refused({ code: "fleetInUse", of: "pool", name: pool, ...use });
  removeNodes(batch, nodes, actor);
  leaveOrGo(batch, pool, actor);
  return done({ kind: "poolRemoved", pool, nodes: nodes.length, workloads: use.workloads });
}

export function removeSite(
  batch: Batch,
  { site, actor, running }: Command & { readonly kind: "removeSite" },
): Decision {
  const { state } = batch.world;
  if (!state.sites.has(site)) return refused({ code: "unknownSite", site });
  const pools = poolsOf(batch, site);
  const nodes = nodesOf(batch, new Set(pools));
  const use = useOf(batch, nodes);
  if (isRefused(use, running)) return refused({ code: "fleetInUse", of: "site", name: site, ...use });
  removeNodes(batch, nodes, actor);
  for (const pool of pools) leaveOrGo(batch, pool, actor);
  if (poolsOf(batch, site).length === 0)
    batch.emit({ kind: "siteRemoved", version: 1, atMs: batch.nowMs, site, actor });
  else if (!state.siteRemovals.has(site))
    batch.emit({ kind: "siteRemovalRequested", version: 1, atMs: batch.nowMs, site, actor });
  return done({ kind: "siteRemoved", site, pools: pools.length, nodes: nodes.length, workloads: use.workloads });
}

interface Use {
  readonly workloads: number;
  /** Number of nodes with work. */
  readonly nodes: number;
}

function useOf({ world }: Batch, nodes: readonly Node[]): Use {
  const busy = nodes.filter(({ id }) => world.capacity.slot(id).attempts.size > 0).map(({ id }) => id);
  const workloads = new Set(attemptsOn(world, busy).map(({ workloadId }) => workloadId));
  return { workloads: workloads.size, nodes: busy.length };
}

const isRefused = ({ workloads }: Use, running: RemovalMode): boolean => workloads > 0 && running === "refuse";

const nodesOf = ({ world: { state } }: Batch, pools: ReadonlySet<PoolName>): readonly Node[] =>
  [...state.nodes.values()].filter(({ pool }) => pools.has(pool));

const poolsOf = ({ world: { state } }: Batch, site: SiteName): readonly PoolName[] =>
  [...state.pools.values()].filter((pool) => pool.site === site).map(({ name }) => name);

/** Removes the empty nodes. The other nodes are marked as leaving. */
function removeNodes(batch: Batch, nodes: readonly Node[], actor: string): void {
  const { capacity } = batch.world;
  const empty = nodes.filter(({ id }) => capacity.slot(id).isEmpty);
  for (const { id: nodeId, removal } of nodes)
    if (removal === undefined && !capacity.slot(nodeId).isEmpty)
      batch.emit({ kind: "nodeRemovalRequested", version: 1, atMs: batch.nowMs, nodeId, actor });
  recordRemovals(
    batch,
    empty.map(({ id }) => ({ id, actor })),
  );
}

/** Records the removal of empty nodes. Notices end first, because each of them rebuilds the queue. */
export function recordRemovals(batch: Batch, nodes: readonly { readonly id: NodeId; readonly actor: string }[]): void {
  for (const { id } of nodes) endNotice(batch, id);
  for (const { id: nodeId, actor } of nodes)
    batch.emit({ kind: "nodeRemoved", version: 1, atMs: batch.nowMs, nodeId, actor });
}

/** Removes the pool if it has no nodes left. Otherwise the pool is marked as leaving. */
function leaveOrGo(batch: Batch, pool: PoolName, actor: string): void {
  const { state } = batch.world;
  if (nodesOf(batch, new Set([pool])).length === 0)
    batch.emit({ kind: "poolRemoved", version: 1, atMs: batch.nowMs, pool, actor });
  else if (!state.poolRemovals.has(pool))
    batch.emit({ kind: "poolRemovalRequested", version: 1, atMs: batch.nowMs, pool, actor });
}

/** Cancels the removal of a pool that is declared again, and of its nodes. */
export function keepPool(batch: Batch, pool: PoolName, actor: string): void {
  if (!batch.world.state.poolRemovals.has(pool)) return;
  batch.emit({ kind: "poolRemovalCancelled", version: 1, atMs: batch.nowMs, pool, actor });
  for (const { id: nodeId, removal } of nodesOf(batch, new Set([pool])))
    if (removal !== undefined)
      batch.emit({ kind: "nodeRemovalCancelled", version: 1, atMs: batch.nowMs, nodeId, actor });
}

/** Cancels the removal of a site that is declared again, or that gets a pool. Its other pools are removed all the same. */
export function keepSite(batch: Batch, site: SiteName, actor: string): void {
  if (batch.world.state.siteRemovals.has(site))
    batch.emit({ kind: "siteRemovalCancelled", version: 1, atMs: batch.nowMs, site, actor });
}
