/**
 * One try of a growing list: the listed work leaves, then the beneficiary and the listed work are placed in the order of serving
 * on what is idle and what is coming. Everything is taken back before the answer.
 */
import { gangOfGroup, partsOf, shapeOf } from "../model/gang.ts";
import type { NodeId } from "../model/ids.ts";
import type { Attempt, GangSpec, Nomination, WorkerAllocation } from "../model/workload.ts";
import { isOpen } from "../model/mig.ts";
import { minWorkersOf } from "../model/workload.ts";
import { partOn } from "../cluster/device-slices.ts";
import { Ledger } from "../cluster/ledger.ts";
import { acceleratorSetOf, needsPart } from "../cluster/node-slot.ts";
import type { NodeSlot } from "../cluster/node-slot.ts";
import { PlacementRequest } from "../cluster/placement-request.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import type { WorkloadEntity } from "../state/state.ts";
import { roundOrder } from "../ordering/round-order.ts";
import { bestPart, give, partAt } from "../placement/place-parts.ts";
import { findPlacement } from "../placement/place.ts";
import type { Placement } from "../cluster/request.ts";
import type { Move, Victim } from "./plan.ts";
import type { VictimUnit } from "./victim-order.ts";
import type { Batch } from "../batch/batch.ts";

export interface Replaced {
  readonly placement: Placement;
  readonly victims: readonly Victim[];
  readonly moves: readonly Move[];
  /** Places that were promised and are not any more. */
  readonly withdrawn: readonly Nomination[];
  /** Of the tried units, those that got no place. */
  readonly lost: readonly VictimUnit[];
  /** Of the tried units, all that do not stay where they are: what a larger request starts from. */
  readonly units: readonly VictimUnit[];
}

/** A victim's unit as a request, with what became of it. */
export interface Returning {
  readonly unit: VictimUnit;
  readonly bucket: QueueBucket;
  placement: Placement | null;
}

/** Everybody else who waits, by team and best first: nobody of them is placed, but each holds its turn. */
type InLine = readonly (readonly QueueBucket[])[];

interface Replacing {
  readonly batch: Batch;
  readonly preemptor: QueueBucket;
  readonly inLine: InLine;
  /** Nodes that the listed work keeps off; absent: none. */
  readonly keptFree?: ReadonlySet<NodeId> | undefined;
}

export function replace(search: Replacing, workers: number, units: readonly VictimUnit[]): Replaced | null {
  const { world } = search.batch;
  const ledger = new Ledger(world);
  try {
    for (const unit of units) vacate(ledger, unit);
    const again = (unit: VictimUnit): QueueBucket =>
      bucketOf(world, unit, offNodes(world, requestOf(world, unit), search.keptFree));
    const returning = units.map((unit): Returning => ({ unit, bucket: again(unit), placement: null }));
    const preemptor =
      workers === search.preemptor.request.workers ? search.preemptor : part(world, search.preemptor, workers);
    const placement = placeAll(world, { ledger, preemptor, returning, inLine: search.inLine });
    if (placement === null) return null;
    return markClean(world, { ledger, preemptor, placement, returning });
  } finally {
    ledger.rollback();
  }
}

/** The same request on any other nodes. */
function offNodes(world: World, request: PlacementRequest, nodes: ReadonlySet<NodeId> | undefined): PlacementRequest {
  if (nodes === undefined) return request;
  const ids = world.capacity
    .acceptable(request.acceleratorTypes)
    .flatMap(({ slots }) => slots.map(({ node }) => node.id));
  return request.with({ among: new Set(ids.filter((id) => !nodes.has(id))) });
}

/** Who runs is asked to leave; who was only promised a place is promised nothing. */
function vacate(ledger: Ledger, { attempt, nomination, keeps, upTo }: VictimUnit): void {
  if (nomination === null) ledger.vacateWorkers(attempt, keeps, upTo);
  else ledger.withdraw(nomination);
}

const bucketOf = (world: World, { workload }: VictimUnit, request: PlacementRequest): QueueBucket =>
  world.queue.single(request, workload as WorkloadEntity);

/** The request with which a victim's unit comes back, alone in a bucket. */
export const returningBucket = (world: World, unit: VictimUnit): QueueBucket =>
  bucketOf(world, unit, requestOf(world, unit));

/** The core of a gang, or all of it, comes back as a start; further workers as growth of the workers that stay. */
function requestOf({ rules }: World, { workload, attempt, keeps, upTo }: VictimUnit): PlacementRequest {
  const { gang } = workload.spec;
  const least = minWorkersOf(gang);
  if (keeps >= least) {
    const group = attempt.workers[keeps]?.taskGroup ?? null;
    const growth = { rules, growth: upTo - keeps, grows: attempt.id, group };
    return PlacementRequest.of(workload, growth).with({ ownKept: keeps });
  }
  const start = PlacementRequest.of(workload, { rules });
  if (gang.taskGroups === undefined) return start.with({ workers: Math.max(upTo, least) });
  const counts = partsOf(gang, attempt.workers.slice(0, upTo)).map((part) => part.workers);
  return start.with({ counts, workers: upTo });
}

/** The same request with fewer workers: a step on the way to all of them. */
function part({ queue, rules }: World, { request, waiting }: QueueBucket, workers: number): QueueBucket {
  const workload = waiting.first() as WorkloadEntity;
  const { isGrowth, grows, group } = request;
  const fewer = isGrowth
    ? PlacementRequest.of(workload, { rules, growth: workers, grows, group })
    : PlacementRequest.of(workload, { rules }).with({ workers });
  return queue.single(fewer, workload);
}

interface Try {
  readonly ledger: Ledger;
  readonly preemptor: QueueBucket;
  readonly returning: readonly Returning[];
}

/**
 * Places everybody in the order of serving; `null` if the beneficiary finds no place. A gang asks for its core first and for a
 * further worker only when it has what comes before. Who is in line besides gets no place and has its turn all the same: a team
 * is seen with its best request, and who goes first here goes first in the next round.
 */
function placeAll(
  world: World,
  { ledger, preemptor, returning, inLine }: Try & { readonly inLine: InLine },
): Placement | null {
  const byAttempt = Map.groupBy(returning, ({ unit }) => unit.attempt);
  const lines = [...byAttempt.values()].map((line) =>
    line.toSorted((left, right) => left.unit.keeps - right.unit.keeps),
  );
  const lineOf = new Map(lines.flatMap((line) => line.map((each) => [each.bucket, line] as const)));
  const others = new Others(inLine);
  const order = roundOrder(world, [...others.first, preemptor, ...lines.map((line) => (line[0] as Returning).bucket)]);
  let placement: Placement | null = null;
  let unasked = 1 + returning.length;
  for (let bucket = order.first(); bucket !== null && unasked > 0; bucket = order.first()) {
    order.drop(bucket);
    if (others.has(bucket)) {
      const next = others.after(bucket);
      if (next !== undefined) order.add(next);
      continue;
    }
    const placed = findPlacement(world, bucket.request, "releasing");
    if (placed !== null) ledger.occupy(bucket.request, placed);
    const line = lineOf.get(bucket);
    unasked--;
    if (line === undefined) {
      if (placed === null) return null;
      placement = placed;
      continue;
    }
    const at = line.findIndex((each) => each.bucket === bucket);
    (line[at] as Returning).placement = placed;
    const next = line[at + 1];
    if (placed !== null && next !== undefined) order.add(next.bucket);
    // Whoever comes behind asks for nothing where this one got nothing.
    else unasked -= line.length - at - 1;
  }
  return placement;
}

/** Who waits besides, the best of each team until its turn has come, then the one behind it: most never have theirs. */
class Others {
  readonly first: readonly QueueBucket[];
  readonly #rest = new Map<QueueBucket, Iterator<QueueBucket, undefined>>();

  constructor(byTeam: InLine) {
    this.first = byTeam.flatMap((classes) => this.#next(classes.values()) ?? []);
  }

  #next(rest: Iterator<QueueBucket, undefined>): QueueBucket | undefined {
    const { value } = rest.next();
    if (value !== undefined) this.#rest.set(value, rest);
    return value;
  }

  has(bucket: QueueBucket): boolean {
    return this.#rest.has(bucket);
  }

  /** Whoever is next in the team of one whose turn has come. */
  after(bucket: QueueBucket): QueueBucket | undefined {
    return this.#next(this.#rest.get(bucket) as Iterator<QueueBucket, undefined>);
  }
}

interface Settled extends Try {
  readonly placement: Placement;
}

/** Who stays, who moves and who is lost; then the beneficiary's accelerators are picked among those that really leave. */
export function markClean(world: World, { ledger, preemptor, placement, returning }: Settled): Replaced | null {
  const terminating = returning.filter(({ unit, placement: again }) => again === null || !isSamePlace(unit, again));
  const lost = terminating.filter((each) => each.placement === null).map(({ unit }) => unit);
  ledger.rollback();
  for (const { unit } of terminating) vacate(ledger, unit);
  const workers = pickAgain(world, preemptor.request, placement);
  if (workers === null) return null;
  const again: Placement = { ...placement, workers };
  ledger.occupy(preemptor.request, again);
  const moves: Move[] = [];
  for (const { unit, bucket, placement: place } of terminating) {
    if (place === null) continue;
    const picked = pickAgain(world, bucket.request, place);
    if (picked === null) return null;
    const moved = { ...place, workers: picked };
    ledger.occupy(bucket.request, moved);
    moves.push({ attempt: unit.attempt, bucket, placement: moved });
  }
  return {
    placement: again,
    moves,
    lost,
    victims: victimsOf(
      terminating.map(({ unit }) => unit),
      moves,
    ),
    units: terminating.map(({ unit }) => unit),
    withdrawn: terminating.flatMap(({ unit }) => unit.nomination ?? []),
  };
}

/** Whole accelerators of a node are alike, so a gang that gets as many on the same nodes stays; a part must get the same place. */
function isSamePlace({ attempt, keeps, upTo, workload }: VictimUnit, { workers }: Placement): boolean {
  const { gang } = workload.spec;
  const key = (worker: WorkerAllocation): string => {
    const isPart = needsPart(shapeOf(gang, worker));
    const place = isPart ? `${worker.node} ${worker.accelerators} ${worker.slice ?? ""}` : worker.node;
    return worker.taskGroup === undefined ? place : `${worker.taskGroup} ${place}`;
  };
  const before = attempt.workers.slice(keeps, upTo).map(key).toSorted();
  return before.join() === workers.map(key).toSorted().join();
}

/** The same nodes, with accelerators that are idle or coming once only those leave who really do; `null`: not as many. */
export function pickAgain(
  world: World,
  { gang }: Pick<PlacementRequest, "gang">,
  { workers }: Pick<Placement, "workers">,
): readonly WorkerAllocation[] | null {
  const { capacity } = world;
  if (gang.taskGroups !== undefined) return pickGroups(world, gang, workers);
  if (gang.profile !== undefined) return pickParts(world, gang, workers);
  if (gang.shareMilli !== undefined) return pickShares(world, gang.shareMilli, workers);
  if (gang.accelerators === 0) return workers;
  const taken = new Map<string, number>();
  const picked: WorkerAllocation[] = [];
  for (const { node } of workers) {
    const slot = capacity.slot(node);
    const skip = taken.get(node) ?? 0;
    if (slot.freeCount + slot.releasingCount < skip + gang.accelerators) return null;
    picked.push({ node, accelerators: slot.pick(skip, gang.accelerators, "releasing") });
    taken.set(node, skip + gang.accelerators);
  }
  return picked;
}

/** Group by group, each seeing what the ones before it took. */
function pickGroups(
  world: World,
  gang: GangSpec,
  workers: readonly WorkerAllocation[],
): readonly WorkerAllocation[] | null {
  const { capacity } = world;
  const picked: WorkerAllocation[] = [];
  let isWhole = true;
  for (const [group, own] of Map.groupBy(workers, (worker) => worker.taskGroup ?? 0)) {
    const again = pickAgain(world, { gang: gangOfGroup(gang, group) }, { workers: own });
    isWhole &&= again !== null;
    const placed = (again ?? []).map((worker) => ({ ...worker, taskGroup: group }));
    capacity.nomination(gang, placed, 1);
    picked.push(...placed);
  }
  capacity.nomination(gang, picked, -1);
  return isWhole ? picked : null;
}

/** The same accelerators where they still have the room, else the fullest of the same node that has it. */
function pickShares(
  { capacity }: World,
  milli: number,
  workers: readonly WorkerAllocation[],
): readonly WorkerAllocation[] | null {
  const taken = new Map<string, number>();
  const picked: WorkerAllocation[] = [];
  for (const { node, accelerators } of workers) {
    const slot = capacity.slot(node);
    const roomOf = (index: number): number => slot.room(index, "releasing") - (taken.get(`${node} ${index}`) ?? 0);
    let best = Number(accelerators);
    if (roomOf(best) < milli) {
      best = -1;
      for (let index = 0; index < slot.totalCount; index++)
        if (roomOf(index) >= milli && (best < 0 || roomOf(index) < roomOf(best))) best = index;
    }
    if (best < 0) return null;
    taken.set(`${node} ${best}`, (taken.get(`${node} ${best}`) ?? 0) + milli);
    picked.push({ node, accelerators: acceleratorSetOf([best]) });
  }
  return picked;
}

/** The same parts where they are still open, else the best of the same node. */
function pickParts(
  { capacity }: World,
  gang: GangSpec,
  workers: readonly WorkerAllocation[],
): readonly WorkerAllocation[] | null {
  const givenOf = new Map<NodeSlot, Map<number, number>>();
  const picked: WorkerAllocation[] = [];
  for (const worker of workers) {
    const slot = capacity.slot(worker.node);
    const given = givenOf.get(slot) ?? new Map<number, number>();
    givenOf.set(slot, given);
    const index = Number(worker.accelerators);
    const own = partOn(slot.node, gang)?.places.find(({ start }) => start === worker.slice);
    const taken = slot.slicesTaken(index, "releasing") + (given.get(index) ?? 0);
    if (own !== undefined && isOpen(own, taken)) {
      give(given, { index, digits: own.digits });
      picked.push({ node: worker.node, accelerators: worker.accelerators, slice: own.start });
      continue;
    }
    const spot = bestPart(slot, { shape: gang, layer: "releasing", given });
    if (spot === null) return null;
    give(given, spot);
    picked.push(partAt(slot, spot));
  }
  return picked;
}

/** One victim for each attempt, with the fewest workers that any of its units leaves it. */
export function victimsOf(units: readonly VictimUnit[], moves: readonly Move[]): readonly Victim[] {
  const keeps = new Map<Attempt, number>();
  for (const unit of units)
    if (unit.nomination === null) keeps.set(unit.attempt, Math.min(unit.keeps, keeps.get(unit.attempt) ?? unit.keeps));
  const moving = new Map<Attempt, number>();
  for (const { attempt, placement } of moves)
    moving.set(attempt, (moving.get(attempt) ?? 0) + placement.workers.length);
  return [...keeps].map(([attempt, kept]) => ({ attempt, keeps: kept, moving: moving.get(attempt) ?? 0 }));
}
