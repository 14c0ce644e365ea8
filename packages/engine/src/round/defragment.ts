/**
 * Defragmentation: while no request waits for capacity, movable work migrates so that larger blocks of idle
 * accelerators remain. The measure is the number of pairs of idle accelerators on one node. Every migration increases
 * it, so the process terminates. Each migration must be worth its loss, and the rate is limited (`DefragmentRules`).
 * The destination is idle and gets a nomination; the plan is verified and executed like a preemption.
 */
import { needsPart, HOUR_MS, MIGRATION_REST_MS, lastDueMs, nextDueMs } from "@headroom/model";
import type { Attempt, Workload, WorkerAllocation, DefragmentRules } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { spentBudget } from "../usage/gate.ts";
import { requestStop } from "../transitions/stop-attempt.ts";
import type { TypeCapacity } from "../cluster/capacity.ts";
import { workloadOf } from "../cluster/entities.ts";
import type { NodeSlot } from "../cluster/node-slot.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { verifyPlan } from "../preemption/verify.ts";
import { nodeCheck } from "../placement/filters/filters.ts";
import { domainBudget } from "../placement/place-constrained.ts";
import { dataPlaces } from "../placement/filters/data-places.ts";
import { recordVictims } from "../preemption/execute.ts";
import { evictionCost } from "../preemption/cost.ts";
import type { Plan } from "../preemption/plan.ts";
import { returningBucket } from "../preemption/place-again.ts";
import { isEvictable } from "../preemption/eligibility.ts";
import { acceptableTypes, quotaReached } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { nominateMigration } from "../transitions/start.ts";

export function defragment(batch: Batch): void {
  const { world, nowMs } = batch;
  const rules = world.rules.defragment;
  if (rules === undefined || !isOpen(rules, nowMs)) return;
  // If a request waits for capacity, the phase `consolidate` migrates work for it instead.
  if (world.state.nominations.size > 0 || someoneWaits(world)) return;
  gather(batch, rules, migrationsLeft(world, rules, nowMs));
}

/**
 * Carries out up to `migrationsMax` migrations and returns their number. Each is the best one in the state after the
 * previous migration.
 */
export function gather(batch: Batch, rules: DefragmentRules, migrationsMax: number): number {
  const { world } = batch;
  if (!canGather(world)) return 0;
  let migrations = 0;
  for (; migrations < migrationsMax; migrations++) {
    const migration = bestMigration(batch, rules);
    if (migration === null) break;
    carryOut(batch, migration);
  }
  return migrations;
}

/**
 * Whether the policy allows defragmentation. A placement strategy has other rules for nodes. If nominations are not
 * kept, a migration has no reserved destination.
 */
const canGather = ({ rules: { fabric, eviction } }: World): boolean =>
  fabric.placedBy === null && eviction.nominations === "kept";

const isOpen = ({ during }: DefragmentRules, nowMs: number): boolean => {
  if (during === undefined) return true;
  const openedMs = lastDueMs(during.times, nowMs);
  return openedMs !== null && nowMs < openedMs + during.lastsMs;
};

/**
 * The next instant at which the schedule allows defragmentation. `null` without a schedule, or if no work can migrate.
 */
export function defragmentsAtMs({ rules, evictable }: World, nowMs: number): number | null {
  const { defragment: own } = rules;
  if (own?.during === undefined || evictable.size === 0 || !rules.phases.includes("defragment")) return null;
  return nextDueMs(own.during.times, nowMs);
}

function someoneWaits(world: World): boolean {
  for (const bucket of world.queue.waitingClasses())
    if (acceptableTypes(world, bucket.request).some(({ type }) => quotaReached(world, bucket.request, type) === null))
      return true;
  return false;
}

function migrationsLeft({ state }: World, { migrationsPerHour }: DefragmentRules, nowMs: number): number {
  let recentCount = 0;
  for (const atMs of state.migrated.values()) if (atMs > nowMs - HOUR_MS) recentCount++;
  return Math.max(0, migrationsPerHour - recentCount);
}

interface GatheringMigration {
  readonly attempt: Attempt;
  readonly workload: Workload;
  readonly bucket: QueueBucket;
  readonly placement: Placement;
  /** Increase in the number of pairs of idle accelerators on one node. */
  readonly pairs: number;
  readonly cost: number;
}

/**
 * The migration that creates the most pairs of idle accelerators. If two are equal, the cheaper one wins, then the one
 * whose attempt was placed first.
 */
function bestMigration(batch: Batch, rules: DefragmentRules): GatheringMigration | null {
  const { world } = batch;
  let best: GatheringMigration | null = null;
  const tightest = new Map<TypeCapacity, readonly NodeSlot[]>();
  // All attempts are searched, and not only the index of preemptible work, because the dry run also works under
  // policies without evictions.
  for (const attempt of world.state.attempts.values()) {
    const type = mayMigrate(batch, attempt) ? world.capacity.type(attempt.acceleratorType) : undefined;
    if (type === undefined) continue;
    let slots = tightest.get(type);
    if (slots === undefined) tightest.set(type, (slots = byRoom(type)));
    const migration = migrationOf(batch, attempt, slots);
    if (migration === null || migration.cost > rules.lossPerPairMs * migration.pairs) continue;
    if (best === null || isBetter(migration, best)) best = migration;
  }
  return best;
}

const isBetter = (migration: GatheringMigration, best: GatheringMigration): boolean =>
  migration.pairs > best.pairs ||
  (migration.pairs === best.pairs &&
    (migration.cost < best.cost ||
      (migration.cost === best.cost && migration.attempt.placedSequence < best.attempt.placedSequence)));

/** Number of accelerators of the node that are idle or releasing. Nominated ones do not count. */
const roomOf = ({ freeCount, releasingCount }: NodeSlot): number => freeCount + releasingCount;

/** Usable nodes with idle accelerators. Nodes with the fewest come first. */
const byRoom = ({ slots }: TypeCapacity): readonly NodeSlot[] =>
  slots
    .filter((slot) => slot.usable && slot.freeCount > 0)
    .toSorted((left, right) => roomOf(left) - roomOf(right) || left.position - right.position);

function mayMigrate({ world, nowMs }: Batch, attempt: Attempt): boolean {
  if (attempt.startedAtMs === null) return false;
  const [first] = attempt.workers;
  if (first === undefined || attempt.workers.some(({ node }) => node !== first.node)) return false;
  const { spec, stopRequested, id } = workloadOf(world, attempt.workloadId);
  const { accelerators, taskGroups } = spec.gang;
  // If the budget is used up, migrated work could not be placed again.
  if (spentBudget(world.state, spec.team) !== null) return false;
  if (stopRequested || accelerators === 0 || needsPart(spec.gang) || taskGroups !== undefined) return false;
  const migratedAtMs = world.state.migrated.get(id);
  if (migratedAtMs !== undefined && nowMs < migratedAtMs + MIGRATION_REST_MS) return false;
  return world.capacity.slot(first.node).usable && isEvictable({ world, nowMs } as Batch, attempt);
}

/**
 * The migration to the fullest node that holds the whole attempt and increases the measure, or `null` if there is none.
 */
function migrationOf(batch: Batch, attempt: Attempt, slots: readonly NodeSlot[]): GatheringMigration | null {
  const { world, nowMs } = batch;
  const workload = workloadOf(world, attempt.workloadId);
  const { gang } = workload.spec;
  const data = dataPlaces(world, workload.spec);
  const bucket = returningBucket(world, {
    attempt,
    workload,
    keeps: 0,
    upTo: attempt.workers.length,
    nomination: null,
  });
  // The attempt still runs, so the check of its anti-affinity rules also counts its own workers.
  const passes = nodeCheck(world, bucket.request);
  const count = attempt.workers.length;
  const accelerators = gang.accelerators * count;
  const from = world.capacity.slot((attempt.workers[0] as WorkerAllocation).node);
  const left = roomOf(from) + accelerators;
  const power = domainBudget(world, bucket.request, "idle");
  // The move gives the draw of the present node back to its domains.
  power.take(from, -count);
  for (const slot of slots) {
    if (roomOf(slot) >= left) return null;
    if (power.left(slot) < count) continue;
    if (slot === from || slot.workersThatFit(gang, count) < count) continue;
    // The destination must hold as many of the work's data inputs as the present node.
    if (data.held(slot) < data.held(from) || !passes(slot)) continue;
    const workers = Array.from({ length: count }, (_, index) => ({
      node: slot.node.id,
      accelerators: slot.pick(index * gang.accelerators, gang.accelerators),
    }));
    const placement = { acceleratorType: attempt.acceleratorType, workers };
    const pairs = accelerators * (left - roomOf(slot));
    return { attempt, workload, bucket, placement, pairs, cost: evictionCost(world, attempt, nowMs) };
  }
  return null;
}

function carryOut(batch: Batch, { attempt, workload, bucket, placement, pairs }: GatheringMigration): void {
  const { world, nowMs: atMs } = batch;
  const victims = [{ attempt, keeps: 0, migrating: attempt.workers.length }];
  const plan: Plan = { preemptor: bucket, placement, victims };
  verifyPlan(world, plan, "migrated");
  batch.emit({
    kind: "evictionPlanned",
    version: 3,
    atMs,
    workloadId: workload.id,
    task: attempt.task,
    reason: "migrated",
    victims: recordVictims(batch, victims),
    pairsGathered: pairs,
  });
  requestStop(batch, attempt, "migrated");
  nominateMigration(batch, attempt, placement);
}
