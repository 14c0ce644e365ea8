/**
 * Waiting work that may start now, in buckets of requests that are equal to every placement filter. A round considers
 * buckets, not workloads: a request that did not fit is not tried again until capacity is freed.
 */
import { kindRules, workloadOrder, SortedList } from "@headroom/model";
import type { AttemptId, GangSpec, Workload, Rules, RunTimes } from "@headroom/model";
import { plannedDurationMs, windowDurationMs } from "../usage/planned-duration.ts";
import { predictsRuns, runKindsOf } from "../usage/run-times.ts";
import { plainHeadOrder } from "./head-order.ts";
import type { CompareClasses } from "./head-order.ts";
import { PlacementRequest } from "./placement-request.ts";
import { Scratch, Slot } from "./scratch.ts";
import { WaitingLines } from "./waiting-lines.ts";
import type { CalendarIndex } from "./calendar-index.ts";
import type { UserUse } from "./user-use.ts";
import type { WorkloadEntity } from "../state/state.ts";

/**
 * The capacity epoch (`ordering/round-order.ts`) in which the request was last found not to fit, or -1 if it must be
 * tried.
 */
export const rejectedAtEpoch: Slot<number> = new Slot(() => -1, { survivesUndo: true });

/**
 * Waiting requests that are equal for placement, so a result for one of them holds for all. In a plan, a bucket is a
 * single request with its workload.
 */
export class QueueBucket {
  #request: PlacementRequest;
  /** The workloads in the policy's order. */
  readonly waiting: SortedList<WorkloadEntity>;
  /** Position of the bucket among the buckets with waiting work, or -1 if no workload waits. */
  waitingAt = -1;
  /**
   * Waiting workloads with several tasks: arrays and endpoints. They can have any number of waiting tasks; every other
   * workload in the bucket has exactly one.
   */
  readonly waitingArrays: Set<WorkloadEntity> = new Set();
  /** No workload of the bucket began to wait before this instant. */
  waitsSinceMs: number = Number.POSITIVE_INFINITY;
  /** Results of earlier rounds for the request. */
  readonly memo: Scratch = new Scratch();
  /** Distinguishes the buckets of a queue; -1 outside a queue. */
  readonly ordinal: number;
  /** When the bucket last got its first waiting work, as a count of such changes (`WaitingLines.listings`). */
  listing = 0;

  constructor(request: PlacementRequest, waiting: SortedList<WorkloadEntity>, ordinal = -1) {
    this.#request = request;
    this.waiting = waiting;
    this.ordinal = ordinal;
  }

  get request(): PlacementRequest {
    return this.#request;
  }

  /** Changes the planned run time of the bucket's workloads, after which the request may fit. */
  plan(durationMs: number): void {
    this.#request = this.#request.with({ durationMs });
    this.memo.set(rejectedAtEpoch, -1);
  }
}

interface SignatureContext {
  readonly rules: Rules;
  readonly calendar: CalendarIndex;
  readonly users: Pick<UserUse, "isKept">;
}

type Signature = string | number | boolean | object | undefined;

/** The properties by which one placement filter (`placement/filters`) distinguishes workloads; compared as JSON. */
export type SignatureOf = (
  asking: Pick<Workload, "spec" | "scale" | "actor" | "lostWorkers" | "given">,
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

function keyOf(signature: readonly Signature[]): string {
  let key = "";
  signature.forEach((part, at) => {
    if (part !== undefined) key += `${at}:${JSON.stringify(part)};`;
  });
  return key;
}

const RECENT_COUNT = 1024;
const NOBODY_RECENT: readonly null[] = Array.from({ length: RECENT_COUNT }, () => null);

const recentAt = ({ workers, accelerators, coresMilli, memoryMib }: GangSpec, longestMs: number): number =>
  (workers * 13 + accelerators * 7 + coresMilli * 3 + memoryMib + Math.floor(longestMs / 1000) * 31) &
  (RECENT_COUNT - 1);

interface RecentBucket {
  readonly bucket: QueueBucket;
  readonly signature: readonly Signature[];
}

/**
 * Maximum number of buckets that are kept. Each kind and length of work has a bucket; empty buckets cost a round
 * nothing.
 */
const CLASSES_KEPT = 4096;
/**
 * Maximum number of buckets that are kept if run times are predicted: whenever an attempt ends, all buckets of its kind
 * are read.
 */
const PREDICTED_CLASSES_KEPT = 64;

const classesKept = (rules: Rules): number => (predictsRuns(rules) ? PREDICTED_CLASSES_KEPT : CLASSES_KEPT);

/** Only rounds with protected starts look behind blocked heads, at many buckets of distinct run times. */
const linesFor = ({ backfill, elastic }: Rules, compareHeads: CompareClasses | null): WaitingLines | null =>
  compareHeads === null || backfill.protectedStarts === 0 || elastic.grow === "in-order"
    ? null
    : new WaitingLines(compareHeads);

export class Queue {
  #classes = new Map<string, QueueBucket>();
  /** Buckets of waiting workloads, by the ordinal of the workload. Numbers are the fastest keys of a map. */
  readonly #bucketOf = new Map<number, QueueBucket>();
  /** Buckets with waiting work, in no particular order. Every round reads all of them. */
  #waiting: QueueBucket[] = [];
  #growth = new Map<AttemptId, QueueBucket>();
  /** Buckets by the kind of work from which their run time is predicted. Empty if the policy does not predict. */
  #byKind = new Map<string, Set<QueueBucket>>();
  #context: QueueContext;
  #compare: (left: Workload, right: Workload) => number;
  #compareHeads: CompareClasses | null;
  #lines: WaitingLines | null;
  #bucketCount = 0;
  /** Recently used buckets, by requested amounts and run time. */
  #recent: (RecentBucket | null)[] = NOBODY_RECENT.slice();
  /** Number of workloads with at least one task that may start now. */
  readyCount = 0;
  /** Number of ready workloads that are gangs with task groups. */
  #groupedCount = 0;
  #changes = 0;
  /**
   * Incremented whenever the result of a round may change. If a round considers only the heads of buckets, a workload
   * that is added behind a head does not increment it.
   */
  #judgedChanges = 0;
  #cleanChanges = -1;
  #cleanEpoch = -1;
  #cleanAtMs = -1;
  /** Number of buckets above which empty ones are dropped. */
  #classesBeforeDrop: number;

  constructor(context: QueueContext) {
    const { rules } = context;
    this.#classesBeforeDrop = classesKept(rules);
    this.#context = context;
    this.#compare = workloadOrder(rules);
    this.#compareHeads = plainHeadOrder(rules, this.#compare);
    this.#lines = linesFor(rules, this.#compareHeads);
  }

  get compare(): (left: Workload, right: Workload) => number {
    return this.#compare;
  }

  /** The order between the heads of two buckets, or `null` if it depends on more than these two. */
  get compareHeads(): CompareClasses | null {
    return this.#compareHeads;
  }

  /** The waiting buckets in order; `null` if the order depends on more than the heads, or if no start is protected. */
  get lines(): WaitingLines | null {
    return this.#lines;
  }

  get changes(): number {
    return this.#changes;
  }

  /**
   * Whether gangs with task groups wait. One of them may fit into the capacity that is left after another was placed.
   */
  get hasGroups(): boolean {
    return this.#groupedCount > 0;
  }

  get hasRequests(): boolean {
    return this.readyCount > 0 || this.#growth.size > 0;
  }

  /** Whether any running gang requests further workers. */
  get growsAny(): boolean {
    return this.#growth.size > 0;
  }

  waitingClasses(): readonly QueueBucket[] {
    return this.#waiting;
  }

  classes(): Iterable<QueueBucket> {
    return this.#classes.values();
  }

  /** Growth requests of running gangs, one for each attempt. */
  growthClasses(): IterableIterator<QueueBucket> {
    return this.#growth.values();
  }

  growthOf(id: AttemptId): QueueBucket | undefined {
    return this.#growth.get(id);
  }

  classOf(workload: Workload): QueueBucket {
    const { rules, calendar, signatures } = this.#context;
    const isTimeless = rules.backfill.protectedStarts === 0 && !calendar.hasWindows;
    const at = recentAt(workload.spec.gang, isTimeless ? 0 : windowDurationMs(rules, workload.spec));
    const recent = this.#recent[at] as RecentBucket | null;
    if (recent !== null && this.#isAlike(recent.signature, workload)) return recent.bucket;
    const signature = signatures.map((signatureOf) => signatureOf(workload, this.#context));
    const bucket = this.#bucketFor(workload, keyOf(signature));
    this.#recent[at] = { bucket, signature };
    return bucket;
  }

  /**
   * Objects, and objects in lists, are compared by identity. This is fast and usually sufficient: if equal objects are
   * not identical, the key is compared.
   */
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
        this.#bucketCount++,
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

  /** Handles changed predictions for these kinds of work. Waiting work gets new planned run times, and may now fit. */
  predictAnew(kinds: readonly string[]): void {
    for (const kind of kinds)
      for (const bucket of this.#byKind.get(kind) ?? []) {
        const { request } = bucket;
        const durationMs = plannedDurationMs(this.#context.rules, this.#context.runTimes, request);
        if (durationMs === request.durationMs) continue;
        if (bucket.waitingAt < 0 || this.#lines === null) bucket.plan(durationMs);
        else this.#lines.replan(bucket, () => bucket.plan(durationMs));
        this.markDirty();
      }
  }

  add(workload: WorkloadEntity): void {
    const bucket = this.classOf(workload);
    this.#insert(bucket, workload);
    bucket.waitsSinceMs = Math.min(bucket.waitsSinceMs, workload.submittedAtMs);
    if (bucket.waiting.first() === workload || !this.#judgesHeadsAlone) this.#judgedChanges++;
    if (kindRules(workload.spec).hasTasks) bucket.waitingArrays.add(workload);
    this.#bucketOf.set(workload.ordinal, bucket);
    this.readyCount++;
    if (workload.spec.gang.taskGroups !== undefined) this.#groupedCount++;
    this.#changes++;
  }

  #insert(bucket: QueueBucket, workload: WorkloadEntity): void {
    const { waiting } = bucket;
    const head = waiting.first();
    if (head === undefined) {
      waiting.insert(workload);
      bucket.waitingAt = this.#waiting.push(bucket) - 1;
      this.#lines?.list(bucket);
    } else if (waiting.append(workload)) return;
    else if (this.#lines === null || this.#compare(workload, head) > 0) waiting.insert(workload);
    else this.#lines.changeHead(bucket, "insert", workload);
  }

  has(workload: WorkloadEntity): boolean {
    return this.#bucketOf.has(workload.ordinal);
  }

  /** The bucket in which the workload waits, or `null` if it does not wait. */
  bucketIn(workload: WorkloadEntity): QueueBucket | null {
    return this.#bucketOf.get(workload.ordinal) ?? null;
  }

  remove(workload: WorkloadEntity): void {
    const bucket = this.#bucketOf.get(workload.ordinal);
    if (bucket === undefined) return;
    this.#bucketOf.delete(workload.ordinal);
    const { waiting } = bucket;
    if (waiting.length === 1) {
      this.#lines?.takeOut(bucket);
      waiting.remove(workload);
      this.#unlist(bucket);
    } else if (this.#lines === null || waiting.first() !== workload) waiting.remove(workload);
    else this.#lines.changeHead(bucket, "remove", workload);
    if (kindRules(workload.spec).hasTasks) bucket.waitingArrays.delete(workload);
    this.#judgedChanges++;
    this.readyCount--;
    if (workload.spec.gang.taskGroups !== undefined) this.#groupedCount--;
    this.#changes++;
  }

  /** The bucket is empty. The last bucket in the list takes its position. */
  #unlist(bucket: QueueBucket): void {
    const last = this.#waiting.pop();
    if (last !== undefined && last !== bucket) {
      this.#waiting[bucket.waitingAt] = last;
      last.waitingAt = bucket.waitingAt;
    }
    bucket.waitingAt = -1;
    this.#lines?.unlist(bucket);
  }

  /**
   * Sets the number of further workers that a running gang requests; it gets all of them or none. 0: the gang requests
   * none.
   */
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

  single(request: PlacementRequest, workload: WorkloadEntity): QueueBucket {
    const waiting = new SortedList<WorkloadEntity>(this.#compare);
    waiting.insert(workload);
    return new QueueBucket(request, waiting);
  }

  /** Records that nothing can start until the head of a bucket changes or the capacity epoch grows. */
  markClean(capacityEpoch: number, nowMs: number): void {
    this.#cleanAtMs = nowMs;
    this.#cleanChanges = this.#judgedChanges;
    this.#cleanEpoch = capacityEpoch;
  }

  /** Records that requests must be considered again although no capacity was freed. */
  markDirty(): void {
    this.#cleanChanges = -1;
  }

  /** Time at which `markClean` last recorded that nothing can start. */
  get cleanAtMs(): number {
    return this.#cleanAtMs;
  }

  isClean(capacityEpoch: number): boolean {
    return this.#cleanChanges === this.#judgedChanges && this.#cleanEpoch === capacityEpoch;
  }

  /**
   * Whether a round considers only the first workload of each bucket. It does not if teams are compared, because the
   * number of waiting workloads then counts as demand. It does not with protected starts, because workloads behind a
   * head are then considered in the same round.
   */
  get #judgesHeadsAlone(): boolean {
    const { teams, backfill, order } = this.#context.rules;
    return teams.order.length === 0 && backfill.protectedStarts === 0 && !order.includes("user");
  }

  /** Maps each bucket of another queue to the bucket of this queue with an equal request. */
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

  /** Drops empty buckets when there are too many buckets. */
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

  /** Rebuilds the queue under other rules. */
  reorder(rules: Rules): void {
    const workloads = this.#waiting.flatMap((bucket) => [...bucket.waiting.from(0)]);
    const growing = [...this.#growth];
    this.#context = { ...this.#context, rules };
    this.#classesBeforeDrop = classesKept(rules);
    this.#compare = workloadOrder(rules);
    this.#compareHeads = plainHeadOrder(rules, this.#compare);
    this.#lines = linesFor(rules, this.#compareHeads);
    this.#classes = new Map();
    this.#bucketOf.clear();
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
