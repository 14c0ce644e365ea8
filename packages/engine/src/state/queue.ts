/**
 * What waits and may start now, by placement class. Workloads that ask for the same (team, gang, types, wishes) stand or
 * fall together, so a round looks at classes: one that was found not to fit stays closed until something is freed.
 */
import { longestDurationMs, plannedDurationMs, windowDurationMs } from "../schedule/backfill/planned-duration.ts";
import { predictsRuns, runKindsOf } from "../past/run-times.ts";
import type { RunTimes } from "../past/run-times.ts";
import { acceptedTypes, partsOf } from "../model/gang.ts";
import type { AttemptId, NodeId, TeamName } from "../model/ids.ts";
import { minWorkersOf } from "../model/workload.ts";
import type { Attempt, GangSpec, WorkerAllocation, Workload, WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "../policy/rules.ts";
import { isGuaranteed } from "../policy/guaranteed.ts";
import { isPreemptible } from "../policy/preemptible.ts";
import { workloadOrder } from "../policy/order.ts";
import { plainHeadOrder } from "../schedule/order/head-order.ts";
import type { CompareClasses } from "../schedule/order/head-order.ts";
import type { CalendarIndex } from "./calendar-index.ts";
import { SortedList } from "./sorted-list.ts";
import type { UserUse } from "./user-use.ts";
import type { WorkloadEntity } from "./world.ts";

interface ClassOptions {
  readonly rules: Rules;
  readonly growth: number;
  readonly grows?: AttemptId | null;
  readonly holds?: Attempt | null;
  readonly group?: number | null;
}

export class PlacementClass {
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
  /** Those of them with any number of waiting tasks; every other has exactly one. */
  readonly waitingArrays: Set<WorkloadEntity> = new Set();
  /** The `Opening` at which the class was last found not to fit; -1: not since something changed. */
  closedAt = -1;
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
      holds === null || spec.gang.groups === undefined
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

/** What else decides by what work is filed. */
interface Heeded {
  readonly calendar: CalendarIndex;
  readonly users: Pick<UserUse, "isKept">;
  readonly runTimes: RunTimes;
}

/** Most work has no wishes, so they are written out only where there are some. */
function classKey({ spec, actor, lostWorkers }: Workload, rules: Rules, { calendar, users }: Heeded): string {
  const { gang, team, acceleratorTypes, fabric, nodeSelector, spread, data } = spec;
  const { groups } = gang;
  const key = `${gang.workers}|${gang.accelerators}|${gang.coresMilli}|${gang.memoryMib}|${team}|${acceleratorTypes.join("|")}`;
  const wishes =
    fabric ??
    nodeSelector ??
    spread ??
    data ??
    gang.shareMilli ??
    gang.profile ??
    gang.minWorkers ??
    groups ??
    gang.apart;
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
  if (wishes === undefined) return key + whose;
  return `${key}${whose}|${JSON.stringify([fabric, nodeSelector, spread, gang.shareMilli, gang.minWorkers, groups, data, gang.apart, gang.profile])}`;
}

const NOBODY_RECENT: readonly null[] = Array.from({ length: 64 }, () => null);

/** Where among the recent ones a class of such gangs is. */
const recentAt = ({ workers, accelerators, coresMilli, memoryMib }: GangSpec): number =>
  (workers * 13 + accelerators * 7 + coresMilli * 3 + memoryMib) & 63;

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
    left.groups === right.groups &&
    left.apart === right.apart);

/** So few that looking at all of them in a round is nothing. */
const CLASSES_KEPT = 64;

export class Queue {
  #classes = new Map<string, PlacementClass>();
  /** The same: every round looks through them. */
  #listed: PlacementClass[] = [];
  #growth = new Map<AttemptId, PlacementClass>();
  /** By the kinds of which the past tells how long their workloads last; empty where nothing is predicted. */
  #byKind = new Map<string, Set<PlacementClass>>();
  #rules: Rules;
  readonly #heeded: Heeded;
  #compare: (left: Workload, right: Workload) => number;
  #compareHeads: CompareClasses | null;
  /** Classes that were looked up lately, by the amounts that their gangs ask for. */
  #recent: (PlacementClass | null)[] = NOBODY_RECENT.slice();
  /** Workloads with at least one task that may start now. */
  readyCount = 0;
  /** Those of them that are gangs of groups. */
  #groupedCount = 0;
  /** Room for a round's list of classes, kept from round to round. */
  readonly openScratch: PlacementClass[] = [];
  /** Grows whenever somebody joins or leaves the queue. */
  #changes = 0;
  #settledChanges = -1;
  #settledOpening = -1;
  #settledAtMs = -1;
  /** Empty classes are looked for once there are more classes than this. */
  #classesBeforeDrop = CLASSES_KEPT;

  constructor(rules: Rules, heeded: Heeded) {
    this.#rules = rules;
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

  /** Classes of work that waits to start. */
  classes(): readonly PlacementClass[] {
    return this.#listed;
  }

  /** Classes of running gangs that ask for further workers, one for each attempt. */
  growthClasses(): IterableIterator<PlacementClass> {
    return this.#growth.values();
  }

  /** The request of an attempt for further workers, if it has one. */
  growthOf(id: AttemptId): PlacementClass | undefined {
    return this.#growth.get(id);
  }

  classOf(workload: Workload): PlacementClass {
    const at = recentAt(workload.spec.gang);
    const recent = this.#recent[at] as PlacementClass | null;
    if (recent !== null && this.#isOf(recent, workload)) return recent;
    const found = this.#classFor(workload);
    this.#recent[at] = found;
    return found;
  }

  /** Whether the work says all that `classKey` asks about in the very words of the class's own: then its key need not be written out. */
  #isOf(found: PlacementClass, { spec, actor: whose, lostWorkers = 0 }: Workload): boolean {
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
    const isTimeless = this.#rules.backfill.reserve === "none" && !this.#heeded.calendar.hasWindows;
    if (known.name !== spec.name && predictsRuns(this.#rules)) return false;
    return isTimeless || (known.walltimeMs === spec.walltimeMs && known.graceTimeoutMs === spec.graceTimeoutMs);
  }

  #classFor(workload: Workload): PlacementClass {
    const key = classKey(workload, this.#rules, this.#heeded);
    let found = this.#classes.get(key);
    if (found === undefined) {
      found = new PlacementClass(
        workload,
        { rules: this.#rules, growth: 0 },
        new SortedList<WorkloadEntity>(this.#compare),
      );
      this.#classes.set(key, found);
      this.#listed.push(found);
      this.#fileByKind(found);
    }
    return found;
  }

  #fileByKind(found: PlacementClass): void {
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
        found.closedAt = -1;
        this.unsettle();
      }
  }

  add(workload: WorkloadEntity): void {
    const found = this.classOf(workload);
    found.waiting.insert(workload);
    if (workload.spec.kind === "batch") found.waitingArrays.add(workload);
    workload.placementClass = found;
    this.readyCount++;
    if (workload.spec.gang.groups !== undefined) this.#groupedCount++;
    this.#changes++;
  }

  has(workload: WorkloadEntity): boolean {
    return workload.placementClass !== null;
  }

  remove(workload: WorkloadEntity): void {
    if (workload.placementClass === null) return;
    workload.placementClass.waiting.remove(workload);
    if (workload.spec.kind === "batch") workload.placementClass.waitingArrays.delete(workload);
    workload.placementClass = null;
    this.readyCount--;
    if (workload.spec.gang.groups !== undefined) this.#groupedCount--;
    this.#changes++;
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
    this.#growth.set(grows, new PlacementClass(workload, options, waiting));
  }

  /** Nothing more can start until the queue changes or something is freed, which moves `opening` on. */
  settle(opening: number, nowMs: number): void {
    this.#settledAtMs = nowMs;
    this.#settledChanges = this.#changes;
    this.#settledOpening = opening;
  }

  /** What was found not to start has to be looked at again, although nothing was freed. */
  unsettle(): void {
    this.#settledChanges = -1;
  }

  /** When it was last found that nothing more can start. */
  get settledAtMs(): number {
    return this.#settledAtMs;
  }

  isSettled(opening: number): boolean {
    return this.#settledChanges === this.#changes && this.#settledOpening === opening;
  }

  /** The classes of another queue with those of this one that ask for the same, where there are such. */
  twinsOf(other: Queue): ReadonlyMap<PlacementClass, PlacementClass> {
    const twins = new Map<PlacementClass, PlacementClass>();
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
    this.#listed = [...this.#classes.values()];
    this.#recent = NOBODY_RECENT.slice();
    this.#classesBeforeDrop = Math.max(CLASSES_KEPT, 2 * this.#classes.size);
  }

  #dropByKind(found: PlacementClass): void {
    for (const kind of runKindsOf(found)) {
      const alike = this.#byKind.get(kind);
      if (alike?.delete(found) === true && alike.size === 0) this.#byKind.delete(kind);
    }
  }

  /** Starts over under other rules. */
  reorder(rules: Rules): void {
    const workloads = this.#listed.flatMap((found) => [...found.waiting.from(0)]);
    const growing = [...this.#growth];
    this.#rules = rules;
    this.#compare = workloadOrder(rules);
    this.#compareHeads = plainHeadOrder(rules, this.#compare);
    this.#classes = new Map();
    this.#listed = [];
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
