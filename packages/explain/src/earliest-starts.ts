/**
 * Earliest starts by hold reasons alone (holds, dependencies, times), ignoring capacity: a lower bound for forecasts.
 * Only certain delays count: for work that merely lacks capacity, the earliest start is now.
 */
import {
  renewalMs,
  spentBudgets,
  worldOf,
  latestStartAtMs,
  opensAtMs,
  PowerForecast,
  couldEverFit,
  isBeyondQuotas,
  acceptableTypes,
  isInGroups,
  looksAround,
  windowsInTheWay,
  acceptedBy,
  emptied,
  placeOnType,
} from "@headroom/engine/internals";
import type { QueueBucket, World } from "@headroom/engine/internals";
import { firstRetry, taskCountOf } from "@headroom/model";
import type { NodeId, TeamName, WorkloadId, WaitsFor, Workload } from "@headroom/model";
import { waitingTaskCount } from "@headroom/engine";
import type { Engine } from "@headroom/engine";

export const NEVER_AS_THINGS_ARE: number = Number.POSITIVE_INFINITY;

export class EarliestStarts {
  readonly #world: World;
  readonly #nowMs: number;
  readonly #forecast: PowerForecast;
  readonly #known = new Map<WorkloadId, number>();
  readonly #closedUntilMs = new Map<QueueBucket, number>();
  readonly #nominated: ReadonlySet<WorkloadId>;

  constructor(engine: Engine, nowMs: number) {
    this.#world = worldOf(engine);
    this.#nowMs = nowMs;
    this.#forecast = new PowerForecast(this.#world.state, nowMs);
    const places = [...this.#world.state.nominations.values()].filter(({ growth }) => !growth);
    this.#nominated = new Set(places.map(({ workloadId }) => workloadId));
  }

  /** Whether a task of the workload has not started yet, or waits for a retry. */
  waits(workload: Workload): boolean {
    return workload.endedAtMs === null && (waitingTaskCount(workload) > 0 || this.#nominated.has(workload.id));
  }

  /**
   * The instant before which no waiting task starts. `NEVER_AS_THINGS_ARE` if only a user's action can start it. Call
   * it for workloads in the order of submission, so that the results for their dependencies are known.
   */
  of(workload: Workload): number {
    const { id } = workload;
    if (this.#nominated.has(id)) return this.#nowMs;
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    // A dependency cycle is visited once.
    this.#known.set(id, this.#nowMs);
    const earliestMs = this.#boundOf(workload);
    this.#known.set(id, earliestMs);
    return earliestMs;
  }

  #boundOf(workload: Workload): number {
    const { held, spec, waitsFor = [] } = workload;
    const bucket = this.#world.queue.classOf(workload);
    if (held === true || !couldEverFit(this.#world, bucket) || isBeyondQuotas(this.#world, bucket.request))
      return NEVER_AS_THINGS_ARE;
    return Math.max(
      this.#nowMs,
      spec.notBeforeMs ?? 0,
      this.#powerMs(workload),
      this.#budgetMs(spec.team),
      retryMs(workload),
      this.#openMs(bucket),
      ...waitsFor.map((wait) => this.#awaitedMs(wait)),
    );
  }

  #powerMs({ waitsForStartWindow, spec }: Workload): number {
    if (waitsForStartWindow !== true) return 0;
    const opensMs = opensAtMs(this.#world, spec, this.#forecast);
    const latestStartMs = latestStartAtMs(this.#world, spec);
    return opensMs === null || latestStartMs === null
      ? (opensMs ?? latestStartMs ?? 0)
      : Math.min(opensMs, latestStartMs);
  }

  #budgetMs(team: TeamName): number {
    const { state } = this.#world;
    let latestMs = 0;
    for (const spent of spentBudgets(state, team)) {
      const budget = state.teams.get(spent)?.budget;
      const renewsMs = budget === undefined ? 0 : renewalMs(budget, this.#nowMs);
      latestMs = Math.max(latestMs, renewsMs ?? NEVER_AS_THINGS_ARE);
    }
    return latestMs;
  }

  #openMs(bucket: QueueBucket): number {
    const openMs = this.#closedUntilMs.get(bucket) ?? openBesideWindowsMs(this.#world, bucket, this.#nowMs);
    this.#closedUntilMs.set(bucket, openMs);
    return openMs;
  }

  /** A dependency ends no earlier than its remaining tasks start; an artifact may come from a running task. */
  #awaitedMs({ workloadId, on }: WaitsFor): number {
    const awaited = this.#world.state.workloads.get(workloadId);
    if (awaited === undefined || !this.waits(awaited)) return 0;
    return on === "artifact" && awaited.activeAttempts.length > 0 ? 0 : this.of(awaited);
  }
}

/** End of the back-off, if all remaining tasks wait for a retry. */
function retryMs(workload: Workload): number {
  const { spec, nextTask, waitingTasks, activeAttempts } = workload;
  const hasUnstarted = spec.kind !== "serve" && nextTask < taskCountOf(spec);
  if (waitingTasks.length === 0 || activeAttempts.length > 0 || hasUnstarted) return 0;
  return firstRetry(workload, 0).retryAtMs;
}

/**
 * Maximum number of ends of windows that are tested, because each test costs one placement on the whole fleet for each
 * bucket. If there are more, the next end is reported without a test and may be too early.
 */
const ENDS_SIMULATED_MAX = 16;

/**
 * The instant before which calendar windows leave no capacity even on an empty fleet. 0 if there is capacity, or if
 * other constraints decide. It is never later than the real start: between the ends of two windows capacity only
 * shrinks, because later starts overlap later windows.
 */
function openBesideWindowsMs(world: World, bucket: QueueBucket, nowMs: number): number {
  const { calendar } = world;
  const isOpen = (): boolean => hasRoomBeside(world, bucket);
  const isOpenNow = (): boolean => windowsInTheWay(world, bucket.request).length === 0 || isOpen();
  if (!calendar.hasWindows || calendar.at(nowMs, isOpenNow) || !calendar.leftAside(isOpen)) return 0;
  const ends = endsThatOpen(world, bucket, nowMs);
  const untried = ends[ENDS_SIMULATED_MAX] ?? 0;
  return ends.slice(0, ENDS_SIMULATED_MAX).find((endMs) => calendar.at(endMs, isOpen)) ?? untried;
}

/** Ends of windows that exclude a usable node, in order. Windows that only a later start would overlap are included. */
function endsThatOpen(world: World, bucket: QueueBucket, nowMs: number): readonly number[] {
  const { calendar, capacity } = world;
  const types = new Set(acceptableTypes(world, bucket.request).map(({ type }) => type));
  const accepts = acceptedBy(world, bucket.request);
  const mayLieOn = (id: NodeId): boolean => {
    const slot = capacity.slot(id);
    return types.has(slot.node.acceleratorType) && slot.usable && accepts(slot);
  };
  const inTheWay = calendar.closedTo(bucket.request, Number.POSITIVE_INFINITY);
  const ends = inTheWay.filter(({ nodes }) => [...nodes].some(mayLieOn)).map(({ window }) => window.endMs);
  return [...new Set(ends)].filter((endMs) => endMs > nowMs).toSorted((left, right) => left - right);
}

/** Whether the empty fleet has capacity for the request outside the windows. Also true if other constraints decide. */
function hasRoomBeside(world: World, bucket: QueueBucket): boolean {
  const { spec } = bucket.request;
  if (isInGroups(bucket.request) || looksAround(world, spec) || world.capacity.hotSpares.size > 0) return true;
  const empty = emptied(world);
  return acceptableTypes(empty, bucket.request).some(
    (type) => placeOnType(empty, bucket.request, { type, layer: "idle" }) !== null,
  );
}
