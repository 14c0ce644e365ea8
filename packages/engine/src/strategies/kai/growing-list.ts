/**
 * A list of victims grows by one unit at a time in the reverse order of serving. Each list is tried: its victims leave, then the
 * beneficiary and they are placed again in the order of serving; whoever gets its node back stays, whoever gets another
 * moves, the rest is evicted. First the listed work near the newest victim alone is tried, and if that never holds, the
 * listed work of few nodes and then of more.
 */
import type { Batch } from "../../batch/batch.ts";
import type { EvictionReason, Attempt, Nomination, Workload } from "../../model/workload.ts";
import { isPreemptible } from "../../policy/preemptible.ts";
import { milliIn } from "../../cluster/node-slot.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";
import { teamSharesOf } from "../../ordering/team-share.ts";
import type { TeamShares } from "../../ordering/team-share.ts";
import { headOrder } from "../../cluster/head-order.ts";
import { comparesRequests } from "../../ordering/team-comparison.ts";
import { amountAsked, isInGroups, partsAsked, quotaReached } from "../../cluster/request.ts";
import { acceptsLosses, mayReclaim } from "./share-check.ts";
import type { Plan } from "../../preemption/plan.ts";
import { replace } from "../../preemption/replace.ts";
import type { Replaced } from "../../preemption/replace.ts";
import { isEvictable, mayPreempt } from "../../preemption/eligibility.ts";
import { VictimOrder, partsOfUnit } from "../../preemption/victim-order.ts";
import type { Donor, VictimUnit } from "../../preemption/victim-order.ts";
import { workloadOf } from "../../cluster/entities.ts";
import { classesInLine } from "../../placement/classes-in-line.ts";

export interface GrowingSearch {
  readonly batch: Batch;
  readonly preemptor: QueueBucket;
  readonly reason: EvictionReason;
  readonly teamShares: TeamShares;
  readonly donors: readonly Donor[];
  /**
   * Everybody else who waits, by team and best first, where teams are seen with their best request: nobody of them is placed,
   * but each holds its turn.
   */
  readonly inLine: readonly (readonly QueueBucket[])[];
}

export function findByGrowingList(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): Plan | null {
  const { world } = batch;
  const teamShares = teamSharesOf(world);
  if (reason === "reclaimed" && !mayReclaim(world, teamShares, preemptor.request)) return null;
  if (reason === "moved" && !(preemptor.request.isPreemptible && idleSuffices(batch, preemptor))) return null;
  const donors = donorsFor(batch, preemptor, reason);
  if (donors.length === 0 || isHopeless(batch, preemptor)) return null;
  const search: GrowingSearch = {
    batch,
    preemptor,
    reason,
    teamShares,
    donors,
    inLine: inLineWith(world, preemptor),
  };
  let base: readonly VictimUnit[] = [];
  let found: Replaced | null = null;
  // A part of each group is no step on the way to all of them.
  for (const workers of isInGroups(preemptor.request)
    ? [preemptor.request.workers]
    : growingCounts(preemptor.request.workers)) {
    found = solve(search, { workers, base });
    if (found === null) return null;
    base = found.units;
  }
  return found === null ? null : { preemptor, ...found };
}

function inLineWith(world: World, preemptor: QueueBucket): GrowingSearch["inLine"] {
  if (!comparesRequests(world.rules.teams.order)) return [];
  const others = classesInLine(world).filter((found) => found !== preemptor);
  const byTeam = Map.groupBy(others, ({ request }) => request.team);
  const compareHeads = headOrder(world);
  return [...byTeam.values()].map((classes) => classes.toSorted(compareHeads));
}

/** What no victim can change: the quotas of work that must stay within its guarantee. */
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

/** Whether the fleet has as much idle in sum, parts of shared accelerators included. */
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
  const hasRight = (workload: Workload): boolean => {
    if (workload === head || !isPreemptible(world.rules, workload.spec)) return false;
    if (reason === "moved") return true;
    return reason === "preempted" ? mayPreempt(head, workload) : workload.spec.team !== preemptor.request.team;
  };
  const running = [...world.state.attempts.values()].filter(
    (attempt) => isEvictable(batch, attempt) && hasRight(workloadOf(world, attempt.workloadId)),
  );
  const nominated = [...world.state.nominations.values()].filter(
    ({ growth, workloadId }) => !growth && hasRight(workloadOf(world, workloadId)),
  );
  return [
    ...running.map((attempt): Donor => ({ attempt, nomination: null })),
    ...nominated.map((nomination): Donor => ({ attempt: asAttempt(nomination), nomination })),
  ];
}

/** Whoever was promised a place, as it will run there. */
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
  /** Victims of the smaller request that was solved before. */
  readonly base: readonly VictimUnit[];
}

function solve(search: GrowingSearch, step: ListStep): Replaced | null {
  return solveNearby(search, step) ?? solveByNodes(search, step);
}

/** Lists as they grow, the newest unit last. */
function* lists({ batch, teamShares, donors }: GrowingSearch): Generator<readonly VictimUnit[]> {
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

/** Of each list, the work that touches one node of its newest victim. */
function solveNearby(search: GrowingSearch, step: ListStep): Replaced | null {
  for (const list of lists(search)) {
    for (const node of nodesOf(list.at(-1) as VictimUnit).toSorted(byName)) {
      const near = list.filter((unit) => nodesOf(unit).includes(node));
      const found = attempt(search, step, near);
      if (found !== null) return found;
    }
  }
  return null;
}

/** Of each list, the work on the smallest nodes that could cover the request, then on more and more of its nodes. */
function solveByNodes(search: GrowingSearch, step: ListStep): Replaced | null {
  const { world } = search.batch;
  for (const list of lists(search)) {
    const slots = [...new Set(list.flatMap(nodesOf))]
      .map((name) => world.capacity.slot(name as never))
      .toSorted((left, right) => left.totalCount - right.totalCount || byName(left.node.id, right.node.id));
    for (let count = 1; count <= slots.length; count++) {
      const chosen = new Set(slots.slice(0, count).map(({ node }) => String(node.id)));
      const among = list.filter((unit) => nodesOf(unit).some((node) => chosen.has(node)));
      if (!couldCover(search, step, among) && count < slots.length) continue;
      const found = attempt(search, step, among);
      if (found !== null) return found;
    }
  }
  return null;
}

/** Whether what is free on the nodes and what would be given up add up to the request. */
function couldCover({ preemptor, batch }: GrowingSearch, { workers }: ListStep, units: readonly VictimUnit[]): boolean {
  const { gang } = preemptor.request;
  const asked = isInGroups(preemptor.request) ? partsAsked(batch.world, preemptor.request) : [{ shape: gang, workers }];
  const needed = milliIn(asked);
  const nodes = new Set(units.flatMap(nodesOf));
  let room = 0;
  for (const node of nodes) room += batch.world.capacity.slot(node as never).freeCount * 1000;
  for (const unit of units) room += milliIn(partsOfUnit(unit));
  return room >= needed;
}

function attempt(search: GrowingSearch, { workers, base }: ListStep, units: readonly VictimUnit[]): Replaced | null {
  const all = [...base, ...units.filter((unit) => !base.some((known) => isSame(known, unit)))];
  const found = replace(search, workers, all);
  if (found === null) return null;
  if (search.reason === "moved") return found.lost.length === 0 ? found : null;
  return search.reason === "reclaimed" && !acceptsLosses(search, found) ? null : found;
}

const isSame = (left: VictimUnit, right: VictimUnit): boolean =>
  left.attempt === right.attempt && left.keeps === right.keeps && left.upTo === right.upTo;
