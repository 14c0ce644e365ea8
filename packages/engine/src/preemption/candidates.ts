/**
 * Lists the victim candidates of a preemptor in the order of eviction: first the workers beyond the minimum of elastic
 * gangs, then the cheapest work.
 */
import { throughputMilli, withoutLast, minWorkersOf, isSameList, preemptibilityOf } from "@headroom/model";
import type {
  Event,
  AttemptId,
  NodeId,
  TeamName,
  Attempt,
  EvictionReason,
  GangSpec,
  WorkerAllocation,
  Workload,
} from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { activeAttempt, workloadOf } from "../cluster/entities.ts";
import { canResize } from "../cluster/holdings.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import { acceptableTypes } from "../cluster/request.ts";
import { evictionCost } from "./cost.ts";
import { groundOf, isEvictable, isOnAny, mayPreempt } from "./eligibility.ts";
import type { Ground } from "./eligibility.ts";
import type { VictimUnit } from "./plan.ts";

export interface VictimCandidate extends VictimUnit {
  /** Eviction cost in accelerator-milliseconds (`cost.ts`). */
  readonly cost: number;
  /**
   * Throughput that the gang loses for each evicted worker, by its throughput curve. The unit is a thousandth of the
   * throughput of one worker. It is 0 if the policy does not compare throughput.
   */
  readonly slowerMilli: number;
  /**
   * 1 for work that only a team's guarantee can reclaim (`preemptible: aboveGuarantee`). Such work is evicted last. 0
   * for other work.
   */
  readonly guarded: 0 | 1;
}

interface VictimQuery {
  readonly preemptor: QueueBucket;
  readonly reason: EvictionReason;
  /** Teams whose work may be preempted. */
  readonly donors: readonly TeamName[];
}

/** Properties of a preemptor that determine its victim candidates. Preemptors with equal properties share one list. */
interface VictimGroup {
  readonly reason: EvictionReason;
  readonly ground: Ground;
  readonly teams: readonly TeamName[];
  readonly types: readonly string[];
  /** The priority of the preemptor: a preemption only evicts work of lower priority. 0 for a reclaim. */
  readonly priority: number;
}

/**
 * Evictable work that the preemptor may be allowed to evict: first workers beyond the minimum of elastic gangs, one by
 * one, then whole gangs.
 */
export function victimCandidatesFor(batch: Batch, asked: VictimQuery): VictimCandidates {
  const { world, events } = batch;
  const group = groupOf(world, asked);
  const known = batch.scratch.get(lastVictimCandidates);
  if (known !== null && isSameGroup(known.group, group) && known.goOn(world, events)) return known;
  const found = new VictimCandidates(group, gather(batch, asked, group), events.length);
  batch.scratch.set(lastVictimCandidates, found);
  return found;
}

/** The list that was built last in the batch. */
const lastVictimCandidates = new Slot<VictimCandidates | null>(() => null, { survivesUndo: false });

const groupOf = (world: World, { preemptor, reason, donors }: VictimQuery): VictimGroup => ({
  reason,
  ground: groundOf(world, preemptor, reason),
  teams: donors,
  types: acceptableTypes(world, preemptor.request).map(({ type }) => type),
  priority: reason === "preempted" ? (preemptor.waiting.first() as Workload).spec.priority : 0,
});

const isSameGroup = (left: VictimGroup, right: VictimGroup): boolean =>
  left.reason === right.reason &&
  left.ground === right.ground &&
  left.priority === right.priority &&
  isSameList(left.teams, right.teams) &&
  isSameList(left.types, right.types);

interface Units {
  /** Workers beyond the minimum of elastic gangs, one by one. */
  readonly sparable: VictimCandidate[];
  readonly whole: VictimCandidate[];
}

function gather(batch: Batch, { preemptor, reason }: VictimQuery, group: VictimGroup): Units {
  const { world } = batch;
  const head = preemptor.waiting.first() as Workload;
  const types = new Set(group.types);
  const sparable: VictimCandidate[] = [];
  const whole: VictimCandidate[] = [];
  for (const team of group.teams) {
    const work = world.evictable.get(team)?.for(group.ground) ?? [];
    for (const attempt of work.flatMap(({ attempts }) => [...attempts])) {
      if (!isEvictable(batch, attempt, group.ground) || !isOnAny(world, attempt, types)) continue;
      const workload = workloadOf(world, attempt.workloadId);
      if (reason === "preempted" && !mayPreempt(head, workload)) continue;
      const core = coreOf(batch, workload, attempt);
      sparable.push(
        ...sparableOf(batch, { attempt, workload, nomination: null, keeps: core, upTo: attempt.workers.length }),
      );
      whole.push({ ...wholeOf(batch, workload, attempt), upTo: core });
    }
  }
  return { sparable: sparable.sort(steadily), whole: whole.sort(steadily) };
}

/**
 * Added to the eviction cost of work that only a guarantee can reclaim. It is larger than any real cost, so such work
 * also comes last where whole nodes are compared by cost.
 */
const GUARDED_COST = 2 ** 44;

/** 1 if only a team's guarantee can reclaim the work; 0 if any entitled request can. */
const guardedOf = ({ rules }: World, { spec }: Workload): 0 | 1 =>
  preemptibilityOf(rules, spec) === "aboveGuarantee" ? 1 : 0;

/** The candidate that evicts all workers of an attempt. */
export function wholeOf({ world, nowMs }: Batch, workload: Workload, attempt: Attempt): VictimCandidate {
  const guarded = guardedOf(world, workload);
  const cost = evictionCost(world, attempt, nowMs) + guarded * GUARDED_COST;
  return { attempt, workload, nomination: null, keeps: 0, upTo: attempt.workers.length, cost, slowerMilli: 0, guarded };
}

/**
 * Victim candidates, cached for the next plans of the batch, because building the list for each plan took most of the
 * round. The events of a plan only remove its victims from the list. Any other event makes the list invalid.
 */
export class VictimCandidates {
  readonly group: VictimGroup;
  /** All candidates in an order that is independent of time. */
  readonly steady: readonly VictimCandidate[];
  /** All candidates, whole gangs ordered by eviction cost. The same array as `steady` if the order is the same. */
  readonly cheapest: readonly VictimCandidate[];
  /** Accelerators that all candidates together would free, by node. */
  readonly givenBy: Map<NodeId, number> = new Map();
  readonly #isElastic: boolean;
  /** Number of the batch's events that the list already reflects. */
  #eventCount: number;

  constructor(group: VictimGroup, { sparable, whole }: Units, eventCount: number) {
    this.group = group;
    this.#isElastic = sparable.length > 0;
    this.#eventCount = eventCount;
    this.steady = [...sparable, ...whole];
    const cheapest = [...sparable, ...whole.toSorted(byCost)];
    this.cheapest = isSameList(this.steady, cheapest) ? this.steady : cheapest;
    for (const { attempt, workload, keeps, upTo } of this.steady)
      this.#give(attempt.workers.slice(keeps, upTo), workload.spec.gang.accelerators);
  }

  #give(workers: readonly WorkerAllocation[], accelerators: number): void {
    for (const { node } of workers) this.givenBy.set(node, (this.givenBy.get(node) ?? 0) + accelerators);
  }

  /**
   * Applies the events since the last use. Returns false if the list is out of date, because an event did more than
   * evict work.
   */
  goOn(world: World, events: readonly Event[]): boolean {
    for (let index = this.#eventCount; index < events.length; index++) {
      const event = events[index] as Event;
      switch (event.kind) {
        case "attemptStopRequested":
        case "gangShrinkRequested":
          this.#remove(world, event.attemptId);
          break;
        case "evictionPlanned":
        case "checkpointRequested":
        case "placementNominated":
        case "nominationWithdrawn":
        case "opportunisticJobRelabelled":
          break;
        default:
          return false;
      }
    }
    this.#eventCount = events.length;
    return true;
  }

  #remove(world: World, id: AttemptId): void {
    const attempt = activeAttempt(world, id);
    if (attempt === undefined || !this.#removeFrom(this.steady, attempt)) return;
    if (this.cheapest !== this.steady) this.#removeFrom(this.cheapest, attempt);
    const { accelerators } = workloadOf(world, attempt.workloadId).spec.gang;
    this.#give(attempt.workers, -accelerators);
    this.#give(attempt.terminating ?? [], -accelerators);
  }

  /**
   * Removes an attempt, and returns whether it was in the list. The search from the front is short, because plans take
   * their victims from the front.
   */
  #removeFrom(list: readonly VictimCandidate[], attempt: Attempt): boolean {
    let found = false;
    for (let at = 0; at < list.length;) {
      if (list[at]?.attempt !== attempt) at++;
      else {
        (list as VictimCandidate[]).splice(at, 1);
        found = true;
        if (!this.#isElastic) break;
      }
    }
    return found;
  }
}

const byCost = (left: VictimCandidate, right: VictimCandidate): number =>
  left.guarded - right.guarded ||
  left.workload.spec.priority - right.workload.spec.priority ||
  left.cost - right.cost ||
  steadily(left, right);

/**
 * An order of candidates that is independent of time: lower priority first, then the smaller loss of throughput, then
 * the later placement. Within a gang the last worker comes first. Work that only a guarantee can reclaim comes last.
 */
export const steadily = (left: VictimCandidate, right: VictimCandidate): number =>
  left.guarded - right.guarded ||
  left.workload.spec.priority - right.workload.spec.priority ||
  left.slowerMilli - right.slowerMilli ||
  right.attempt.placedSequence - left.attempt.placedSequence ||
  right.keeps - left.keeps;

/**
 * Candidates for the workers beyond the gang's minimum, the last worker first. A worker can only be evicted after the
 * workers of higher rank. So its loss of throughput counts as at least as large as theirs.
 */
function sparableOf({ world }: Batch, { attempt, workload, keeps: core, upTo }: VictimUnit): VictimCandidate[] {
  const { gang } = workload.spec;
  const guarded = guardedOf(world, workload);
  const cost = guarded * GUARDED_COST;
  let slowerMilli = 0;
  return [...lastWorkers(workload, attempt, core, upTo)].map(({ keeps, upTo: last }) => {
    if (world.rules.elastic.by === "throughput")
      slowerMilli = Math.max(slowerMilli, Math.floor(lossOf(gang, keeps, last) / (last - keeps)));
    return { attempt, workload, nomination: null, keeps, upTo: last, cost, slowerMilli, guarded };
  });
}

/**
 * The steps in which a gang loses its last workers, until `least` workers remain. Each step removes one worker, or one
 * whole slice.
 */
function* lastWorkers(
  { spec }: Workload,
  { workers }: Attempt,
  least: number,
  upTo: number,
): Generator<Pick<VictimUnit, "keeps" | "upTo">> {
  for (let last = upTo; last > least;) {
    const keeps = Math.max(least, withoutLast(spec, workers, last));
    yield { keeps, upTo: last };
    last = keeps;
  }
}

const lossOf = (gang: GangSpec, keeps: number, last: number): number =>
  throughputMilli(gang, last) - throughputMilli(gang, keeps);

/**
 * Splits a candidate into steps that each remove one worker or slice beyond the gang's minimum, the last first, and the
 * workers of the minimum, which are evicted together.
 */
export function piecesOf(batch: Batch, unit: VictimCandidate): readonly VictimCandidate[] {
  const core = coreOf(batch, unit.workload, unit.attempt);
  if (core >= unit.upTo) return [unit];
  const steps = lastWorkers(unit.workload, unit.attempt, Math.max(core, unit.keeps), unit.upTo);
  const pieces = [...steps].map((step) => ({ ...unit, ...step }));
  return unit.keeps < core ? [...pieces, { ...unit, upTo: core }] : pieces;
}

/** Number of workers that can only be evicted together; all workers if the gang cannot shrink. */
function coreOf({ world }: Batch, { spec }: Workload, attempt: Attempt): number {
  const { length } = attempt.workers;
  const least = minWorkersOf(spec.gang);
  return least < length && canResize(world.state, attempt) ? least : length;
}
