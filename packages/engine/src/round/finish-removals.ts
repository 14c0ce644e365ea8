/** Removals that wait for work: requeues the work of leaving nodes, and removes nodes, pools and sites that are empty. */
import type { Node, NodeId } from "@headroom/model";
import { settle } from "../apply/apply.ts";
import type { Batch } from "../batch/batch.ts";
import { attemptsOn } from "../cluster/entities.ts";
import { recordRemovals } from "../lifecycle/remove.ts";
import { requestStop } from "../transitions/stop-attempt.ts";

/** Requests the stop of all work on leaving nodes, as much as the batch may stop. Another batch continues. */
export function requeueForRemoval(batch: Batch): void {
  const { requeueing } = batch.world;
  if (requeueing.size === 0) return;
  for (const attempt of attemptsOn(batch.world, requeueing)) {
    if (attempt.stop !== null) continue;
    if (!batch.mayStop()) return;
    requestStop(batch, attempt, "nodeDrained");
  }
  requeueing.clear();
}

/** Removes leaving nodes whose last work has ended, then pools without nodes, then sites without pools. */
export function finishRemovals(batch: Batch): void {
  const { removing, state } = batch.world;
  // A command may have removed the last node of a leaving pool, or the last pool of a leaving site.
  if (removing.size + state.poolRemovals.size + state.siteRemovals.size > 0) finish(batch);
}

function finish(batch: Batch): void {
  const { world, nowMs: atMs } = batch;
  const { removing, state, capacity } = world;
  const nodes = [...removing].map((id: NodeId) => state.nodes.get(id) as Node);
  const empty = nodes.filter(({ id, removal }) => removal?.awaits === undefined && capacity.slot(id).isEmpty);
  const removed = empty.map(({ id, ordinal, removal: by }) => ({ id, ordinal, actor: by?.actor ?? "" }));
  recordRemovals(
    batch,
    removed.toSorted((left, right) => left.ordinal - right.ordinal),
  );
  // All nodes of a leaving pool are leaving.
  const occupied = new Set([...removing].map((id) => state.nodes.get(id)?.pool));
  for (const [pool, { actor }] of Array.from(state.poolRemovals))
    if (!occupied.has(pool)) batch.emit({ kind: "poolRemoved", version: 1, atMs, pool, actor });
  const used = new Set([...state.pools.values()].map(({ site }) => site));
  for (const [site, { actor }] of Array.from(state.siteRemovals))
    if (!used.has(site)) batch.emit({ kind: "siteRemoved", version: 1, atMs, site, actor });
  settle(world);
}
