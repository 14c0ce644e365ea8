/**
 * Simulation with migration. The victims are evicted; then victims and preemptor are placed in queue order on free or
 * releasing capacity. A victim that gets its own place again stays, a victim that gets another place migrates, the
 * others are evicted.
 */
import { needsPart, partsOf, shapeOf, minWorkersOf } from "@headroom/model";
import type { NodeId, Nomination, WorkerAllocation } from "@headroom/model";
import type { Ledger } from "../cluster/ledger.ts";
import { PlacementRequest } from "../cluster/placement-request.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { Placement } from "../cluster/request.ts";
import type { World } from "../cluster/world.ts";
import type { WorkloadEntity } from "../state/state.ts";
import { roundOrder } from "../ordering/round-order.ts";
import { findPlacement } from "../placement/place.ts";
import { pickAgain } from "./pick-again.ts";
import { victimsOf } from "./plan.ts";
import type { Migration, Victim, VictimUnit } from "./plan.ts";
import { simulate } from "../cluster/ledger.ts";

export interface PlacedAgain {
  readonly placement: Placement;
  readonly victims: readonly Victim[];
  readonly migrations: readonly Migration[];
  /** Nominations that the plan withdraws. */
  readonly withdrawn: readonly Nomination[];
  /** Units that were tentatively evicted and found no place. */
  readonly lost: readonly VictimUnit[];
  /**
   * Units that were tentatively evicted and did not get their old place back. The search for a larger request starts
   * with them.
   */
  readonly units: readonly VictimUnit[];
}

/**
 * The request for a new place for a victim's unit, and its result. `placement` is `null` if the unit finds no place.
 */
export interface Returning {
  readonly unit: VictimUnit;
  readonly bucket: QueueBucket;
  placement: Placement | null;
}

/** Positions of other waiting requests in the queue order. The simulation does not place them. */
export interface Turns {
  /** The first request of each team. */
  readonly first: readonly QueueBucket[];
  has(bucket: QueueBucket): boolean;
  /** The team's next request after this one. */
  after(bucket: QueueBucket): QueueBucket | undefined;
}

interface PlacingAgain {
  readonly preemptor: QueueBucket;
  /** The other waiting requests in the queue order. If absent, only the preemptor and the victims are ordered. */
  readonly turns?: Turns;
  /** Nodes that the victims must avoid. If absent, they may use any node. */
  readonly keptFree?: ReadonlySet<NodeId> | undefined;
}

/** Places the preemptor and the victims' units in queue order. Returns `null` if the preemptor finds no place. */
export const placeAgain = (world: World, asked: PlacingAgain, units: readonly VictimUnit[]): PlacedAgain | null =>
  simulate(world, (ledger) => {
    for (const unit of units) vacate(ledger, unit);
    const again = (unit: VictimUnit): QueueBucket =>
      bucketOf(world, unit, offNodes(world, requestOf(world, unit), asked.keptFree));
    const returning = units.map((unit): Returning => ({ unit, bucket: again(unit), placement: null }));
    const { preemptor, turns } = asked;
    const placement = placeAll(world, ledger, preemptor, returning, turns);
    return placement === null ? null : settle(world, ledger, preemptor, placement, returning);
  });

/** The same request, restricted to nodes outside the set `nodes`. */
function offNodes(world: World, request: PlacementRequest, nodes: ReadonlySet<NodeId> | undefined): PlacementRequest {
  if (nodes === undefined) return request;
  const ids = world.capacity
    .acceptable(request.acceleratorTypes)
    .flatMap(({ slots }) => slots.map(({ node }) => node.id));
  return request.with({ among: new Set(ids.filter((id) => !nodes.has(id))) });
}

/** Evicts a unit of an attempt, or withdraws a nomination. */
function vacate(ledger: Ledger, { attempt, nomination, keeps, upTo }: VictimUnit): void {
  if (nomination === null) ledger.vacateWorkers(attempt, keeps, upTo);
  else ledger.withdraw(nomination);
}

const bucketOf = (world: World, { workload }: VictimUnit, request: PlacementRequest): QueueBucket =>
  world.queue.single(request, workload as WorkloadEntity);

/** The request with which a victim's unit is placed again, alone in a bucket. */
export const returningBucket = (world: World, unit: VictimUnit): QueueBucket =>
  bucketOf(world, unit, requestOf(world, unit));

/**
 * The request with which an evicted unit is placed again. A whole gang, or its minimum of workers, requests a new
 * start. Workers beyond the minimum request growth of the workers that stay.
 */
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

/**
 * Places the preemptor and the evicted units in queue order. A gang requests its minimum first, and each further worker
 * after the earlier ones are placed. Other waiting requests take part in the order but are not placed. They matter
 * because a team is ranked by its best request, so the order is that of the next round.
 */
function placeAll(
  world: World,
  ledger: Ledger,
  preemptor: QueueBucket,
  returning: readonly Returning[],
  turns: Turns | undefined,
): Placement | null {
  const byAttempt = Map.groupBy(returning, ({ unit }) => unit.attempt);
  const lines = [...byAttempt.values()].map((line) =>
    line.toSorted((left, right) => left.unit.keeps - right.unit.keeps),
  );
  const lineOf = new Map(lines.flatMap((line) => line.map((each) => [each.bucket, line] as const)));
  const order = roundOrder(world, [
    ...(turns?.first ?? []),
    preemptor,
    ...lines.map((line) => (line[0] as Returning).bucket),
  ]);
  let placement: Placement | null = null;
  let unasked = 1 + returning.length;
  for (let bucket = order.first(); bucket !== null && unasked > 0; bucket = order.first()) {
    order.drop(bucket);
    if (turns?.has(bucket) === true) {
      const next = turns.after(bucket);
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
    // If this unit is not placed, later units of the same gang are not tried.
    else unasked -= line.length - at - 1;
  }
  return placement;
}

/**
 * Determines which units stay, migrate or are evicted, then selects the preemptor's accelerators from those that are
 * actually freed.
 */
export function settle(
  world: World,
  ledger: Ledger,
  preemptor: QueueBucket,
  placement: Placement,
  returning: readonly Returning[],
): PlacedAgain | null {
  const displaced = returning.filter(({ unit, placement: again }) => again === null || !isSamePlace(unit, again));
  const units = displaced.map(({ unit }) => unit);
  const lost = displaced.filter((each) => each.placement === null).map(({ unit }) => unit);
  ledger.rollback();
  for (const unit of units) vacate(ledger, unit);
  const workers = pickAgain(world, preemptor.request, placement);
  if (workers === null) return null;
  const again: Placement = { ...placement, workers };
  ledger.occupy(preemptor.request, again);
  const migrations: Migration[] = [];
  for (const { unit, bucket, placement: place } of displaced) {
    if (place === null) continue;
    const picked = pickAgain(world, bucket.request, place);
    if (picked === null) return null;
    const migrated = { ...place, workers: picked };
    ledger.occupy(bucket.request, migrated);
    migrations.push({ attempt: unit.attempt, bucket, placement: migrated });
  }
  return {
    placement: again,
    migrations,
    lost,
    victims: victimsOf(units, migrations),
    units,
    withdrawn: displaced.flatMap(({ unit }) => unit.nomination ?? []),
  };
}

/**
 * Returns whether the unit gets its old place again. Whole accelerators of a node are interchangeable, so the same
 * number on the same nodes suffices. A fraction or MIG slice must get the same accelerator and position.
 */
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
