/**
 * Replaces workers that were lost with their nodes, for gangs with `onNodeLoss: replace`, before other requests are
 * placed. Workers that fill a node use a hot spare first, other workers idle capacity. In a gang with slices, every
 * slice is complete again afterwards. A gang without capacity for all lost workers restarts from its checkpoint.
 */
import { needsPart, ranksOf } from "@headroom/model";
import type { NodeId, Attempt } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { replaceOf } from "../transitions/attempt-effects.ts";
import { requestStop } from "../transitions/stop-attempt.ts";
import { byPlacement, workloadOf } from "../cluster/entities.ts";
import { PlacementRequest } from "../cluster/placement-request.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { verifyPlacement } from "../placement/verify/placement.ts";
import { findPlacement } from "../placement/place.ts";
import { placeOnHotSpares, takeHotSpares } from "../placement/place-on-hot-spares.ts";
import type { PlacementOnHotSpares } from "../placement/place-on-hot-spares.ts";
import { withdraw } from "../transitions/nominations.ts";
import { slicePlaces } from "../placement/slice-places.ts";
import type { DegradedGang } from "../placement/slice-places.ts";
import { mayReplace, ranksOn } from "../cluster/lost-ranks.ts";

export function replaceLost(batch: Batch): void {
  if (batch.degraded.length === 0) return;
  const attempts = batch.degraded.toSorted(byPlacement);
  for (const attempt of attempts) {
    // Skips attempts that have ended or been stopped since the loss.
    if (batch.world.state.attempts.get(attempt.id) === attempt && attempt.stop === null) replaceRanks(batch, attempt);
  }
}

function replaceRanks(batch: Batch, attempt: Attempt): void {
  const { world } = batch;
  const { missing = [] } = attempt;
  const place = placeRanks(world, attempt, degradedBy(attempt, missing));
  if (place === null) return requestStop(batch, attempt, "nodeLost");
  giveRanks(batch, attempt, place, missing);
}

/**
 * Moves the gang's workers on departing nodes to other nodes, while its other workers stay. The moved workers are
 * treated as lost. Returns false, and changes nothing, if the gang does not support replacement or there is no capacity
 * for all of these workers.
 */
export function replaceAhead(batch: Batch, attempt: Attempt, nodes: ReadonlySet<NodeId>): boolean {
  const { world, nowMs: atMs, ledger } = batch;
  if (!mayReplace(world, attempt) || attempt.workers.every(({ node }) => nodes.has(node))) return false;
  const terminating = [...new Set(attempt.workers.map(({ node }) => node))].filter((node) => nodes.has(node));
  const lost = terminating.map((nodeId) => ({ nodeId, lostRanks: ranksOn(attempt, nodeId) }));
  const ranks = lost.flatMap((each) => each.lostRanks).toSorted((left, right) => left - right);
  // The workers only change nodes, so they are left out while their new place is searched, and the team's usage stays
  // the same.
  const mark = ledger.mark();
  for (const rank of ranks) ledger.vacateWorkers(attempt, rank, rank + 1);
  const place = placeRanks(world, attempt, degradedBy(attempt, ranks));
  ledger.rollback(mark);
  if (place === null) return false;
  const nomination = world.state.nominations.get(attempt.id);
  if (nomination !== undefined) withdraw(batch, nomination, "its workers go elsewhere");
  for (const each of lost)
    batch.emit({ kind: "gangDegraded", version: 1, atMs, attemptId: attempt.id, ...each, ahead: true });
  giveRanks(batch, attempt, place, ranks);
  return true;
}

interface NewPlace extends PlacementOnHotSpares {
  readonly bucket: QueueBucket;
}

/** A placement for all lost workers. In a gang with slices, it completes every slice. */
function placeRanks(world: World, attempt: Attempt, degraded: DegradedGang): NewPlace | null {
  const bucket = bucketFor(world, attempt, degraded.ranks.length);
  const { request } = bucket;
  const { slices } = request.spec.fabric ?? {};
  const variants =
    slices === undefined ? [request] : slicePlaces(world, slices, degraded).map((among) => request.with({ among }));
  for (const variant of variants) {
    const place = placeOf(world, attempt, variant);
    if (place !== null) return { bucket, ...place };
  }
  return null;
}

/** Workers that fill a node try hot spares first. Other workers try idle capacity first. */
function placeOf(world: World, attempt: Attempt, request: PlacementRequest): PlacementOnHotSpares | null {
  const onHotSpares = fillsNodes(world, attempt, request) ? placeAmongHotSpares(world, request) : null;
  if (onHotSpares !== null) return onHotSpares;
  const idle = findPlacement(world, request);
  if (idle !== null) return { placement: idle, taken: [] };
  return placeOnHotSpares(world, request, () => findPlacement(world, request));
}

function giveRanks(batch: Batch, attempt: Attempt, place: NewPlace, ranks: readonly number[]): void {
  const { world, nowMs: atMs } = batch;
  takeHotSpares(batch, attempt.workloadId, place);
  verifyPlacement(world, place.bucket, place.placement);
  const { workers } = place.placement;
  batch.emit({ kind: "workersReplaced", version: 2, atMs, attemptId: attempt.id, workers });
  batch.ask(replaceOf(world, attempt, ranks));
}

/** Whether one worker takes all accelerators of a node. The node of the gang's first worker decides. */
function fillsNodes({ capacity }: World, { workers: [first] }: Attempt, { gang }: PlacementRequest): boolean {
  return first !== undefined && !needsPart(gang) && capacity.slot(first.node).totalCount === gang.accelerators;
}

/** A placement on hot spares alone. */
function placeAmongHotSpares(world: World, request: PlacementRequest): PlacementOnHotSpares | null {
  return placeOnHotSpares(world, request, (hotSpares) => {
    const among = new Set(hotSpares.map(({ node }) => node.id).filter((node) => request.among?.has(node) !== false));
    return findPlacement(world, request.with({ among }));
  });
}

function degradedBy(attempt: Attempt, lost: readonly number[]): DegradedGang {
  const held = ranksOf(attempt);
  const all = attempt.workers.map(({ node }, index) => ({ rank: held[index] as number, node }));
  return { staying: all.filter(({ rank }) => !lost.includes(rank)), ranks: lost };
}

/** A request placed beside the gang's other workers, like growth of an elastic gang. */
function bucketFor(world: World, attempt: Attempt, workers: number): QueueBucket {
  const { rules, queue } = world;
  const workload = workloadOf(world, attempt.workloadId);
  const lost = { ...workload, lostWorkers: workers };
  return queue.single(PlacementRequest.of(lost, { rules, growth: workers, grows: attempt.id }), workload);
}
