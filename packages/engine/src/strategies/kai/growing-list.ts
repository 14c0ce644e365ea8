/**
 * A list of victims grows by one unit at a time in the reverse order of serving. Each list is tried: its victims leave, then the
 * beneficiary and they are placed again in the order of serving; whoever gets its node back stays, whoever gets another
 * moves, the rest is evicted. First the listed work near the newest victim alone is tried, and if that never holds, the
 * listed work of few nodes and then of more.
 */
import type { Batch } from "../../batch/batch.ts";
import type { EvictionReason, Attempt, PromisedPlace, Workload } from "../../model/workload.ts";
import { isPreemptible } from "../../policy/preemptible.ts";
import { milliIn } from "../../cluster/node-slot.ts";
import type { PlacementClass } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";
import { standingsOf } from "../../ordering/standing.ts";
import type { Standings } from "../../ordering/standing.ts";
import { headOrder } from "../../cluster/head-order.ts";
import { comparesRequests } from "../../ordering/team-comparison.ts";
import { amountAsked, isInGroups, partsAsked, quotaReached } from "../../cluster/request.ts";
import { acceptsLosses, mayReclaim } from "./share-check.ts";
import type { Plan } from "../../preemption/plan.ts";
import { replace } from "../../preemption/replace.ts";
import type { Replaced } from "../../preemption/replace.ts";
import { isEvictable, mayPreempt } from "../../preemption/rights.ts";
import { VictimOrder, partsOfUnit } from "../../preemption/victim-order.ts";
import type { Giver, VictimUnit } from "../../preemption/victim-order.ts";
import { workloadOf } from "../../cluster/entities.ts";
import { classesInLine } from "../../placement/classes-in-line.ts";

export interface GrowingSearch {
  readonly batch: Batch;
  readonly beneficiary: PlacementClass;
  readonly reason: EvictionReason;
  readonly standings: Standings;
  readonly givers: readonly Giver[];
  /**
   * Everybody else who waits, by team and best first, where teams are seen with their best request: nobody of them is placed,
   * but each holds its turn.
   */
  readonly inLine: readonly (readonly PlacementClass[])[];
}

export function findByGrowingList(batch: Batch, beneficiary: PlacementClass, reason: EvictionReason): Plan | null {
  const { world } = batch;
  const standings = standingsOf(world);
  if (reason === "reclaimed" && !mayReclaim(world, standings, beneficiary)) return null;
  if (reason === "moved" && !(beneficiary.isPreemptible && idleSuffices(batch, beneficiary))) return null;
  const givers = giversFor(batch, beneficiary, reason);
  if (givers.length === 0 || isHopeless(batch, beneficiary)) return null;
  const search: GrowingSearch = {
    batch,
    beneficiary,
    reason,
    standings,
    givers,
    inLine: inLineWith(world, beneficiary),
  };
  let base: readonly VictimUnit[] = [];
  let found: Replaced | null = null;
  // A part of each group is no step on the way to all of them.
  for (const workers of isInGroups(beneficiary) ? [beneficiary.workers] : growingCounts(beneficiary.workers)) {
    found = solve(search, { workers, base });
    if (found === null) return null;
    base = found.units;
  }
  return found === null ? null : { beneficiary, ...found };
}

function inLineWith(world: World, beneficiary: PlacementClass): GrowingSearch["inLine"] {
  if (!comparesRequests(world.rules.teams.order)) return [];
  const others = classesInLine(world).filter((found) => found !== beneficiary);
  const byTeam = Map.groupBy(others, ({ team }) => team);
  const compareHeads = headOrder(world);
  return [...byTeam.values()].map((classes) => classes.toSorted(compareHeads));
}

/** What no victim can change: the quotas of work that must stay within its guarantee. */
function isHopeless({ world }: Batch, beneficiary: PlacementClass): boolean {
  if (beneficiary.isPreemptible || world.rules.teams.nonPreemptible === "limit") return false;
  const amount = amountAsked(world, beneficiary, "");
  return (
    world.teamUse.guaranteePassed(beneficiary.team, amount) !== null && quotaReached(world, beneficiary, "") !== null
  );
}

function* growingCounts(workers: number): Generator<number> {
  for (let count = 1; count < workers; count *= 2) yield count;
  yield workers;
}

/** Whether the fleet has as much idle in sum, parts of shared accelerators included. */
function idleSuffices({ world }: Batch, beneficiary: PlacementClass): boolean {
  let idle = 0;
  for (const { slots } of world.capacity.allTypes) {
    for (const slot of slots) {
      if (!slot.usable) continue;
      for (let index = 0; index < slot.totalCount; index++) idle += Math.max(0, slot.left(index, "idle"));
    }
  }
  return idle >= milliIn(partsAsked(world, beneficiary));
}

function giversFor(batch: Batch, beneficiary: PlacementClass, reason: EvictionReason): Giver[] {
  const { world } = batch;
  const head = beneficiary.waiting.first() as Workload;
  const hasRight = (workload: Workload): boolean => {
    if (workload === head || !isPreemptible(world.rules, workload.spec)) return false;
    if (reason === "moved") return true;
    return reason === "preempted" ? mayPreempt(beneficiary, head, workload) : workload.spec.team !== beneficiary.team;
  };
  const running = [...world.state.attempts.values()].filter(
    (attempt) => isEvictable(batch, attempt) && hasRight(workloadOf(world, attempt.workloadId)),
  );
  const promised = [...world.state.promises.values()].filter(
    ({ growth, workloadId }) => !growth && hasRight(workloadOf(world, workloadId)),
  );
  return [
    ...running.map((attempt): Giver => ({ attempt, promise: null })),
    ...promised.map((promise): Giver => ({ attempt: asAttempt(promise), promise })),
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
}: PromisedPlace): Attempt => ({
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

interface Step {
  readonly workers: number;
  /** Victims of the smaller request that was solved before. */
  readonly base: readonly VictimUnit[];
}

function solve(search: GrowingSearch, step: Step): Replaced | null {
  return solveNearby(search, step) ?? solveByNodes(search, step);
}

/** Lists as they grow, the newest unit last. */
function* lists({ batch, standings, givers }: GrowingSearch): Generator<readonly VictimUnit[]> {
  const order = new VictimOrder(batch.world, standings, givers);
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
function solveNearby(search: GrowingSearch, step: Step): Replaced | null {
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
function solveByNodes(search: GrowingSearch, step: Step): Replaced | null {
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
function couldCover({ beneficiary, batch }: GrowingSearch, { workers }: Step, units: readonly VictimUnit[]): boolean {
  const { gang } = beneficiary;
  const asked = isInGroups(beneficiary) ? partsAsked(batch.world, beneficiary) : [{ shape: gang, workers }];
  const needed = milliIn(asked);
  const nodes = new Set(units.flatMap(nodesOf));
  let room = 0;
  for (const node of nodes) room += batch.world.capacity.slot(node as never).freeCount * 1000;
  for (const unit of units) room += milliIn(partsOfUnit(unit));
  return room >= needed;
}

function attempt(search: GrowingSearch, { workers, base }: Step, units: readonly VictimUnit[]): Replaced | null {
  const all = [...base, ...units.filter((unit) => !base.some((known) => isSame(known, unit)))];
  const found = replace(search, workers, all);
  if (found === null) return null;
  if (search.reason === "moved") return found.lost.length === 0 ? found : null;
  return search.reason === "reclaimed" && !acceptsLosses(search, found) ? null : found;
}

const isSame = (left: VictimUnit, right: VictimUnit): boolean =>
  left.attempt === right.attempt && left.keeps === right.keeps && left.upTo === right.upTo;
