/**
 * KAI-Scheduler's search for victims. A list of units grows by one unit at a time, in the reverse of queue order.
 * First, the search tries the units of the list on a node of the newest unit. Then it tries the units on the smallest
 * set of nodes that could suffice, and on more and more nodes. Each simulation places the preemptor and the victims
 * again (`preemption/place-again.ts`).
 */
import { milliIn, isPreemptible } from "@headroom/model";
import type { EvictionReason, Attempt, Nomination, Workload } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import { PlacementRequest } from "../../cluster/placement-request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";
import { teamSharesOf } from "../../ordering/team-share.ts";
import type { TeamShares } from "../../ordering/team-share.ts";
import { headOrder } from "../../cluster/head-order.ts";
import { comparesRequests } from "../../ordering/team-comparison.ts";
import { amountAsked, isInGroups, partsAsked, quotaReached } from "../../cluster/request.ts";
import { acceptsLosses, mayReclaim } from "./share-check.ts";
import { placeAgain } from "../../preemption/place-again.ts";
import type { PlacedAgain, Turns } from "../../preemption/place-again.ts";
import { partsOfUnit } from "../../preemption/plan.ts";
import type { VictimUnit } from "../../preemption/plan.ts";
import type { PreemptionStrategy, Search } from "../../preemption/strategy.ts";
import type { WorkloadEntity } from "../../state/state.ts";
import { isEvictable, mayPreempt } from "../../preemption/eligibility.ts";
import { VictimOrder } from "./victim-order.ts";
import type { Donor } from "./victim-order.ts";
import { workloadOf } from "../../cluster/entities.ts";
import { classesInLine } from "../../placement/classes-in-line.ts";

export interface KaiSearch {
  readonly batch: Batch;
  readonly preemptor: QueueBucket;
  readonly reason: EvictionReason;
  readonly teamShares: TeamShares;
  readonly donors: readonly Donor[];
  /**
   * All other waiting requests, one list for each team with the best request first. It is empty if the policy's order
   * of teams does not depend on their requests.
   */
  readonly inLine: readonly (readonly QueueBucket[])[];
}

export const kai: PreemptionStrategy<PlacedAgain> = {
  preemptsByPriority: true,
  isEligible: ({ world }, preemptor, reason) =>
    reason !== "reclaimed" || mayReclaim(world, teamSharesOf(world), preemptor.request),

  *plan(batch, preemptor, reason) {
    const { world } = batch;
    if (reason === "migrated" && !(preemptor.request.isPreemptible && idleSuffices(batch, preemptor))) return null;
    const donors = donorsFor(batch, preemptor, reason);
    if (donors.length === 0 || isHopeless(batch, preemptor)) return null;
    const teamShares = teamSharesOf(world);
    const search: KaiSearch = { batch, preemptor, reason, teamShares, donors, inLine: inLineWith(world, preemptor) };
    let base: readonly VictimUnit[] = [];
    let found: PlacedAgain | null = null;
    // Task groups start together, so there is no useful step with only a part of their workers.
    for (const workers of isInGroups(preemptor.request)
      ? [preemptor.request.workers]
      : growingCounts(preemptor.request.workers)) {
      found = yield stepOf(search, { workers, base });
      if (found === null) return null;
      base = found.units;
    }
    return found === null ? null : { preemptor, ...found };
  },
};

function inLineWith(world: World, preemptor: QueueBucket): KaiSearch["inLine"] {
  if (!comparesRequests(world.rules.teams.order)) return [];
  const others = classesInLine(world).filter((bucket) => bucket !== preemptor);
  const byTeam = Map.groupBy(others, ({ request }) => request.team);
  const compareHeads = headOrder(world);
  return [...byTeam.values()].map((classes) => classes.toSorted(compareHeads));
}

/** Returns whether no victim can help, because the request must stay within a guarantee that is used up. */
function isHopeless({ world }: Batch, preemptor: QueueBucket): boolean {
  if (preemptor.request.isPreemptible || world.rules.teams.nonPreemptible === "limit") return false;
  const amount = amountAsked(world, preemptor.request, "");
  return (
    world.teamUse.guaranteePassed(preemptor.request.team, amount) !== null &&
    quotaReached(world, preemptor.request, "") !== null
  );
}

function* growingCounts(workers: number): Generator<number> {
  for (let count = 1; count < workers; count *= 2) yield count;
  yield workers;
}

/**
 * Returns whether the idle capacity of the fleet is as large as the request in total, including idle fractions of
 * shared accelerators.
 */
function idleSuffices({ world }: Batch, preemptor: QueueBucket): boolean {
  let idle = 0;
  for (const { slots } of world.capacity.allTypes) {
    for (const slot of slots) {
      if (!slot.usable) continue;
      for (let index = 0; index < slot.totalCount; index++) idle += Math.max(0, slot.left(index, "idle"));
    }
  }
  return idle >= milliIn(partsAsked(world, preemptor.request));
}

function donorsFor(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): Donor[] {
  const { world } = batch;
  const head = preemptor.waiting.first() as Workload;
  const mayBeDonor = (workload: Workload): boolean => {
    if (workload === head || !isPreemptible(world.rules, workload.spec)) return false;
    if (reason === "migrated") return true;
    return reason === "preempted" ? mayPreempt(head, workload) : workload.spec.team !== preemptor.request.team;
  };
  const running = [...world.state.attempts.values()].filter(
    (attempt) => isEvictable(batch, attempt) && mayBeDonor(workloadOf(world, attempt.workloadId)),
  );
  const nominated = [...world.state.nominations.values()].filter(
    ({ growth, workloadId }) => !growth && mayBeDonor(workloadOf(world, workloadId)),
  );
  return [
    ...running.map((attempt): Donor => ({ attempt, nomination: null })),
    ...nominated.map((nomination): Donor => ({ attempt: asAttempt(nomination), nomination })),
  ];
}

/** A nominated request in the form of the attempt that it will become. */
const asAttempt = ({
  attemptId: id,
  workloadId,
  task,
  number,
  acceleratorType,
  workers,
  atMs,
}: Nomination): Attempt => ({
  id,
  workloadId,
  task,
  number,
  phase: "launching",
  acceleratorType,
  workers,
  placedSequence: 0,
  placedAtMs: atMs,
  startedAtMs: null,
  stop: null,
  progress: null,
});

interface ListStep {
  readonly workers: number;
  /** Victims found for the smaller request of the previous step. */
  readonly base: readonly VictimUnit[];
}

/**
 * One step of the search, for the first `workers` workers of the preemptor. Units that get their places back are no
 * victims, so nothing remains to be minimised.
 */
const stepOf = (search: KaiSearch, step: ListStep): Search<readonly VictimUnit[], PlacedAgain, PlacedAgain> => ({
  candidates: candidatesFor(search, step),
  simulate: (units) => simulateStep(search, step, units),
  minimise: (found) => found,
});

function* candidatesFor(search: KaiSearch, step: ListStep): Generator<readonly VictimUnit[]> {
  yield* nearbyUnits(search);
  yield* unitsByNode(search, step);
}

/** Lists of victims that grow by one unit, the newest last. */
function* lists({ batch, teamShares, donors }: KaiSearch): Generator<readonly VictimUnit[]> {
  const order = new VictimOrder(batch.world, teamShares, donors);
  const list: VictimUnit[] = [];
  for (let unit = order.next(); unit !== null; unit = order.next()) {
    list.push(unit);
    yield list;
  }
}

const nodesOf = ({ attempt, keeps, upTo }: VictimUnit): readonly string[] => [
  ...new Set(attempt.workers.slice(keeps, upTo).map(({ node }) => String(node))),
];
const byName = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

/** For each list, the units that share a node with its newest unit, one node at a time. */
function* nearbyUnits(search: KaiSearch): Generator<readonly VictimUnit[]> {
  for (const list of lists(search))
    for (const node of nodesOf(list.at(-1) as VictimUnit).toSorted(byName))
      yield list.filter((unit) => nodesOf(unit).includes(node));
}

/** For each list, the units on the smallest set of nodes that could cover the request, then on more and more nodes. */
function* unitsByNode(search: KaiSearch, step: ListStep): Generator<readonly VictimUnit[]> {
  const { world } = search.batch;
  for (const list of lists(search)) {
    const slots = [...new Set(list.flatMap(nodesOf))]
      .map((name) => world.capacity.slot(name as never))
      .toSorted((left, right) => left.totalCount - right.totalCount || byName(left.node.id, right.node.id));
    for (let count = 1; count <= slots.length; count++) {
      const chosen = new Set(slots.slice(0, count).map(({ node }) => String(node.id)));
      const among = list.filter((unit) => nodesOf(unit).some((node) => chosen.has(node)));
      if (couldCover(search, step, among) || count === slots.length) yield among;
    }
  }
}

/** Returns whether the free capacity of the nodes and the capacity of the victims add up to the request. */
function couldCover({ preemptor, batch }: KaiSearch, { workers }: ListStep, units: readonly VictimUnit[]): boolean {
  const { gang } = preemptor.request;
  const asked = isInGroups(preemptor.request) ? partsAsked(batch.world, preemptor.request) : [{ shape: gang, workers }];
  const needed = milliIn(asked);
  const nodes = new Set(units.flatMap(nodesOf));
  let room = 0;
  for (const node of nodes) room += batch.world.capacity.slot(node as never).freeCount * 1000;
  for (const unit of units) room += milliIn(partsOfUnit(unit));
  return room >= needed;
}

function simulateStep(
  search: KaiSearch,
  { workers, base }: ListStep,
  units: readonly VictimUnit[],
): PlacedAgain | null {
  const { world } = search.batch;
  const all = [...base, ...units.filter((unit) => !base.some((known) => isSame(known, unit)))];
  const preemptor =
    workers === search.preemptor.request.workers ? search.preemptor : part(world, search.preemptor, workers);
  const found = placeAgain(world, { preemptor, turns: new InLine(search.inLine) }, all);
  if (found === null) return null;
  if (search.reason === "migrated") return found.lost.length === 0 ? found : null;
  return search.reason === "reclaimed" && !acceptsLosses(search, found) ? null : found;
}

/** The same request with fewer workers, for an earlier step of the search. */
function part({ queue, rules }: World, { request, waiting }: QueueBucket, workers: number): QueueBucket {
  const workload = waiting.first() as WorkloadEntity;
  const { isGrowth, grows, group } = request;
  const fewer = isGrowth
    ? PlacementRequest.of(workload, { rules, growth: workers, grows, group })
    : PlacementRequest.of(workload, { rules }).with({ workers });
  return queue.single(fewer, workload);
}

const isSame = (left: VictimUnit, right: VictimUnit): boolean =>
  left.attempt === right.attempt && left.keeps === right.keeps && left.upTo === right.upTo;

/**
 * The waiting requests in queue order. Only the best request of each team is listed, and the next one follows when it
 * was taken. This saves time, because most requests are never reached.
 */
class InLine implements Turns {
  readonly first: readonly QueueBucket[];
  readonly #rest = new Map<QueueBucket, Iterator<QueueBucket, undefined>>();

  constructor(byTeam: KaiSearch["inLine"]) {
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

  after(bucket: QueueBucket): QueueBucket | undefined {
    return this.#next(this.#rest.get(bucket) as Iterator<QueueBucket, undefined>);
  }
}
