/**
 * What waits and may start now, by placement class. Workloads that ask for the same (team, gang, types, wishes) stand or
 * fall together, so a round looks at classes: one that was found not to fit stays closed until something is freed.
 */
import { longestDurationMs, plannedDurationMs, windowDurationMs } from "../usage/planned-duration.ts";
import { predictsRuns, runKindsOf } from "../usage/run-times.ts";
import { acceptedTypes, partsOf } from "../model/gang.ts";
import type { AttemptId, NodeId, TeamName } from "../model/ids.ts";
import { minWorkersOf } from "../model/workload.ts";
import type { Attempt, GangSpec, WorkerAllocation, Workload, WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "../policy/rules.ts";
import { isGuaranteed } from "../policy/guaranteed.ts";
import { isPreemptible } from "../policy/preemptible.ts";
import { workloadOrder } from "../policy/order.ts";
import { plainHeadOrder } from "./head-order.ts";
import type { CompareClasses } from "./head-order.ts";
import type { CalendarIndex } from "./calendar-index.ts";
import { SortedList } from "../base/collections/sorted-list.ts";
import type { UserUse } from "./user-use.ts";
import type { WorkloadEntity } from "../state/state.ts";
import type { RunTimes } from "../model/usage-history.ts";

interface ClassOptions {
  readonly rules: Rules;
  readonly growth: number;
  readonly grows?: AttemptId | null;
  readonly holds?: Attempt | null;
  readonly group?: number | null;
}

export class QueueBucket {
  readonly team: TeamName;
  /** Who submitted one of its workloads; the same for all where it matters: something is reserved for that user, or users are told apart. */
  readonly actor: string;
  readonly gang: GangSpec;
  /** In order of preference; empty: any. Of a gang of groups, what any of them will do with. */
  readonly acceleratorTypes: readonly string[];
  /** The spec of one of its workloads: what matters for placing is the same in all of them. */
  readonly spec: WorkloadSpec;
  /** The attempt of its one workload that runs and may have further workers; `null`: its workloads wait to start. */
  readonly grows: AttemptId | null;
  readonly isGrowth: boolean;
  /** How many workers are asked for at once, all or none. */
  readonly workers: number;
  readonly isPreemptible: boolean;
  /** How long each of its workloads may last, for windows that it must be gone by. */
  readonly longestMs: number;
  /** How long each is planned to last beside protected starts: by its walltime, or as is predicted. */
  durationMs: number;
  /** The place that its one workload holds and may keep, in a plan that fills up anew; `null` for every other class. */
  readonly holds: Attempt | null;
  /** The group that further workers are for; `null`: whichever of its gang's lacks most, or the gang has no groups. */
  readonly group: number | null;
  /** Workers of each group that are asked for at once; `null`: the least of each, or the gang has no groups. */
  readonly counts: readonly number[] | null;
  /** Nodes among which it has to be placed, for what lies there already; `null`: all. */
  readonly among: ReadonlySet<NodeId> | null = null;
  /** How many of its inputs a node has to hold, for the try that is under way. */
  readonly inputsHeldMin: number = 0;
  /** Workers from the first that its running gang is taken to keep, where a plan lets others leave; `undefined`: all. */
  readonly ownKept: number | undefined = undefined;
  /** It is asked what would be if nobody kept away from anybody. */
  readonly heedsNobody: boolean = false;
  /** Workers of the same gang that are being placed with it. */
  readonly beside: readonly WorkerAllocation[] = [];
  /** Workers of its gang that lay on lost nodes, and may have spares in their place; 0: it may take none. */
  readonly lostWorkers: number;
  readonly waiting: SortedList<WorkloadEntity>;
  /** Its position among the classes in which somebody waits; -1: nobody does. */
  waitingAt = -1;
  /** Those of them with any number of waiting tasks; every other has exactly one. */
  readonly waitingArrays: Set<WorkloadEntity> = new Set();
  /** The `Opening` at which the class was last found not to fit; -1: not since something changed. */
  rejectedAtEpoch = -1;
  /** Whether the empty fleet could hold one gang, as of `fleetEpoch`. */
  fitsFleet = false;
  fleetEpoch = -1;

  /** `growth`: how many further workers the attempt `grows` asks for; 0: its workloads wait to start. */
  constructor(
    workload: Pick<Workload, "spec" | "actor" | "lostWorkers">,
    options: ClassOptions,
    waiting: SortedList<WorkloadEntity>,
  ) {
    const { rules, growth, grows = null, holds = null, group = null } = options;
    const { spec } = workload;
    this.team = spec.team;
    this.actor = workload.actor;
    this.gang = spec.gang;
    this.acceleratorTypes = acceptedTypes(spec);
    this.spec = spec;
    this.grows = grows;
    this.isGrowth = growth > 0;
    this.holds = holds;
    this.group = group;
    this.counts =
      holds === null || spec.gang.taskGroups === undefined
        ? null
        : partsOf(spec.gang, holds.workers).map(({ workers }) => workers);
    this.workers = holds?.workers.length ?? (growth > 0 ? growth : minWorkersOf(spec.gang));
    this.isPreemptible = isPreemptible(rules, spec);
    this.longestMs = windowDurationMs(rules, spec);
    this.durationMs = longestDurationMs(rules, spec);
    this.lostWorkers = workload.lostWorkers ?? 0;
    this.waiting = waiting;
  }
}

/** The class in which the workload waits; `null`: it does not wait. */
export const classIn = ({ placementClass }: WorkloadEntity): QueueBucket | null => placementClass as QueueBucket | null;

/** What else decides by what work is filed. */
interface Heeded {
  readonly calendar: CalendarIndex;
  readonly users: Pick<UserUse, "isKept">;
  readonly runTimes: RunTimes;
}

/** Most work has no wishes, so they are written out only where there are some. */
function classKey({ spec, actor, lostWorkers }: Workload, rules: Rules, { calendar, users }: Heeded): string {
  const { gang, team, acceleratorTypes, fabric, nodeSelector, spread, data } = spec;
  const { taskGroups } = gang;
  const key = `${gang.workers}|${gang.accelerators}|${gang.coresMilli}|${gang.memoryMib}|${team}|${acceleratorTypes.join("|")}`;
  const constraints =
    fabric ??
    nodeSelector ??
    spread ??
    data ??
    gang.shareMilli ??
    gang.profile ??
    gang.minWorkers ??
    taskGroups ??
    gang.antiAffinity;
  // Beside protected starts it matters how long work lasts.
  const { hasWindows } = calendar;
  const lastsAlone = rules.backfill.reserve === "none" && !hasWindows ? "" : `|${longestDurationMs(rules, spec)}`;
  // Where that is predicted, whose past it is predicted by.
  const like = predictsRuns(rules) ? `|like ${JSON.stringify(runKindsOf({ spec, actor })[0])}` : "";
  // Beside windows of the calendar also when it must be gone, and whose it is where something is kept for users.
  const lasts = hasWindows
    ? `${lastsAlone}|${windowDurationMs(rules, spec) + spec.graceTimeoutMs}|${calendar.isNamed(actor) ? JSON.stringify(actor) : ""}`
    : lastsAlone;
  // What is guaranteed by shapes and what is not are placed by other rules.
  const shaped = `${lasts}${like}${isGuaranteed(rules, spec) ? "|shaped" : ""}`;
  const fixed = isPreemptible(rules, spec) ? shaped : `${shaped}|fixed`;
  // Where it matters whose work it is.
  const own = users.isKept ? `${fixed}|by ${JSON.stringify(actor)}` : fixed;
  // Who lost workers with their nodes may go where the others may not.
  const whose = lostWorkers === undefined ? own : `${own}|lost ${lostWorkers}`;
  if (constraints === undefined) return key + whose;
  return `${key}${whose}|${JSON.stringify([fabric, nodeSelector, spread, gang.shareMilli, gang.minWorkers, taskGroups, data, gang.antiAffinity, gang.profile])}`;
}

const RECENT_COUNT = 1024;
const NOBODY_RECENT: readonly null[] = Array.from({ length: RECENT_COUNT }, () => null);

/** Where among the recent ones a class of such gangs is that may last so long. */
const recentAt = ({ workers, accelerators, coresMilli, memoryMib }: GangSpec, longestMs: number): number =>
  (workers * 13 + accelerators * 7 + coresMilli * 3 + memoryMib + Math.floor(longestMs / 1000) * 31) &
  (RECENT_COUNT - 1);

/** The same gang, or one of the same amounts that says nothing else. */
const asksAlike = (left: GangSpec, right: GangSpec): boolean =>
  left === right ||
  (left.workers === right.workers &&
    left.accelerators === right.accelerators &&
    left.coresMilli === right.coresMilli &&
    left.memoryMib === right.memoryMib &&
    left.shareMilli === right.shareMilli &&
    left.profile === right.profile &&
    left.minWorkers === right.minWorkers &&
    left.taskGroups === right.taskGroups &&
    left.antiAffinity === right.antiAffinity);

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
  #rules: Rules;
  readonly #heeded: Heeded;
  #compare: (left: Workload, right: Workload) => number;
  #compareHeads: CompareClasses | null;
  /** Classes that were looked up lately, by the amounts that their gangs ask for and how long they may last. */
  #recent: (QueueBucket | null)[] = NOBODY_RECENT.slice();
  /** Workloads with at least one task that may start now. */
  readyCount = 0;
  /** Those of them that are gangs of groups. */
  #groupedCount = 0;
  /** Grows whenever somebody joins or leaves the queue. */
  #changes = 0;
  #cleanChanges = -1;
  #cleanEpoch = -1;
  #cleanAtMs = -1;
  /** Empty classes are looked for once there are more classes than this. */
  #classesBeforeDrop: number;

  constructor(rules: Rules, heeded: Heeded) {
    this.#rules = rules;
    this.#classesBeforeDrop = classesKept(rules);
    this.#heeded = heeded;
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
    // Beside protected starts and windows it matters how long work lasts.
    const longestMs = this.#isTimeless ? 0 : windowDurationMs(this.#rules, workload.spec);
    const at = recentAt(workload.spec.gang, longestMs);
    const recent = this.#recent[at] as QueueBucket | null;
    if (recent !== null && this.#isOf(recent, workload, longestMs)) return recent;
    const found = this.#classFor(workload);
    this.#recent[at] = found;
    return found;
  }

  get #isTimeless(): boolean {
    return this.#rules.backfill.reserve === "none" && !this.#heeded.calendar.hasWindows;
  }

  /**
   * Whether the work, which may last so long, says all else that `classKey` asks about in the very words of the class's own: then
   * its key need not be written out.
   */
  #isOf(found: QueueBucket, { spec, actor: whose, lostWorkers = 0 }: Workload, longestMs: number): boolean {
    const { spec: known, actor } = found;
    if (known.team !== spec.team || actor !== whose || found.lostWorkers !== lostWorkers) return false;
    if (!asksAlike(known.gang, spec.gang)) return false;
    if (
      known.acceleratorTypes !== spec.acceleratorTypes &&
      known.acceleratorTypes.length + spec.acceleratorTypes.length > 0
    )
      return false;
    if (known.priority !== spec.priority || known.preemptible !== spec.preemptible) return false;
    if (known.fabric !== spec.fabric || known.nodeSelector !== spec.nodeSelector) return false;
    if (known.spread !== spec.spread || known.data !== spec.data) return false;
    if (known.name !== spec.name && predictsRuns(this.#rules)) return false;
    if (known.graceTimeoutMs !== spec.graceTimeoutMs && this.#heeded.calendar.hasWindows) return false;
    // Work without a walltime is planned by the policy, and leaves by rules of its own.
    const isPlannedAlike = (known.walltimeMs === null) === (spec.walltimeMs === null);
    return this.#isTimeless || (isPlannedAlike && found.longestMs === longestMs);
  }

  #classFor(workload: Workload): QueueBucket {
    const key = classKey(workload, this.#rules, this.#heeded);
    let found = this.#classes.get(key);
    if (found === undefined) {
      found = new QueueBucket(
        workload,
        { rules: this.#rules, growth: 0 },
        new SortedList<WorkloadEntity>(this.#compare),
      );
      this.#classes.set(key, found);
      this.#fileByKind(found);
    }
    return found;
  }

  #fileByKind(found: QueueBucket): void {
    if (!predictsRuns(this.#rules)) return;
    found.durationMs = plannedDurationMs(this.#rules, this.#heeded.runTimes, found);
    for (const kind of runKindsOf(found)) {
      const alike = this.#byKind.get(kind);
      if (alike === undefined) this.#byKind.set(kind, new Set([found]));
      else alike.add(found);
    }
  }

  /** Of these kinds something else is known now: what waits may be planned to last otherwise, and find room that it did not. */
  predictAnew(kinds: readonly string[]): void {
    for (const kind of kinds)
      for (const found of this.#byKind.get(kind) ?? []) {
        const durationMs = plannedDurationMs(this.#rules, this.#heeded.runTimes, found);
        if (durationMs === found.durationMs) continue;
        found.durationMs = durationMs;
        found.rejectedAtEpoch = -1;
        this.markDirty();
      }
  }

  add(workload: WorkloadEntity): void {
    const found = this.classOf(workload);
    if (found.waitingAt < 0) found.waitingAt = this.#waiting.push(found) - 1;
    found.waiting.insert(workload);
    if (workload.spec.kind === "batch") found.waitingArrays.add(workload);
    workload.placementClass = found;
    this.readyCount++;
    if (workload.spec.gang.taskGroups !== undefined) this.#groupedCount++;
    this.#changes++;
  }

  has(workload: WorkloadEntity): boolean {
    return workload.placementClass !== null;
  }

  remove(workload: WorkloadEntity): void {
    const found = classIn(workload);
    if (found === null) return;
    found.waiting.remove(workload);
    if (found.waiting.length === 0) this.#unlist(found);
    if (workload.spec.kind === "batch") found.waitingArrays.delete(workload);
    workload.placementClass = null;
    this.readyCount--;
    if (workload.spec.gang.taskGroups !== undefined) this.#groupedCount--;
    this.#changes++;
  }

  /** Nobody waits in the class any more: the last one takes its place. */
  #unlist(found: QueueBucket): void {
    const last = this.#waiting.pop();
    if (last !== undefined && last !== found) {
      this.#waiting[found.waitingAt] = last;
      last.waitingAt = found.waitingAt;
    }
    found.waitingAt = -1;
  }

  /** A running gang asks for further workers, all of them or none; 0: it asks for none (any more). */
  setGrowth(workload: WorkloadEntity, grows: AttemptId, workers: number): void {
    if (workers === 0 && this.#growth.size === 0) return;
    const known = this.#growth.get(grows);
    if ((known?.workers ?? 0) === workers) return;
    this.#changes++;
    this.#growth.delete(grows);
    if (workers === 0) return;
    const waiting = new SortedList<WorkloadEntity>(this.#compare);
    waiting.insert(workload);
    const options = { rules: this.#rules, growth: workers, grows };
    this.#growth.set(grows, new QueueBucket(workload, options, waiting));
  }

  /** Nothing more can start until the queue changes or something is freed, which moves `opening` on. */
  markClean(capacityEpoch: number, nowMs: number): void {
    this.#cleanAtMs = nowMs;
    this.#cleanChanges = this.#changes;
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
    return this.#cleanChanges === this.#changes && this.#cleanEpoch === capacityEpoch;
  }

  /** The classes of another queue with those of this one that ask for the same, where there are such. */
  twinsOf(other: Queue): ReadonlyMap<QueueBucket, QueueBucket> {
    const twins = new Map<QueueBucket, QueueBucket>();
    for (const [key, found] of other.#classes) {
      const own = this.#classes.get(key);
      if (own !== undefined) twins.set(found, own);
    }
    for (const [id, found] of other.#growth) {
      const own = this.#growth.get(id);
      if (own !== undefined && own.workers === found.workers) twins.set(found, own);
    }
    return twins;
  }

  /** Classes come and go with what users submit; the empty ones are dropped once they outnumber the others. */
  dropEmptyClasses(): void {
    if (this.#classes.size <= this.#classesBeforeDrop) return;
    for (const [key, found] of this.#classes) {
      if (found.waiting.length > 0) continue;
      this.#classes.delete(key);
      if (this.#byKind.size > 0) this.#dropByKind(found);
    }
    this.#recent = NOBODY_RECENT.slice();
    this.#classesBeforeDrop = Math.max(classesKept(this.#rules), 2 * this.#classes.size);
  }

  #dropByKind(found: QueueBucket): void {
    for (const kind of runKindsOf(found)) {
      const alike = this.#byKind.get(kind);
      if (alike?.delete(found) === true && alike.size === 0) this.#byKind.delete(kind);
    }
  }

  /** Starts over under other rules. */
  reorder(rules: Rules): void {
    const workloads = this.#waiting.flatMap((found) => [...found.waiting.from(0)]);
    const growing = [...this.#growth];
    this.#rules = rules;
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
    for (const workload of workloads) this.add(workload);
    for (const [id, { waiting, workers }] of growing) this.setGrowth(waiting.first() as WorkloadEntity, id, workers);
  }
}
