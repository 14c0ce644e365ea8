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
import { QueueBucket } from "../cluster/queue.ts";
import { SortedList } from "../base/collections/sorted-list.ts";
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
  readonly found: QueueBucket;
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
    const again = (unit: VictimUnit): QueueBucket => offNodes(world, requestOf(world, unit), search.keptFree);
    const returning = units.map((unit): Returning => ({ unit, found: again(unit), placement: null }));
    const preemptor = workers === search.preemptor.workers ? search.preemptor : part(world, search.preemptor, workers);
    const placement = placeAll(world, { ledger, preemptor, returning, inLine: search.inLine });
    if (placement === null) return null;
    return markClean(world, { ledger, preemptor, placement, returning });
  } finally {
    ledger.rollback();
  }
}

/** The same request on any other nodes. */
function offNodes(world: World, found: QueueBucket, nodes: ReadonlySet<NodeId> | undefined): QueueBucket {
  if (nodes === undefined) return found;
  const ids = world.capacity
    .acceptable(found.acceleratorTypes)
    .flatMap(({ slots }) => slots.map(({ node }) => node.id));
  return Object.assign(found, { among: new Set(ids.filter((id) => !nodes.has(id))) });
}

/** Who runs is asked to leave; who was only promised a place is promised nothing. */
function vacate(ledger: Ledger, { attempt, nomination, keeps, upTo }: VictimUnit): void {
  if (nomination === null) ledger.vacateWorkers(attempt, keeps, upTo);
  else ledger.withdraw(nomination);
}

interface ReplacementRequest {
  readonly growth: number;
  readonly grows: QueueBucket["grows"];
  readonly group: QueueBucket["group"];
}

function classOf(world: World, workload: WorkloadEntity, { growth, grows, group }: ReplacementRequest): QueueBucket {
  const waiting = new SortedList<WorkloadEntity>(world.queue.compare);
  waiting.insert(workload);
  return new QueueBucket(workload, { rules: world.rules, growth, grows, group }, waiting);
}

/** What a victim would ask for again: its core, or all of it, as a start; a further worker as growth of what it keeps. */
export function requestOf(world: World, { workload, attempt, keeps, upTo }: VictimUnit): QueueBucket {
  const { gang } = workload.spec;
  const least = minWorkersOf(gang);
  const group = attempt.workers[keeps]?.taskGroup ?? null;
  if (keeps >= least)
    return Object.assign(
      classOf(world, workload as WorkloadEntity, { growth: upTo - keeps, grows: attempt.id, group }),
      { ownKept: keeps },
    );
  const found = startOf(world, workload as WorkloadEntity, Math.max(upTo, least));
  if (gang.taskGroups === undefined) return found;
  const counts = partsOf(gang, attempt.workers.slice(0, upTo)).map((part) => part.workers);
  return Object.assign(found, { counts, workers: upTo });
}

/** A start with a number of workers, be it more or less than a gang needs. */
function startOf(world: World, workload: WorkloadEntity, workers: number): QueueBucket {
  return Object.assign(classOf(world, workload, { growth: workers, grows: null, group: null }), { isGrowth: false });
}

/** The same request with fewer workers: a step on the way to all of them. */
function part(world: World, whole: QueueBucket, workers: number): QueueBucket {
  const workload = whole.waiting.first() as WorkloadEntity;
  return whole.isGrowth
    ? classOf(world, workload, { growth: workers, grows: whole.grows, group: whole.group })
    : startOf(world, workload, workers);
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
  const lineOf = new Map(lines.flatMap((line) => line.map((each) => [each.found, line] as const)));
  const others = new Others(inLine);
  const order = roundOrder(world, [...others.first, preemptor, ...lines.map((line) => (line[0] as Returning).found)]);
  let placement: Placement | null = null;
  let unasked = 1 + returning.length;
  for (let found = order.first(); found !== null && unasked > 0; found = order.first()) {
    order.drop(found);
    if (others.has(found)) {
      const next = others.after(found);
      if (next !== undefined) order.add(next);
      continue;
    }
    const placed = findPlacement(world, found, "releasing");
    if (placed !== null) ledger.occupy(found, placed);
    const line = lineOf.get(found);
    unasked--;
    if (line === undefined) {
      if (placed === null) return null;
      placement = placed;
      continue;
    }
    const at = line.findIndex((each) => each.found === found);
    (line[at] as Returning).placement = placed;
    const next = line[at + 1];
    if (placed !== null && next !== undefined) order.add(next.found);
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

  has(found: QueueBucket): boolean {
    return this.#rest.has(found);
  }

  /** Whoever is next in the team of one whose turn has come. */
  after(found: QueueBucket): QueueBucket | undefined {
    return this.#next(this.#rest.get(found) as Iterator<QueueBucket, undefined>);
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
  const workers = pickAgain(world, preemptor, placement);
  if (workers === null) return null;
  const again: Placement = { ...placement, workers };
  ledger.occupy(preemptor, again);
  const moves: Move[] = [];
  for (const { unit, found, placement: place } of terminating) {
    if (place === null) continue;
    const picked = pickAgain(world, found, place);
    if (picked === null) return null;
    const moved = { ...place, workers: picked };
    ledger.occupy(found, moved);
    moves.push({ attempt: unit.attempt, found, placement: moved });
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
  { gang }: Pick<QueueBucket, "gang">,
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
