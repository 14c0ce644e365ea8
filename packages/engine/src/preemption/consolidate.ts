/**
 * Room is made by moving: where enough is idle in sum but scattered, work that may be evicted and would lose little goes on
 * elsewhere, so that nodes come free for who needs them whole. Nobody is evicted for good, and moves are few by rule.
 */
import type { Batch } from "../batch/batch.ts";
import { acceleratorsIn, partsOf } from "../model/gang.ts";
import type { NodeId } from "../model/ids.ts";
import type { Attempt, Workload } from "../model/workload.ts";
import { workloadOf } from "../cluster/entities.ts";
import type { TypeCapacity } from "../cluster/capacity.ts";
import type { NodeSlot } from "../cluster/node-slot.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import { acceptableTypes, quotaReached, wholeNeeded } from "../cluster/request.ts";
import type { Candidate } from "../placement/place-constrained.ts";
import { evictionCost, evictionLoss } from "./eviction-cost.ts";
import type { Plan } from "./plan.ts";
import { replace } from "./replace.ts";
import type { Replaced } from "./replace.ts";
import { isEvictable } from "./eligibility.ts";
import type { VictimUnit } from "./victim-order.ts";
import { acceptedNow, passesAll } from "../placement/filters/filters.ts";
import { antiAffinityFrom, areasFor, chooseIn } from "./where-to-drain.ts";
import type { Area } from "./where-to-drain.ts";

export const MOVES_MAX = 8;
const MOVE_LOSS_MS_MAX = 600_000;
/** Each try places everybody who would move: of many domains that are as good as each other a few tell whether any will do. */
const AREAS_SIMULATED_MAX = 8;

interface Movable {
  readonly attempt: Attempt;
  readonly workload: Workload;
  readonly count: number;
  readonly cost: number;
}

/** A node with what would have to move for one more worker. */
export interface DrainArea {
  readonly slot: NodeSlot;
  readonly moves: readonly Movable[];
  readonly cost: number;
}

export function findRoomByMoving(batch: Batch, preemptor: QueueBucket): Plan | null {
  // A further worker is worth no move: the gang that moved would ask for it again.
  if (preemptor.request.isGrowth) return null;
  const { world } = batch;
  const { gang, workers } = preemptor.request;
  // Which node a group would best have cleared depends on the others: gangs of groups wait for room.
  if (world.evictable.size === 0 || wholeNeeded(preemptor.request) === 0) return null;
  for (const type of acceptableTypes(world, preemptor.request)) {
    if (type.freeCount < workers * gang.accelerators || quotaReached(world, preemptor.request, type.type) !== null)
      continue;
    // What is cheapest changes with time; whether room can be made at all must not, or nothing would ever be at rest.
    const plan = planOn(batch, preemptor, { type, costOf: acceleratorsOf });
    const costOf = (attempt: Attempt): number => evictionCost(world, attempt, batch.nowMs);
    if (plan !== null) return planOn(batch, preemptor, { type, costOf }) ?? plan;
  }
  return null;
}

const acceleratorsOf = ({ workers }: Attempt, { spec }: Workload): number =>
  acceleratorsIn(partsOf(spec.gang, workers));

interface DrainQuery {
  readonly type: TypeCapacity;
  /** What it costs to move an attempt; by that who moves is chosen. */
  readonly costOf: (attempt: Attempt, workload: Workload) => number;
}

function planOn(batch: Batch, preemptor: QueueBucket, { type, costOf }: DrainQuery): Plan | null {
  const { world } = batch;
  const { gang, workers } = preemptor.request;
  const accepts = acceptedNow(world, preemptor.request);
  const roomy: Candidate[] = [];
  let missing = workers;
  for (const slot of type.roomy(gang.accelerators, "idle")) {
    const fits = slot.usable && accepts(slot) ? slot.workersThatFit(gang, workers) : 0;
    if (fits === 0) continue;
    roomy.push({ slot, fits });
    missing -= fits;
  }
  const most = world.rules.eviction.movesMax ?? MOVES_MAX;
  // Somebody has to leave each node that is to be cleared, and nobody leaves more of them than it has workers.
  if (missing > most && missing > most * widestOf(world)) return null;
  const list = drainCandidates(batch, gang.accelerators, { type, costOf });
  const open = passesAll(accepts) ? list : list.filter(({ slot }) => accepts(slot));
  for (const choice of choices(batch, preemptor, { roomy, drainCandidates: open })) {
    const plan = planMoving(batch, preemptor, choice);
    if (plan !== null) return plan;
  }
  return null;
}

/** What would have to come about in one part of the fleet. */
interface Choice {
  readonly moved: readonly Movable[];
  readonly cost: number;
  /** Nodes that the request would lie on, and some others with room for it. */
  readonly on: readonly { readonly slot: NodeSlot }[];
}

/** Whom to move, the cheapest first, for each part of the fleet that could hold the request; none where one has room already. */
function choices(batch: Batch, preemptor: QueueBucket, area: Area): readonly Choice[] {
  const { world } = batch;
  const most = world.rules.eviction.movesMax ?? MOVES_MAX;
  const found: Choice[] = [];
  for (const part of areasFor(world, preemptor.request, antiAffinityFrom(world, preemptor, area))) {
    const chosen = chooseIn(world, preemptor, part);
    if (chosen === null) continue;
    // It is not for want of room that it does not start there.
    if (chosen.length === 0) return [];
    const moved = [...new Map(chosen.flatMap(({ moves }) => moves).map((move) => [move.attempt, move])).values()];
    const cost = moved.reduce((sum, move) => sum + move.cost, 0);
    if (moved.length <= most) found.push({ moved, cost, on: [...part.roomy, ...chosen] });
  }
  return found
    .toSorted((left, right) => left.cost - right.cost || left.moved.length - right.moved.length)
    .slice(0, AREAS_SIMULATED_MAX);
}

/**
 * Everybody goes where he would go by himself; where that does not do, whoever moves keeps off the nodes that are wanted. Without promises
 * nothing would keep him off.
 */
function planMoving(batch: Batch, preemptor: QueueBucket, { moved, on }: Choice): Plan | null {
  const search: MoveSearch = { batch, preemptor, inLine: [] };
  const found = moving(search, moved);
  if (found !== null) return { preemptor, ...(fewerMoving(search, moved, found) ?? found) };
  if (batch.world.rules.eviction.nominations === "forgotten") return null;
  const keptFree = new Set(on.map(({ slot }) => slot.node.id));
  const again = moving({ ...search, keptFree }, moved);
  return again === null ? null : { preemptor, ...again };
}

type MoveSearch = Parameters<typeof replace>[0];

/** Everybody finds another place, or there is no plan. */
function moving(search: MoveSearch, moved: readonly Movable[]): Replaced | null {
  const units = moved.map(({ attempt, workload }): VictimUnit => ({
    attempt,
    workload,
    nomination: null,
    keeps: 0,
    upTo: attempt.workers.length,
  }));
  const found = replace(search, search.preemptor.request.workers, units);
  return found !== null && found.lost.length === 0 ? found : null;
}

/** A node that was cleared may hold more workers than one: whoever leaves none of those that are taken need not move. */
function fewerMoving(search: MoveSearch, moved: readonly Movable[], { placement }: Replaced): Replaced | null {
  const taken = new Set(placement.workers.map(({ node }) => node));
  const needed = moved.filter(({ attempt }) => attempt.workers.some(({ node }) => taken.has(node)));
  return needed.length === 0 || needed.length === moved.length ? null : moving(search, needed);
}

/** Nodes that could be cleared, the cheapest first. */
interface DrainCandidates extends DrainQuery {
  readonly accelerators: number;
  /** Events of the batch before it: until the next one those who ask for as much find the same. */
  readonly eventCount: number;
  readonly list: readonly DrainArea[];
}

const lastDrainCandidates = new Slot<DrainCandidates | null>(() => null, { survivesUndo: false });

function drainCandidates(batch: Batch, accelerators: number, { type, costOf }: DrainQuery): readonly DrainArea[] {
  const { events } = batch;
  const known = batch.scratch.get(lastDrainCandidates);
  const eventCount = events.length;
  if (
    known?.eventCount === eventCount &&
    known.accelerators === accelerators &&
    known.type === type &&
    known.costOf === costOf
  )
    return known.list;
  const evictable = evictableByNode(batch.world);
  const list = type.slots
    .filter((slot) => mayBeCleared(accelerators, slot, evictable.get(slot.node.id) ?? 0))
    .flatMap((slot) => drainCandidate(accelerators, slot, movableOn(batch, slot, costOf)) ?? [])
    .toSorted((left, right) => left.cost - right.cost || left.slot.position - right.slot.position);
  batch.scratch.set(lastDrainCandidates, { type, costOf, accelerators, eventCount, list });
  return list;
}

/** At most so many accelerators of each node would be left by all that may be evicted. */
function evictableByNode({ evictable }: World): ReadonlyMap<NodeId, number> {
  const sums = new Map<NodeId, number>();
  for (const { byNode } of evictable.values())
    for (const [node, count] of byNode) sums.set(node, (sums.get(node) ?? 0) + count);
  return sums;
}

/** Whether somebody would have to leave for one more worker, and enough of it could. */
const mayBeCleared = (accelerators: number, { usable, totalCount, freeCount }: NodeSlot, evictable: number): boolean =>
  freeCount < accelerators && freeCount + evictable >= accelerators && totalCount >= accelerators && usable;

/** Workers of the largest gang that may be evicted. */
function widestOf({ evictable }: World): number {
  let widest = 0;
  for (const { attempts } of evictable.values())
    for (const { workers } of attempts) widest = Math.max(widest, workers.length);
  return widest;
}

/** The cheapest to move until a worker more would fit; `null` where that cannot be. */
function drainCandidate(accelerators: number, slot: NodeSlot, movable: readonly Movable[]): DrainArea | null {
  const missing = accelerators - slot.freeCount;
  const moves: Movable[] = [];
  let freed = 0;
  let cost = 0;
  for (const move of movable) {
    if (freed >= missing) break;
    moves.push(move);
    freed += move.count;
    cost += move.cost;
  }
  return freed >= missing ? { slot, moves, cost } : null;
}

/** How much each accelerator of what moves may lose of its work. */
export const moveLossMsMax = ({ rules }: World): number => rules.eviction.moveLossMsMax ?? MOVE_LOSS_MS_MAX;

function movableOn(batch: Batch, slot: NodeSlot, costOf: DrainQuery["costOf"]): Movable[] {
  const { world } = batch;
  return [...slot.attempts]
    .flatMap(([id]): Movable[] => {
      const attempt = world.state.attempts.get(id);
      if (attempt === undefined || !isEvictable(batch, attempt)) return [];
      const workload = workloadOf(world, attempt.workloadId);
      const { gang } = workload.spec;
      const here = attempt.workers.filter(({ node }) => node === slot.node.id);
      const cost = costOf(attempt, workload);
      const lossMs = evictionLoss(world, attempt, batch.nowMs) / Math.max(1, acceleratorsOf(attempt, workload));
      if (lossMs > moveLossMsMax(world)) return [];
      return [{ attempt, workload, count: acceleratorsIn(partsOf(gang, here)), cost }];
    })
    .toSorted((left, right) => left.cost - right.cost || left.attempt.placedSequence - right.attempt.placedSequence);
}
