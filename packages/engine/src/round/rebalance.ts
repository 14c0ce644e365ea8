/**
 * Filling up anew: all work that may be evicted of teams above their claim leaves tentatively; then everybody is served in
 * fair order, those who left at their own places alone. Who did not get its place back is evicted for those who did.
 * Filling up again at once may take from whom it has just served. So it is done only where something is otherwise than before,
 * and after an eviction not before those who were asked to leave have left.
 */
import type { Batch } from "../batch/batch.ts";
import type { Attempt } from "../model/workload.ts";
import { amountHeld } from "../cluster/amounts.ts";
import { workloadOf } from "../cluster/entities.ts";
import { Ledger, haveRoomTogether } from "../cluster/ledger.ts";
import { QueueBucket } from "../cluster/queue.ts";
import { readyTaskCount } from "../state/ready-task.ts";
import { SortedList } from "../base/collections/sorted-list.ts";
import { amountAt } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";
import type { WorkloadEntity } from "../state/state.ts";
import { verifyPlan } from "../preemption/verify-plan.ts";
import { carryOut } from "../preemption/execute.ts";
import { pickAgain } from "../preemption/replace.ts";
import type { Plan } from "../preemption/plan.ts";
import { holdsByRight, isAbove, isEvictable } from "../preemption/eligibility.ts";
import { roundOrder } from "../ordering/round-order.ts";
import { teamSharesOf } from "../ordering/team-share.ts";
import type { TeamShare } from "../ordering/team-share.ts";
import { couldEverFit } from "../placement/could-ever.ts";
import { findPlacement } from "../placement/place.ts";
import { respectsAntiAffinity } from "../placement/anti-affinity.ts";
import { isInGroups, quotaReached } from "../cluster/request.ts";
import { needsPart } from "../cluster/node-slot.ts";
import type { Layer } from "../cluster/node-slot.ts";
import type { Placement } from "../cluster/request.ts";
import { start } from "../transitions/start.ts";

export function rebalance(batch: Batch): void {
  if (!batch.changesAnything) return;
  const { world } = batch;
  const waiting = world.queue.waitingClasses().filter((found) => couldEverFit(world, found));
  if (waiting.length === 0) return;
  const { served, evicted, isIdle } = filledAnew(batch, waiting);
  let victims = evicted.map((attempt) => ({ attempt, keeps: 0 }));
  for (const { found, placement } of served) {
    if (victims.length === 0 && (isIdle || isFree(world, found, placement))) {
      start(batch, found, placement);
      continue;
    }
    const plan: Plan = { preemptor: found, placement, victims };
    if (victims.length > 0) verifyPlan(world, plan, "reclaimed");
    carryOut(batch, plan, "reclaimed");
    victims = [];
  }
}

const isFree = (world: World, found: QueueBucket, { workers }: Placement): boolean =>
  haveRoomTogether(world, found.gang, { workers, layer: "idle" }) &&
  respectsAntiAffinity(world, found, { workers, layer: "idle" });

interface Served {
  readonly found: QueueBucket;
  readonly placement: Placement;
}

interface Filled {
  readonly served: readonly Served[];
  readonly evicted: readonly Attempt[];
  /** Nobody leaves: whoever is served was given what is idle, and finds it as it was planned. */
  readonly isIdle: boolean;
}

/** Those of a class who were not in turn yet. */
interface Line {
  readonly found: QueueBucket;
  readonly tasks: Iterator<QueueBucket, undefined>;
}

/** How many tasks of a class may be served at most; absent: all. */
type Bounds = Map<QueueBucket, number>;

/** Filling until everybody who is served really finds room: nobody leaves for somebody who does not. */
function filledAnew(batch: Batch, waiting: readonly QueueBucket[]): Filled {
  const bounds: Bounds = new Map();
  for (;;) {
    const planned = fillAnew(batch, waiting, bounds);
    if (planned.isIdle && waiting.every(isOfWhole)) return planned;
    const settled = markClean(batch.world, planned);
    if (settled.length === planned.served.length) return { ...planned, served: settled, isIdle: false };
    for (const found of new Set(planned.served.map((each) => each.found))) bounds.set(found, countOf(settled, found));
  }
}

/** Whole accelerators, of one kind of workers: those of a node are alike, and the same are picked again. */
const isOfWhole = ({ gang }: QueueBucket): boolean => !needsPart(gang) && gang.taskGroups === undefined;

const countOf = (served: readonly Served[], found: QueueBucket): number =>
  served.filter((each) => each.found === found).length;

function fillAnew(batch: Batch, waiting: readonly QueueBucket[], bounds: Bounds): Filled {
  const { world } = batch;
  const ledger = new Ledger(world);
  try {
    const left = aboveEntitlement(batch);
    for (const attempt of left) ledger.vacate(attempt, 0);
    // Where nobody leaves, what is idle is all there is.
    const layer: Layer = left.length === 0 ? "idle" : "releasing";
    const returning = left.map((attempt) => returningClass(world, attempt));
    // A class stands for each of its workloads in turn, and within this plan none of them leaves the queue.
    const lines = new Map<QueueBucket, Line>();
    for (const found of waiting) {
      const tasks = singles(batch, found, bounds.get(found) ?? Number.POSITIVE_INFINITY);
      const { value: first } = tasks.next();
      if (first !== undefined) lines.set(first, { found, tasks });
    }
    const order = roundOrder(world, [...returning, ...lines.keys()]);
    const served: Served[] = [];
    const back = new Set<Attempt>();
    for (let found = order.first(); found !== null; found = order.first()) {
      order.drop(found);
      const placement = found.holds === null ? findPlacement(world, found, layer) : ownPlace(world, found, found.holds);
      if (placement === null) continue;
      ledger.occupy(found, placement);
      if (found.holds !== null) back.add(found.holds);
      const line = lines.get(found);
      if (line === undefined) continue;
      served.push({ found: line.found, placement });
      lines.delete(found);
      const { value: next } = line.tasks.next();
      if (next === undefined) continue;
      lines.set(next, line);
      order.add(next);
    }
    return { served, evicted: left.filter((attempt) => !back.has(attempt)), isIdle: left.length === 0 };
  } finally {
    ledger.rollback();
  }
}

/** Who got its place back never left: whoever is served gets accelerators of the same nodes that are really there. */
function markClean(world: World, { served, evicted }: Filled): readonly Served[] {
  const ledger = new Ledger(world);
  try {
    for (const attempt of evicted) ledger.vacate(attempt, 0);
    return served.flatMap(({ found, placement }): Served[] => {
      const workers = pickAgain(world, found, placement);
      // Parts of accelerators may lie otherwise than in the plan.
      if (workers === null || !haveRoomTogether(world, found.gang, { workers, layer: "releasing" })) return [];
      ledger.occupy(found, { ...placement, workers });
      return [{ found, placement: { ...placement, workers } }];
    });
  } finally {
    ledger.rollback();
  }
}

/** What may be evicted of teams that hold more of something than they may claim, where it is a part of just that; in the order of placing. */
function aboveEntitlement(batch: Batch): Attempt[] {
  const { world } = batch;
  const teamShares = teamSharesOf(world);
  const isTooMuch = (attempt: Attempt): boolean => {
    const { team, gang } = workloadOf(world, attempt.workloadId).spec;
    const teamShare = teamShares.get(world.teamUse.node(team)) as TeamShare;
    const given = amountHeld(world, gang, attempt);
    if (holdsByRight(teamShare, given)) return false;
    return teamShare.positions.some((position) => amountAt(given, position) > 0 && isAbove(teamShare, position));
  };
  return [...world.state.attempts.values()]
    .filter((attempt) => isEvictable(batch, attempt) && isTooMuch(attempt))
    .sort((left, right) => left.placedSequence - right.placedSequence);
}

function returningClass(world: World, attempt: Attempt): QueueBucket {
  const workload = workloadOf(world, attempt.workloadId);
  return new QueueBucket(workload, { rules: world.rules, growth: 0, holds: attempt }, listOf(world, workload));
}

function listOf(world: World, workload: WorkloadEntity): SortedList<WorkloadEntity> {
  const list = new SortedList<WorkloadEntity>(world.queue.compare);
  list.insert(workload);
  return list;
}

/** The waiting tasks of a class one by one, in its order, each when the one before it was served; at most so many. */
function* singles({ world, nowMs }: Batch, found: QueueBucket, most: number): Iterator<QueueBucket, undefined> {
  let left = most;
  for (const workload of found.waiting.from(0)) {
    for (let task = 0; task < readyTaskCount(workload, nowMs); task++) {
      if (left-- <= 0) return undefined;
      yield new QueueBucket(workload, { rules: world.rules, growth: 0 }, listOf(world, workload));
    }
  }
  return undefined;
}

/** What it held, or as much on the same nodes, if that is left there: whole accelerators of a node are alike. */
function ownPlace(world: World, found: QueueBucket, { workers, acceleratorType }: Attempt): Placement | null {
  if (quotaReached(world, found, acceleratorType) !== null) return null;
  if (hasRoom(world, found, workers)) return { acceleratorType, workers };
  if (needsPart(found.gang) && !isInGroups(found)) return null;
  const picked = pickAgain(world, found, { workers });
  return picked === null || !hasRoom(world, found, picked) ? null : { acceleratorType, workers: picked };
}

const hasRoom = (world: World, found: QueueBucket, workers: Placement["workers"]): boolean =>
  haveRoomTogether(world, found.gang, { workers, layer: "releasing" }) &&
  respectsAntiAffinity(world, found, { workers, layer: "releasing" });
