/**
 * What waits and may start now, in buckets of requests that are alike to every filter of placement. A round looks at buckets, not at
 * workloads: one that was found not to fit is not tried again until capacity is freed.
 */
import { plannedDurationMs, windowDurationMs } from "../usage/planned-duration.ts";
import { predictsRuns, runKindsOf } from "../usage/run-times.ts";
import type { AttemptId } from "../model/ids.ts";
import type { GangSpec, Workload } from "../model/workload.ts";
import type { Rules } from "../policy/rules.ts";
import { workloadOrder } from "../policy/order.ts";
import { plainHeadOrder } from "./head-order.ts";
import type { CompareClasses } from "./head-order.ts";
import { PlacementRequest } from "./placement-request.ts";
import { Scratch, Slot } from "./scratch.ts";
import type { CalendarIndex } from "./calendar-index.ts";
import { SortedList } from "../base/collections/sorted-list.ts";
import type { UserUse } from "./user-use.ts";
import type { WorkloadEntity } from "../state/state.ts";
import type { RunTimes } from "../model/usage-history.ts";

/** The capacity epoch (`ordering/round-order.ts`) in which the request was last found not to fit; -1: it has to be tried. */
export const rejectedAtEpoch: Slot<number> = new Slot(() => -1, { survivesUndo: true });

/**
 * Waiting requests that are alike: one stands for all, and what was found out about it holds for each of them. In plans, a single
 * request with its workload.
 */
export class QueueBucket {
  #request: PlacementRequest;
  /** The workloads, in the policy's order. */
  readonly waiting: SortedList<WorkloadEntity>;
  /** Its position among the buckets in which somebody waits; -1: nobody does. */
  waitingAt = -1;
  /** Workloads with any number of waiting tasks; every other has exactly one. */
  readonly waitingArrays: Set<WorkloadEntity> = new Set();
  /** What rounds found out about the request. */
  readonly memo: Scratch = new Scratch();

  constructor(request: PlacementRequest, waiting: SortedList<WorkloadEntity>) {
    this.#request = request;
    this.waiting = waiting;
  }

  get request(): PlacementRequest {
    return this.#request;
  }

  /** The run time of its workloads is predicted differently: the request may fit now. */
  plan(durationMs: number): void {
    this.#request = this.#request.with({ durationMs });
    this.memo.set(rejectedAtEpoch, -1);
  }
}

/** The class in which the workload waits; `null`: it does not wait. */
export const classIn = ({ placementClass }: WorkloadEntity): QueueBucket | null => placementClass as QueueBucket | null;

interface SignatureContext {
  readonly rules: Rules;
  readonly calendar: CalendarIndex;
  readonly users: Pick<UserUse, "isKept">;
}

type Signature = string | number | boolean | object | undefined;

/** What makes workloads alike to one filter of placement (`placement/filters`); compared as JSON. */
export type SignatureOf = (
  asking: Pick<Workload, "spec" | "actor" | "lostWorkers">,
  context: SignatureContext,
) => Signature;

interface QueueContext extends SignatureContext {
  readonly runTimes: RunTimes;
  readonly signatures: readonly SignatureOf[];
}

function isSame(known: Signature, own: Signature): boolean {
  if (known === own) return true;
  if (!Array.isArray(known) || !Array.isArray(own) || known.length !== own.length) return false;
  for (let at = 0; at < own.length; at++) if (known[at] !== own[at]) return false;
  return true;
}

/** One text for equal signatures. */
function keyOf(signature: readonly Signature[]): string {
  let key = "";
  signature.forEach((part, at) => {
    if (part !== undefined) key += `${at}:${JSON.stringify(part)};`;
  });
  return key;
}

const RECENT_COUNT = 1024;
const NOBODY_RECENT: readonly null[] = Array.from({ length: RECENT_COUNT }, () => null);

/** Where among the recent ones such a workload is. */
const recentAt = ({ workers, accelerators, coresMilli, memoryMib }: GangSpec, longestMs: number): number =>
  (workers * 13 + accelerators * 7 + coresMilli * 3 + memoryMib + Math.floor(longestMs / 1000) * 31) &
  (RECENT_COUNT - 1);

interface RecentBucket {
  readonly bucket: QueueBucket;
  readonly signature: readonly Signature[];
}

/** As many as there are kinds and lengths of work; those in which nobody waits cost no round anything. */
const CLASSES_KEPT = 4096;
/** The same where durations are predicted: every end looks through the classes of its kind. */
const PREDICTED_CLASSES_KEPT = 64;

const classesKept = (rules: Rules): number => (predictsRuns(rules) ? PREDICTED_CLASSES_KEPT : CLASSES_KEPT);

export class Queue {
  #classes = new Map<string, QueueBucket>();
  /** Those in which somebody waits, in no particular order: every round looks through them. */
  #waiting: QueueBucket[] = [];
  #growth = new Map<AttemptId, QueueBucket>();
  /** By the kinds of which the past tells how long their workloads last; empty where nothing is predicted. */
  #byKind = new Map<string, Set<QueueBucket>>();
  #context: QueueContext;
  #compare: (left: Workload, right: Workload) => number;
  #compareHeads: CompareClasses | null;
  /** Buckets that were looked up lately, by the amounts and the run times that they ask for. */
  #recent: (RecentBucket | null)[] = NOBODY_RECENT.slice();
  /** Workloads with at least one task that may start now. */
  readyCount = 0;
  /** Those of them that are gangs of groups. */
  #groupedCount = 0;
  /** Grows whenever somebody joins or leaves the queue. */
  #changes = 0;
  /** Grows whenever the answer of a round may be another: not if a workload queues up behind others, where only heads are judged. */
  #judgedChanges = 0;
  #cleanChanges = -1;
  #cleanEpoch = -1;
  #cleanAtMs = -1;
  /** Empty classes are looked for once there are more classes than this. */
  #classesBeforeDrop: number;

  constructor(context: QueueContext) {
    const { rules } = context;
    this.#classesBeforeDrop = classesKept(rules);
    this.#context = context;
    this.#compare = workloadOrder(rules);
    this.#compareHeads = plainHeadOrder(rules, this.#compare);
  }

  get compare(): (left: Workload, right: Workload) => number {
    return this.#compare;
  }

  /** The order between the heads of two classes; `null`: it depends on more than the two. */
  get compareHeads(): CompareClasses | null {
    return this.#compareHeads;
  }

  /** Grows whenever somebody joins or leaves the queue. */
  get changes(): number {
    return this.#changes;
  }

  /** Whether gangs of groups wait: they may find room that others left when they took a part of it. */
  get hasGroups(): boolean {
    return this.#groupedCount > 0;
  }

  /** Whether anybody asks for anything. */
  get hasRequests(): boolean {
    return this.readyCount > 0 || this.#growth.size > 0;
  }

  /** Whether any gang that runs asks for further workers. */
  get growsAny(): boolean {
    return this.#growth.size > 0;
  }

  /** Classes of work that waits to start. */
  waitingClasses(): readonly QueueBucket[] {
    return this.#waiting;
  }

  /** Those, and some in which nobody waits. */
  classes(): Iterable<QueueBucket> {
    return this.#classes.values();
  }

  /** Classes of running gangs that ask for further workers, one for each attempt. */
  growthClasses(): IterableIterator<QueueBucket> {
    return this.#growth.values();
  }

  /** The request of an attempt for further workers, if it has one. */
  growthOf(id: AttemptId): QueueBucket | undefined {
    return this.#growth.get(id);
  }

  classOf(workload: Workload): QueueBucket {
    const { rules, calendar, signatures } = this.#context;
    const isTimeless = rules.backfill.reserve === "none" && !calendar.hasWindows;
    const at = recentAt(workload.spec.gang, isTimeless ? 0 : windowDurationMs(rules, workload.spec));
    const recent = this.#recent[at] as RecentBucket | null;
    if (recent !== null && this.#isAlike(recent.signature, workload)) return recent.bucket;
    const signature = signatures.map((signatureOf) => signatureOf(workload, this.#context));
    const bucket = this.#bucketFor(workload, keyOf(signature));
    this.#recent[at] = { bucket, signature };
    return bucket;
  }

  /** Objects, and those in lists, are compared by identity, which is quick and right for most: where two are equal and not the same, the key decides. */
  #isAlike(known: readonly Signature[], workload: Workload): boolean {
    const context = this.#context;
    const { signatures } = context;
    for (let at = 0; at < signatures.length; at++)
      if (!isSame(known[at], signatures[at]?.(workload, context))) return false;
    return true;
  }

  #bucketFor(workload: Workload, key: string): QueueBucket {
    let bucket = this.#classes.get(key);
    if (bucket === undefined) {
      bucket = new QueueBucket(
        PlacementRequest.of(workload, { rules: this.#context.rules }),
        new SortedList<WorkloadEntity>(this.#compare),
      );
      this.#classes.set(key, bucket);
      this.#fileByKind(bucket);
    }
    return bucket;
  }

  #fileByKind(bucket: QueueBucket): void {
    if (!predictsRuns(this.#context.rules)) return;
    const { request } = bucket;
    bucket.plan(plannedDurationMs(this.#context.rules, this.#context.runTimes, request));
    for (const kind of runKindsOf(request)) {
      const alike = this.#byKind.get(kind);
      if (alike === undefined) this.#byKind.set(kind, new Set([bucket]));
      else alike.add(bucket);
    }
  }

  /** Of these kinds something else is known now: what waits may be planned to last otherwise, and find room that it did not. */
  predictAnew(kinds: readonly string[]): void {
    for (const kind of kinds)
      for (const bucket of this.#byKind.get(kind) ?? []) {
        const { request } = bucket;
        const durationMs = plannedDurationMs(this.#context.rules, this.#context.runTimes, request);
        if (durationMs === request.durationMs) continue;
        bucket.plan(durationMs);
        this.markDirty();
      }
  }

  add(workload: WorkloadEntity): void {
    const bucket = this.classOf(workload);
    if (bucket.waitingAt < 0) bucket.waitingAt = this.#waiting.push(bucket) - 1;
    bucket.waiting.insert(workload);
    if (bucket.waiting.first() === workload || !this.#judgesHeadsAlone) this.#judgedChanges++;
    if (workload.spec.kind === "batch") bucket.waitingArrays.add(workload);
    workload.placementClass = bucket;
    this.readyCount++;
    if (workload.spec.gang.taskGroups !== undefined) this.#groupedCount++;
    this.#changes++;
  }

  has(workload: WorkloadEntity): boolean {
    return workload.placementClass !== null;
  }

  remove(workload: WorkloadEntity): void {
    const bucket = classIn(workload);
    if (bucket === null) return;
    bucket.waiting.remove(workload);
    if (bucket.waiting.length === 0) this.#unlist(bucket);
    if (workload.spec.kind === "batch") bucket.waitingArrays.delete(workload);
    this.#judgedChanges++;
    workload.placementClass = null;
    this.readyCount--;
    if (workload.spec.gang.taskGroups !== undefined) this.#groupedCount--;
    this.#changes++;
  }

  /** Nobody waits in the class any more: the last one takes its place. */
  #unlist(bucket: QueueBucket): void {
    const last = this.#waiting.pop();
    if (last !== undefined && last !== bucket) {
      this.#waiting[bucket.waitingAt] = last;
      last.waitingAt = bucket.waitingAt;
    }
    bucket.waitingAt = -1;
  }

  /** A running gang asks for further workers, all of them or none; 0: it asks for none (any more). */
  setGrowth(workload: WorkloadEntity, grows: AttemptId, workers: number): void {
    if (workers === 0 && this.#growth.size === 0) return;
    const known = this.#growth.get(grows);
    if ((known?.request.workers ?? 0) === workers) return;
    this.#changes++;
    this.#judgedChanges++;
    this.#growth.delete(grows);
    if (workers === 0) return;
    const request = PlacementRequest.of(workload, { rules: this.#context.rules, growth: workers, grows });
    this.#growth.set(grows, this.single(request, workload));
  }

  /** A bucket of this request alone. */
  single(request: PlacementRequest, workload: WorkloadEntity): QueueBucket {
    const waiting = new SortedList<WorkloadEntity>(this.#compare);
    waiting.insert(workload);
    return new QueueBucket(request, waiting);
  }

  /** Nothing more can start until the head of a bucket changes or something is freed, which moves the capacity epoch on. */
  markClean(capacityEpoch: number, nowMs: number): void {
    this.#cleanAtMs = nowMs;
    this.#cleanChanges = this.#judgedChanges;
    this.#cleanEpoch = capacityEpoch;
  }

  /** What was found not to start has to be looked at again, although nothing was freed. */
  markDirty(): void {
    this.#cleanChanges = -1;
  }

  /** When it was last found that nothing more can start. */
  get cleanAtMs(): number {
    return this.#cleanAtMs;
  }

  isClean(capacityEpoch: number): boolean {
    return this.#cleanChanges === this.#judgedChanges && this.#cleanEpoch === capacityEpoch;
  }

  /**
   * Whether a round asks the first workload of each bucket only. Where teams are compared, the number that waits counts as demand;
   * with protected starts, what waits behind a head is looked at in the same round.
   */
  get #judgesHeadsAlone(): boolean {
    const { teams, backfill, order } = this.#context.rules;
    return teams.order.length === 0 && backfill.reserve === "none" && !order.includes("user");
  }

  /** The classes of another queue with those of this one that ask for the same, where there are such. */
  twinsOf(other: Queue): ReadonlyMap<QueueBucket, QueueBucket> {
    const twins = new Map<QueueBucket, QueueBucket>();
    for (const [key, bucket] of other.#classes) {
      const own = this.#classes.get(key);
      if (own !== undefined) twins.set(bucket, own);
    }
    for (const [id, bucket] of other.#growth) {
      const own = this.#growth.get(id);
      if (own !== undefined && own.request.workers === bucket.request.workers) twins.set(bucket, own);
    }
    return twins;
  }

  /** Classes come and go with what users submit; the empty ones are dropped once they outnumber the others. */
  dropEmptyClasses(): void {
    if (this.#classes.size <= this.#classesBeforeDrop) return;
    for (const [key, bucket] of this.#classes) {
      if (bucket.waiting.length > 0) continue;
      this.#classes.delete(key);
      if (this.#byKind.size > 0) this.#dropByKind(bucket);
    }
    this.#recent = NOBODY_RECENT.slice();
    this.#classesBeforeDrop = Math.max(classesKept(this.#context.rules), 2 * this.#classes.size);
  }

  #dropByKind(bucket: QueueBucket): void {
    for (const kind of runKindsOf(bucket.request)) {
      const alike = this.#byKind.get(kind);
      if (alike?.delete(bucket) === true && alike.size === 0) this.#byKind.delete(kind);
    }
  }

  /** Starts over under other rules. */
  reorder(rules: Rules): void {
    const workloads = this.#waiting.flatMap((bucket) => [...bucket.waiting.from(0)]);
    const growing = [...this.#growth];
    this.#context = { ...this.#context, rules };
    this.#classesBeforeDrop = classesKept(rules);
    this.#compare = workloadOrder(rules);
    this.#compareHeads = plainHeadOrder(rules, this.#compare);
    this.#classes = new Map();
    this.#waiting = [];
    this.#byKind = new Map();
    this.#recent = NOBODY_RECENT.slice();
    this.#growth = new Map();
    this.readyCount = 0;
    this.#groupedCount = 0;
    this.#changes++;
    this.#judgedChanges++;
    for (const workload of workloads) this.add(workload);
    for (const [id, { waiting, request }] of growing)
      this.setGrowth(waiting.first() as WorkloadEntity, id, request.workers);
  }
}
