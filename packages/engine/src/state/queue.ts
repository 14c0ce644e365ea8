/**
 * What waits and may start now, by placement class. Workloads that ask for the same (team, gang, accelerator types) stand
 * or fall together, so a round looks at classes: one that was found not to fit stays closed until something is freed.
 */
import type { TeamName } from "../model/ids.ts";
import type { GangSpec, Workload } from "../model/workload.ts";
import type { Policy } from "../policy/policy.ts";
import { workloadOrder } from "../policy/order.ts";
import { SortedList } from "./sorted-list.ts";
import type { WorkloadEntity } from "./world.ts";

export class PlacementClass {
  readonly team: TeamName;
  readonly gang: GangSpec;
  readonly acceleratorTypes: readonly string[];
  readonly waiting: SortedList<WorkloadEntity>;
  /** Those of them with any number of waiting tasks; every other has exactly one. */
  readonly waitingArrays: Set<WorkloadEntity> = new Set();
  /** The `Opening` at which the class was last found not to fit; -1: not since something changed. */
  closedAt = -1;
  /** Whether the empty fleet could hold one gang, as of `fleetEpoch`. */
  fitsFleet = false;
  fleetEpoch = -1;

  constructor(workload: Workload, waiting: SortedList<WorkloadEntity>) {
    this.team = workload.spec.team;
    this.gang = workload.spec.gang;
    this.acceleratorTypes = workload.spec.acceleratorTypes;
    this.waiting = waiting;
  }
}

const classKey = ({ spec }: Workload): string =>
  `${spec.gang.workers}|${spec.gang.accelerators}|${spec.gang.coresMilli}|${spec.gang.memoryMib}|${spec.team}|${spec.acceleratorTypes.join("|")}`;

/** So few that looking at all of them in a round is nothing. */
const CLASSES_KEPT = 64;

export class Queue {
  #classes = new Map<string, PlacementClass>();
  #compare: (left: Workload, right: Workload) => number;
  /** Workloads with at least one task that may start now. */
  readyCount = 0;
  /** Room for a round's list of classes, kept from round to round. */
  readonly openScratch: PlacementClass[] = [];
  /** Grows whenever somebody joins or leaves the queue. */
  #changes = 0;
  #settledChanges = -1;
  #settledOpening = -1;
  /** Empty classes are looked for once there are more classes than this. */
  #classesBeforeDrop = CLASSES_KEPT;

  constructor(policy: Policy) {
    this.#compare = workloadOrder(policy);
  }

  get compare(): (left: Workload, right: Workload) => number {
    return this.#compare;
  }

  classes(): IterableIterator<PlacementClass> {
    return this.#classes.values();
  }

  classOf(workload: Workload): PlacementClass {
    const key = classKey(workload);
    let found = this.#classes.get(key);
    if (found === undefined) {
      found = new PlacementClass(workload, new SortedList<WorkloadEntity>(this.#compare));
      this.#classes.set(key, found);
    }
    return found;
  }

  add(workload: WorkloadEntity): void {
    const found = this.classOf(workload);
    found.waiting.insert(workload);
    if (workload.spec.kind === "batch") found.waitingArrays.add(workload);
    workload.placementClass = found;
    this.readyCount++;
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
    this.#changes++;
  }

  /** Nothing more can start until the queue changes or something is freed, which moves `opening` on. */
  settle(opening: number): void {
    this.#settledChanges = this.#changes;
    this.#settledOpening = opening;
  }

  isSettled(opening: number): boolean {
    return this.#settledChanges === this.#changes && this.#settledOpening === opening;
  }

  /** Classes come and go with what users submit; the empty ones are dropped once they outnumber the others. */
  dropEmptyClasses(): void {
    if (this.#classes.size <= this.#classesBeforeDrop) return;
    for (const [key, found] of this.#classes) if (found.waiting.length === 0) this.#classes.delete(key);
    this.#classesBeforeDrop = Math.max(CLASSES_KEPT, 2 * this.#classes.size);
  }

  /** Starts over under another policy's order. */
  reorder(policy: Policy): void {
    const workloads = [...this.#classes.values()].flatMap((found) => [...found.waiting.from(0)]);
    this.#compare = workloadOrder(policy);
    this.#classes = new Map();
    this.readyCount = 0;
    this.#changes++;
    for (const workload of workloads) this.add(workload);
  }
}
