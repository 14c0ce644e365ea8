/**
 * Armada's rebalancing. First, all preemptible attempts of teams above their entitlement are tentatively evicted. Then
 * waiting requests and evicted attempts are served in fair order; an evicted attempt can only get its own place back.
 * An attempt that does not get its place back is evicted for the requests that were served. A second rebalancing at
 * once could evict work that has just started. So it runs only after a change, and after an eviction only when the
 * evicted attempts have ended.
 */
import { needsPart } from "@headroom/model";
import type { Attempt } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import { amountHeld } from "../../cluster/amounts.ts";
import { byPlacement, workloadOf } from "../../cluster/entities.ts";
import { haveRoomTogether, simulate } from "../../cluster/ledger.ts";
import { PlacementRequest } from "../../cluster/placement-request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import { readyTaskCount } from "../../state/ready-task.ts";
import { amountAt } from "../../cluster/team-node.ts";
import type { World } from "../../cluster/world.ts";
import { verifyPlan } from "../../preemption/verify.ts";
import { carryOut } from "../../preemption/execute.ts";
import { pickAgain } from "../../preemption/pick-again.ts";
import type { Plan } from "../../preemption/plan.ts";
import { holdsByEntitlement, isAbove, isEvictable } from "../../preemption/eligibility.ts";
import { roundOrder } from "../../ordering/round-order.ts";
import { teamSharesOf } from "../../ordering/team-share.ts";
import type { TeamShare } from "../../ordering/team-share.ts";
import { couldEverFit } from "../../placement/could-ever.ts";
import { findPlacement } from "../../placement/place.ts";
import { respectsAntiAffinity } from "../../placement/filters/anti-affinity.ts";
import { isInGroups, quotaReached } from "../../cluster/request.ts";
import type { Layer } from "../../cluster/node-slot.ts";
import type { Placement } from "../../cluster/request.ts";
import { start } from "../../transitions/start.ts";

export function rebalance(batch: Batch): void {
  if (!batch.changesAnything) return;
  const { world } = batch;
  const waiting = world.queue.waitingClasses().filter((bucket) => couldEverFit(world, bucket));
  if (waiting.length === 0) return;
  const { served, evicted, isIdle } = filledAnew(batch, waiting);
  let victims = evicted.map((attempt) => ({ attempt, keeps: 0 }));
  for (const { bucket, placement } of served) {
    if (victims.length === 0 && (isIdle || isFree(world, bucket, placement))) {
      start(batch, bucket, placement);
      batch.asked(bucket, true);
      if (batch.isCut) return;
      continue;
    }
    const plan: Plan = { preemptor: bucket, placement, victims };
    if (victims.length > 0) verifyPlan(world, plan, "reclaimed");
    carryOut(batch, plan, "reclaimed");
    // The next round follows when executors report that the stopped work has ended.
    if (victims.length > 0) batch.isOver = true;
    victims = [];
  }
}

const isFree = (world: World, bucket: QueueBucket, { workers }: Placement): boolean =>
  haveRoomTogether(world, bucket.request.gang, { workers, layer: "idle" }) &&
  respectsAntiAffinity(world, bucket.request, workers, "idle");

interface Served {
  readonly bucket: QueueBucket;
  readonly placement: Placement;
}

interface Filled {
  readonly served: readonly Served[];
  readonly evicted: readonly Attempt[];
  /**
   * True if no attempt was tentatively evicted. Then every served request fits into idle capacity, exactly as planned.
   */
  readonly isIdle: boolean;
}

/** A queue bucket with the tasks of it that were not served yet. */
interface Line {
  readonly bucket: QueueBucket;
  readonly tasks: Iterator<QueueBucket, undefined>;
}

/** Maximum number of tasks to serve, by queue bucket. A bucket that is not listed has no maximum. */
type Bounds = Map<QueueBucket, number>;

/**
 * Repeats the rebalancing until every served request really fits. So no attempt is evicted for a request that cannot
 * start.
 */
function filledAnew(batch: Batch, waiting: readonly QueueBucket[]): Filled {
  const bounds: Bounds = new Map();
  for (;;) {
    const planned = fillAnew(batch, waiting, bounds);
    if (planned.isIdle && waiting.every(isOfWhole)) return planned;
    const settled = settle(batch.world, planned);
    if (settled.served.length === planned.served.length) return { ...settled, isIdle: false };
    for (const bucket of new Set(planned.served.map((each) => each.bucket)))
      bounds.set(bucket, countOf(settled.served, bucket));
  }
}

/**
 * Returns whether all workers of the gang request the same number of whole accelerators. A node's whole accelerators
 * are interchangeable, so such a request fits exactly as planned.
 */
const isOfWhole = ({ request: { gang } }: QueueBucket): boolean => !needsPart(gang) && gang.taskGroups === undefined;

const countOf = (served: readonly Served[], bucket: QueueBucket): number =>
  served.filter((each) => each.bucket === bucket).length;

function fillAnew(batch: Batch, waiting: readonly QueueBucket[], bounds: Bounds): Filled {
  const { world } = batch;
  return simulate(world, (ledger) => {
    const left = aboveEntitlement(batch);
    for (const attempt of left) ledger.vacate(attempt, 0);
    // Without evictions only idle capacity can be used.
    const layer: Layer = left.length === 0 ? "idle" : "releasing";
    const returning = left.map((attempt) => returningClass(world, attempt));
    // A line lists the workloads of a bucket in turn. Within this plan no workload leaves the queue.
    const lines = new Map<QueueBucket, Line>();
    for (const bucket of waiting) {
      const tasks = singles(batch, bucket, bounds.get(bucket) ?? Number.POSITIVE_INFINITY);
      const { value: first } = tasks.next();
      if (first !== undefined) lines.set(first, { bucket, tasks });
    }
    const order = roundOrder(world, [...returning, ...lines.keys()]);
    const served: Served[] = [];
    const back = new Set<Attempt>();
    for (let bucket = order.first(); bucket !== null; bucket = order.first()) {
      order.drop(bucket);
      const { request } = bucket;
      const { holds } = request;
      const placement = holds === null ? findPlacement(world, request, layer) : ownPlace(world, request, holds);
      if (placement === null) continue;
      ledger.occupy(request, placement);
      if (holds !== null) back.add(holds);
      const line = lines.get(bucket);
      if (line === undefined) continue;
      served.push({ bucket: line.bucket, placement });
      // Without evictions the rest can follow in the next round.
      if (left.length === 0 && served.length >= batch.startsMax) break;
      lines.delete(bucket);
      const { value: next } = line.tasks.next();
      if (next === undefined) continue;
      lines.set(next, line);
      order.add(next);
    }
    return { served, evicted: left.filter((attempt) => !back.has(attempt)), isIdle: left.length === 0 };
  });
}

/**
 * Books the served requests again after evicting only the attempts that did not get their place back. Each request gets
 * accelerators that are really available on its planned nodes, or else elsewhere; then attempts whose places nobody took
 * are not evicted. A request that does not get any is left out.
 */
function settle(world: World, { served, evicted }: Filled): Pick<Filled, "served" | "evicted"> {
  return simulate(world, (ledger) => {
    for (const attempt of evicted) ledger.vacate(attempt, 0);
    let isElsewhere = false;
    const settled = served.flatMap(({ bucket, placement }): Served[] => {
      const { request } = bucket;
      const planned = availableAs(world, request, placement);
      const available = planned ?? findPlacement(world, request, "idle") ?? findPlacement(world, request, "releasing");
      if (available === null) return [];
      isElsewhere ||= planned === null;
      ledger.occupy(request, available);
      return [{ bucket, placement: available }];
    });
    if (!isElsewhere) return { served: settled, evicted };
    const losesPlace = (attempt: Attempt): boolean => {
      const { request } = returningClass(world, attempt);
      const own = ownPlace(world, request, attempt);
      if (own !== null) ledger.occupy(request, own);
      return own === null;
    };
    return { served: settled, evicted: evicted.filter(losesPlace) };
  });
}

/** The planned place; `null`: fractions of accelerators are arranged differently than in the plan. */
function availableAs(world: World, request: PlacementRequest, planned: Placement): Placement | null {
  const workers = pickAgain(world, request, planned);
  if (workers === null || !haveRoomTogether(world, request.gang, { workers, layer: "releasing" })) return null;
  return { ...planned, workers };
}

/**
 * Preemptible attempts that hold a resource of which their team uses more than its entitlement, in order of placement.
 */
function aboveEntitlement(batch: Batch): Attempt[] {
  const { world } = batch;
  const teamShares = teamSharesOf(world);
  const isTooMuch = (attempt: Attempt): boolean => {
    const { team, gang } = workloadOf(world, attempt.workloadId).spec;
    const teamShare = teamShares.get(world.teamUse.node(team)) as TeamShare;
    const given = amountHeld(world, gang, attempt);
    if (holdsByEntitlement(teamShare, given)) return false;
    return teamShare.positions.some((position) => amountAt(given, position) > 0 && isAbove(teamShare, position));
  };
  return [...world.state.attempts.values()]
    .filter((attempt) => isEvictable(batch, attempt) && isTooMuch(attempt))
    .sort(byPlacement);
}

function returningClass(world: World, attempt: Attempt): QueueBucket {
  const workload = workloadOf(world, attempt.workloadId);
  return world.queue.single(PlacementRequest.of(workload, { rules: world.rules, holds: attempt }), workload);
}

/**
 * Yields the waiting tasks of a bucket in their order, at most `most` of them. The next task is requested only after
 * the task before it was served.
 */
function* singles({ world, nowMs }: Batch, bucket: QueueBucket, most: number): Iterator<QueueBucket, undefined> {
  let left = most;
  for (const workload of bucket.waiting.from(0)) {
    for (let task = 0; task < readyTaskCount(workload, nowMs); task++) {
      if (left-- <= 0) return undefined;
      yield world.queue.single(PlacementRequest.of(workload, { rules: world.rules }), workload);
    }
  }
  return undefined;
}

/**
 * The attempt's own place, or the same number of available accelerators on the same nodes. Whole accelerators of a node
 * are interchangeable.
 */
function ownPlace(world: World, request: PlacementRequest, { workers, acceleratorType }: Attempt): Placement | null {
  if (quotaReached(world, request, acceleratorType) !== null) return null;
  if (hasRoom(world, request, workers)) return { acceleratorType, workers };
  if (needsPart(request.gang) && !isInGroups(request)) return null;
  const picked = pickAgain(world, request, { workers });
  return picked === null || !hasRoom(world, request, picked) ? null : { acceleratorType, workers: picked };
}

const hasRoom = (world: World, request: PlacementRequest, workers: Placement["workers"]): boolean =>
  haveRoomTogether(world, request.gang, { workers, layer: "releasing" }) &&
  respectsAntiAffinity(world, request, workers, "releasing");
