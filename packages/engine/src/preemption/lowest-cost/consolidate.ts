/**
 * Consolidation: if enough capacity is idle in total but scattered, evictable work with little to lose migrates, so
 * that whole nodes come free for a request. Nothing is evicted for good, and the policy bounds the number of
 * migrations.
 */
import { acceleratorsIn, partsOf } from "@headroom/model";
import type { NodeId, Attempt, Workload } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import { workloadOf } from "../../cluster/entities.ts";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import { Slot } from "../../cluster/scratch.ts";
import type { World } from "../../cluster/world.ts";
import { acceptableTypes, quotaReached, wholeNeeded } from "../../cluster/request.ts";
import type { Candidate } from "../../placement/place-constrained.ts";
import { evictionCost, evictionLoss } from "../cost.ts";
import type { Plan, VictimUnit } from "../plan.ts";
import { placeAgain } from "../place-again.ts";
import type { PlacedAgain } from "../place-again.ts";
import type { Planning, Search } from "../strategy.ts";
import { isEvictable } from "../eligibility.ts";
import { acceptedNow, passesAll } from "../../placement/filters/filters.ts";
import { antiAffinityFrom, areasFor, chooseIn } from "./drain-areas.ts";
import type { Area } from "./drain-areas.ts";

export const MIGRATIONS_MAX = 8;
/** Maximum work since the last checkpoint that a migration may lose, in ms for each accelerator of the attempt. */
export const MIGRATION_LOSS_MS_MAX = 600_000;
/**
 * Maximum number of topology domains that are simulated, because each simulation places all victims again. If many
 * domains are equally good, a few of them show whether any works.
 */
const AREAS_SIMULATED_MAX = 8;

interface Movable {
  readonly attempt: Attempt;
  readonly workload: Workload;
  readonly count: number;
  readonly cost: number;
}

/** A node, and the attempts that would have to migrate so that one more worker fits on it. */
export interface DrainArea {
  readonly slot: NodeSlot;
  readonly migrating: readonly Movable[];
  readonly cost: number;
}

/** Tries the accepted accelerator types one by one, in the order of preference. */
export function* consolidate(batch: Batch, preemptor: QueueBucket): Planning<Plan> {
  // A gang's growth does not justify a migration: the migrated gang would request the same capacity again.
  if (preemptor.request.isGrowth) return null;
  const { world } = batch;
  const { gang, workers } = preemptor.request;
  // Requests without whole accelerators, and gangs with task groups, are not consolidated: for task groups, the best
  // node for one group depends on the others.
  if (world.evictable.size === 0 || wholeNeeded(preemptor.request) === 0) return null;
  for (const type of acceptableTypes(world, preemptor.request)) {
    if (type.freeCount < workers * gang.accelerators || quotaReached(world, preemptor.request, type.type) !== null)
      continue;
    // The existence of a plan must not depend on time, or rounds would not come to rest. Eviction costs depend on time,
    // so attempts are first compared by their number of accelerators.
    const plan = yield migrationsOn(batch, preemptor, { type, costOf: acceleratorsOf });
    const costOf = (attempt: Attempt): number => evictionCost(world, attempt, batch.nowMs);
    if (plan !== null) return (yield migrationsOn(batch, preemptor, { type, costOf })) ?? plan;
  }
  return null;
}

const acceleratorsOf = ({ workers }: Attempt, { spec }: Workload): number =>
  acceleratorsIn(partsOf(spec.gang, workers));

interface DrainQuery {
  readonly type: TypeCapacity;
  /** Cost of migrating an attempt; the cheapest attempts are chosen. */
  readonly costOf: (attempt: Attempt, workload: Workload) => number;
}

function migrationsOn(
  batch: Batch,
  preemptor: QueueBucket,
  query: DrainQuery,
): Search<MigrationTry, PlacedAgain, Plan> {
  const { world } = batch;
  return {
    candidates: migrations(batch, preemptor, query),
    simulate: ({ migrating, keptFree }) => migrate(world, { preemptor, keptFree }, migrating),
    minimise: (found, { migrating, keptFree }) => ({
      preemptor,
      ...((keptFree === undefined ? fewerMigrating(world, preemptor, migrating, found) : null) ?? found),
    }),
  };
}

interface MigrationTry {
  readonly migrating: readonly Movable[];
  /** Nodes that migrating attempts must avoid. If absent, they may use any node. */
  readonly keptFree?: ReadonlySet<NodeId>;
}

/**
 * The migrations to try for each choice of nodes. First, migrating attempts may use any node. If that fails, they must
 * avoid the nodes that the preemptor needs. The second try requires that the policy keeps nominations, because nothing
 * else reserves these nodes.
 */
function* migrations(batch: Batch, preemptor: QueueBucket, query: DrainQuery): Generator<MigrationTry> {
  const { nominations } = batch.world.rules.eviction;
  for (const { migrating, on } of choices(batch, preemptor, query)) {
    yield { migrating };
    if (nominations === "kept") yield { migrating, keptFree: new Set(on.map(({ slot }) => slot.node.id)) };
  }
}

/**
 * Nodes of the type with idle capacity for a worker, and nodes that could be cleared. It is `null` if so many nodes
 * would have to be cleared that the allowed number of migrations cannot suffice.
 */
function areaOn(batch: Batch, preemptor: QueueBucket, { type, costOf }: DrainQuery): Area | null {
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
  const most = world.rules.eviction.migrationsMax ?? MIGRATIONS_MAX;
  // Each node to clear needs a victim, and a victim frees at most as many nodes as it has workers.
  if (missing > most && missing > most * widestOf(world)) return null;
  const list = drainCandidates(batch, gang.accelerators, { type, costOf });
  return { roomy, drainCandidates: passesAll(accepts) ? list : list.filter(({ slot }) => accepts(slot)) };
}

/** Attempts that would have to migrate in one topology domain. */
interface Choice {
  readonly migrating: readonly Movable[];
  readonly cost: number;
  /** Nodes that the request would be placed on, and further nodes with capacity for it. */
  readonly on: readonly { readonly slot: NodeSlot }[];
}

/**
 * The cheapest migrations for each topology domain that could hold the request, the cheapest domain first. The list is
 * empty if some domain has capacity already.
 */
function choices(batch: Batch, preemptor: QueueBucket, query: DrainQuery): readonly Choice[] {
  const { world } = batch;
  const area = areaOn(batch, preemptor, query);
  if (area === null) return [];
  const most = world.rules.eviction.migrationsMax ?? MIGRATIONS_MAX;
  const found: Choice[] = [];
  for (const part of areasFor(world, preemptor.request, antiAffinityFrom(world, preemptor, area))) {
    const chosen = chooseIn(world, preemptor, part);
    if (chosen === null) continue;
    // The domain has capacity, so something else blocks the request.
    if (chosen.length === 0) return [];
    const migrating = [
      ...new Map(chosen.flatMap((node) => node.migrating).map((each) => [each.attempt, each])).values(),
    ];
    const cost = migrating.reduce((sum, each) => sum + each.cost, 0);
    if (migrating.length <= most) found.push({ migrating, cost, on: [...part.roomy, ...chosen] });
  }
  return found
    .toSorted((left, right) => left.cost - right.cost || left.migrating.length - right.migrating.length)
    .slice(0, AREAS_SIMULATED_MAX);
}

/** The placement after the migrations, or `null` if some attempt cannot be placed elsewhere. */
function migrate(
  world: World,
  request: Parameters<typeof placeAgain>[1],
  migrating: readonly Movable[],
): PlacedAgain | null {
  const units = migrating.map(({ attempt, workload }): VictimUnit => ({
    attempt,
    workload,
    nomination: null,
    keeps: 0,
    upTo: attempt.workers.length,
  }));
  const found = placeAgain(world, request, units);
  return found !== null && found.lost.length === 0 ? found : null;
}

/**
 * The plan with fewer migrations: only attempts on nodes that the placement uses migrate. It is `null` if that changes
 * nothing. A cleared node may hold several workers, so other cleared nodes may not be needed.
 */
function fewerMigrating(
  world: World,
  preemptor: QueueBucket,
  migrating: readonly Movable[],
  found: PlacedAgain,
): PlacedAgain | null {
  const taken = new Set(found.placement.workers.map(({ node }) => node));
  const needed = migrating.filter(({ attempt }) => attempt.workers.some(({ node }) => taken.has(node)));
  return needed.length === 0 || needed.length === migrating.length ? null : migrate(world, { preemptor }, needed);
}

/** Work on one accelerator type that could migrate. Plans share these lists until the next event of the batch. */
interface Movables {
  /** Upper bound on the accelerators that evictable work would free on each node. */
  readonly evictable: ReadonlyMap<NodeId, number>;
  /** Work that could migrate from a node, by node. */
  readonly byNode: Map<NodeSlot, readonly Movable[]>;
  /** Nodes that could be cleared for one more worker, the cheapest first, by the worker's number of accelerators. */
  readonly drainCandidates: Map<number, readonly DrainArea[]>;
}

/** Requests of different sizes alternate in a round, so one list is kept for each size. */
interface KnownMovables {
  /** Number of events in the batch when the lists were built. */
  readonly eventCount: number;
  readonly byType: Map<TypeCapacity, Movables>;
}

const knownMovables = new Slot<KnownMovables>(() => ({ eventCount: 0, byType: new Map() }), { survivesUndo: false });

/**
 * The lists for an accelerator type. They are cached only if the cost is the number of accelerators. Eviction costs
 * depend on time, so lists by eviction cost serve one plan.
 */
function movablesFor(batch: Batch, { type, costOf }: DrainQuery): Movables {
  const eventCount = batch.events.length;
  let known = batch.scratch.get(knownMovables);
  if (known.eventCount !== eventCount) batch.scratch.set(knownMovables, (known = { eventCount, byType: new Map() }));
  const before = costOf === acceleratorsOf ? known.byType.get(type) : undefined;
  if (before !== undefined) return before;
  const evictable = evictableByNode(batch.world);
  const movables: Movables = { evictable, byNode: new Map(), drainCandidates: new Map() };
  if (costOf === acceleratorsOf) known.byType.set(type, movables);
  return movables;
}

function drainCandidates(batch: Batch, accelerators: number, query: DrainQuery): readonly DrainArea[] {
  const { evictable, byNode, drainCandidates: lists } = movablesFor(batch, query);
  const known = lists.get(accelerators);
  if (known !== undefined) return known;
  const { capacity } = batch.world;
  const movable = (slot: NodeSlot): readonly Movable[] => {
    let found = byNode.get(slot);
    if (found === undefined) byNode.set(slot, (found = movableOn(batch, slot, query.costOf)));
    return found;
  };
  const list: DrainArea[] = [];
  for (const [node, count] of evictable) {
    const slot = capacity.slot(node);
    if (slot.node.acceleratorType !== query.type.type || !mayBeCleared(accelerators, slot, count)) continue;
    const candidate = drainCandidate(accelerators, slot, movable(slot));
    if (candidate !== null) list.push(candidate);
  }
  list.sort((left, right) => left.cost - right.cost || left.slot.position - right.slot.position);
  lists.set(accelerators, list);
  return list;
}

function evictableByNode({ evictable }: World): ReadonlyMap<NodeId, number> {
  const sums = new Map<NodeId, number>();
  for (const { always } of evictable.values())
    for (const [node, count] of always.byNode) sums.set(node, (sums.get(node) ?? 0) + count);
  return sums;
}

/** Returns whether one more worker does not fit on the node now, but would fit if evictable work migrated away. */
const mayBeCleared = (accelerators: number, { usable, totalCount, freeCount }: NodeSlot, evictable: number): boolean =>
  freeCount < accelerators && freeCount + evictable >= accelerators && totalCount >= accelerators && usable;

/** Number of workers of the largest evictable gang. */
function widestOf({ evictable }: World): number {
  let widest = 0;
  for (const { always } of evictable.values())
    for (const { workers } of always.attempts) widest = Math.max(widest, workers.length);
  return widest;
}

/**
 * The cheapest attempts that must migrate so that one more worker fits on the node. It is `null` if that is not
 * possible.
 */
function drainCandidate(accelerators: number, slot: NodeSlot, movable: readonly Movable[]): DrainArea | null {
  const missing = accelerators - slot.freeCount;
  const migrating: Movable[] = [];
  let freed = 0;
  let cost = 0;
  for (const each of movable) {
    if (freed >= missing) break;
    migrating.push(each);
    freed += each.count;
    cost += each.cost;
  }
  return freed >= missing ? { slot, migrating, cost } : null;
}

function movableOn(batch: Batch, slot: NodeSlot, costOf: DrainQuery["costOf"]): Movable[] {
  const { world } = batch;
  const found: Movable[] = [];
  // Called for every node with evictable work, so it allocates only what it returns.
  for (const id of slot.attempts.keys()) {
    const attempt = world.state.attempts.get(id);
    if (attempt === undefined || !isEvictable(batch, attempt)) continue;
    const workload = workloadOf(world, attempt.workloadId);
    const lossMs = evictionLoss(world, attempt, batch.nowMs) / Math.max(1, acceleratorsOf(attempt, workload));
    if (lossMs > MIGRATION_LOSS_MS_MAX) continue;
    const here = attempt.workers.filter(({ node }) => node === slot.node.id);
    const count = acceleratorsIn(partsOf(workload.spec.gang, here));
    found.push({ attempt, workload, count, cost: costOf(attempt, workload) });
  }
  return found.sort(
    (left, right) => left.cost - right.cost || left.attempt.placedSequence - right.attempt.placedSequence,
  );
}
