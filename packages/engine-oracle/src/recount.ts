/**
 * Usage and fit, computed from attempts and nodes alone, without indexes or scheduling code. The checks compare the
 * engine with this independent implementation.
 */
import { acceleratorIndices, rulesOf, shapeOf, taskCountOf, isPreemptible } from "@headroom/model";
import type {
  AttemptId,
  TaskGroup,
  Node,
  NodeId,
  OrderKey,
  Policy,
  Rules,
  WorkerAllocation,
  WorkerShape,
  Workload,
  WorkloadSpec,
} from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { isGuaranteed, slicesOf } from "@headroom/engine/internals";
import { bookedMilli, countedFraction, partsBeside } from "./part-recount.ts";
import { openNodes } from "./anti-affinity-checks.ts";
import { acceptsType, amountsOf, specOf, sumOfAmounts, typeInFamily } from "./held-by-team.ts";
import type { TeamAmounts } from "./held-by-team.ts";
import { quotaView } from "./quota-recount.ts";
import { couldHold, isSelected } from "./constraint-checks.ts";
import type { Share } from "./constraint-checks.ts";

/** The part of a workload's spec that placement depends on. */
export type GangRequest = Pick<
  WorkloadSpec,
  | "team"
  | "gang"
  | "acceleratorTypes"
  | "nodeSelector"
  | "fabric"
  | "spread"
  | "data"
  | "image"
  | "secrets"
  | "kind"
  | "checkpointStore"
  | "produces"
  | "preemptible"
  | "priority"
> & {
  /** Team and user of the request; absent: user limits are ignored. */
  readonly actor?: string;
};

export const requestOf = ({ spec, actor }: Pick<Workload, "spec" | "actor">): GangRequest => ({ ...spec, actor });

/** Held, releasing and nominated amounts of one node. Amounts of accelerators are in thousandths, by index. */
export interface Held {
  readonly accelerators: Map<number, number>;
  readonly terminating: Map<number, number>;
  readonly nominated: Map<number, number>;
  /** Number of workers that hold, release or are nominated for each slice of divided accelerators. */
  readonly slices: Readonly<Record<"held" | "terminating" | "nominated", Map<number, readonly number[]>>>;
  coresMilli: number;
  memoryMib: number;
  networkGbps: number;
  workers: number;
  /** Amounts of terminating work (`away`) and of nominations (`ahead`). */
  readonly away: { coresMilli: number; memoryMib: number; networkGbps: number; workers: number };
  readonly ahead: { coresMilli: number; memoryMib: number; networkGbps: number; workers: number };
  readonly attempts: Set<AttemptId>;
}

const nothing = (): Held => ({
  accelerators: new Map(),
  terminating: new Map(),
  nominated: new Map(),
  slices: { held: new Map(), terminating: new Map(), nominated: new Map() },
  coresMilli: 0,
  memoryMib: 0,
  networkGbps: 0,
  workers: 0,
  away: { coresMilli: 0, memoryMib: 0, networkGbps: 0, workers: 0 },
  ahead: { coresMilli: 0, memoryMib: 0, networkGbps: 0, workers: 0 },
  attempts: new Set(),
});

function addWorker(amounts: Held | Held["away"], shape: WorkerShape): void {
  amounts.coresMilli += shape.coresMilli;
  amounts.memoryMib += shape.memoryMib;
  amounts.networkGbps += shape.networkGbps ?? 0;
  amounts.workers += 1;
}

interface Booked {
  readonly layer: Map<number, number>;
  readonly slices: Map<number, readonly number[]>;
  readonly node: Node | undefined;
}

function addAccelerators({ layer, slices, node }: Booked, shape: WorkerShape, worker: WorkerAllocation): void {
  const milli = bookedMilli(node, shape, worker);
  const own = slicesOf(node, shape, worker);
  for (const index of acceleratorIndices(worker.accelerators)) {
    layer.set(index, (layer.get(index) ?? 0) + milli);
    if (own.length > 0) slices.set(index, [...(slices.get(index) ?? []), ...own]);
  }
}

/**
 * Held and nominated amounts of every node. Attempts whose workload is missing are left out; a separate check reports
 * them.
 */
export function heldByNode(state: ReadonlyState): ReadonlyMap<NodeId, Held> {
  const held = new Map<NodeId, Held>();
  for (const id of state.nodes.keys()) held.set(id, nothing());
  const on = (node: NodeId): Held => {
    const sum = held.get(node) ?? nothing();
    held.set(node, sum);
    return sum;
  };
  for (const attempt of state.attempts.values()) {
    const spec = specOf(state, attempt);
    if (spec === undefined) continue;
    const terminating =
      attempt.stop === null ? (attempt.terminating ?? []) : [...attempt.workers, ...(attempt.terminating ?? [])];
    for (const worker of [...attempt.workers, ...(attempt.terminating ?? [])]) {
      const sum = on(worker.node);
      const booked = { layer: sum.accelerators, slices: sum.slices.held, node: state.nodes.get(worker.node) };
      addAccelerators(booked, shapeOf(spec.gang, worker), worker);
      addWorker(sum, shapeOf(spec.gang, worker));
      sum.attempts.add(attempt.id);
    }
    for (const worker of terminating) {
      const sum = on(worker.node);
      const booked = { layer: sum.terminating, slices: sum.slices.terminating, node: state.nodes.get(worker.node) };
      addAccelerators(booked, shapeOf(spec.gang, worker), worker);
      addWorker(sum.away, shapeOf(spec.gang, worker));
    }
  }
  for (const nomination of state.nominations.values()) {
    const spec = specOf(state, nomination);
    if (spec === undefined) continue;
    for (const worker of nomination.workers) {
      const sum = on(worker.node);
      const booked = { layer: sum.nominated, slices: sum.slices.nominated, node: state.nodes.get(worker.node) };
      addAccelerators(booked, shapeOf(spec.gang, worker), worker);
      addWorker(sum.ahead, shapeOf(spec.gang, worker));
    }
  }
  return held;
}

export const takesWork = (node: Node): boolean =>
  node.health === "up" &&
  !node.draining &&
  node.removal === undefined &&
  node.acceleratorsChanged !== true &&
  node.suspended !== true &&
  node.arriving !== true &&
  node.qualification === undefined;

export const isUsable = (node: Node): boolean => takesWork(node) && node.hotSpare !== true;

/** Free capacity of a usable node: thousandths of each accelerator, and totals of other resources. */
interface Room {
  readonly node: Node;
  readonly accelerators: readonly number[];
  /** Slices that are taken, by accelerator. */
  readonly slices: readonly (readonly number[])[];
  readonly coresMilli: number;
  readonly memoryMib: number;
  readonly networkGbps: number;
  readonly workers: number;
}

/** The accelerators of a node that foreign work uses. */
export const foreignOn = ({ foreignUse }: Node): ReadonlySet<number> =>
  new Set(acceleratorIndices(foreignUse?.accelerators ?? ""));

/** Free capacity of the usable nodes; with `held: null`, of a fleet on which nothing runs, foreign work included. */
function roomOnNodes(state: ReadonlyState, held: ReadonlyMap<NodeId, Held> | null): readonly Room[] {
  return [...state.nodes.values()].filter(isUsable).map((recorded) => {
    const { foreignUse = null, ...empty } = recorded;
    const node = held === null ? empty : recorded;
    const foreign = foreignOn(node);
    const sum = held?.get(node.id) ?? nothing();
    const others = held === null ? null : foreignUse;
    return {
      node,
      accelerators: Array.from({ length: node.acceleratorCount }, (_, index) =>
        foreign.has(index) ? 0 : 1000 - (sum.accelerators.get(index) ?? 0) - (sum.nominated.get(index) ?? 0),
      ),
      slices: Array.from({ length: node.acceleratorCount }, (_, index) => [
        ...(sum.slices.held.get(index) ?? []),
        ...(sum.slices.nominated.get(index) ?? []),
      ]),
      coresMilli: node.coresMilli - sum.coresMilli - sum.ahead.coresMilli - (others?.coresMilli ?? 0),
      memoryMib: node.memoryMib - sum.memoryMib - sum.ahead.memoryMib - (others?.memoryMib ?? 0),
      networkGbps: (node.networkGbps ?? 0) - sum.networkGbps - sum.ahead.networkGbps,
      workers: (node.workersMax ?? Number.MAX_SAFE_INTEGER) - sum.workers - sum.ahead.workers,
    };
  });
}

/** Number of workers of the gang that fit on a node. */
function workersIn(room: Room, gang: WorkerShape): number {
  const bounds = [room.workers];
  const isDivided = (index: number): boolean => (room.slices[index] ?? []).length > 0;
  const part = countedFraction(gang, room.node);
  if (part !== undefined) {
    const ofOne = (left: number, index: number): number =>
      isDivided(index) ? 0 : Math.max(0, Math.floor(left / part));
    bounds.push(room.accelerators.reduce((sum, left, index) => sum + ofOne(left, index), 0));
  } else if (gang.profile !== undefined) {
    const { profile } = gang;
    // If the taken slices do not add up to the used amount, the accelerator is used in another way and offers no slice.
    const ofOne = (left: number, index: number): number => {
      const taken = room.slices[index] ?? [];
      return 1000 - left === 125 * taken.length ? partsBeside(room.node, profile, taken) : 0;
    };
    bounds.push(room.accelerators.reduce((sum, left, index) => sum + ofOne(left, index), 0));
  } else if (gang.accelerators > 0) {
    bounds.push(Math.floor(room.accelerators.filter((left) => left === 1000).length / gang.accelerators));
  }
  if (gang.coresMilli > 0) bounds.push(Math.floor(room.coresMilli / gang.coresMilli));
  if (gang.memoryMib > 0) bounds.push(Math.floor(room.memoryMib / gang.memoryMib));
  if (gang.networkGbps !== undefined) bounds.push(Math.floor(room.networkGbps / gang.networkGbps));
  return Math.max(0, Math.min(...bounds));
}

const leastWorkers = ({ gang }: GangRequest): number => gang.minWorkers ?? gang.workers;

/** The nodes of each executor. A gang lies within one executor. */
const byExecutor = ({ pools }: ReadonlyState, rooms: readonly Room[]): readonly (readonly Room[])[] => [
  ...Map.groupBy(rooms, ({ node }) => pools.get(node.pool)?.executor).values(),
];

const typesThatFit = (state: ReadonlyState, rooms: readonly Room[], request: GangRequest): readonly string[] =>
  byExecutor(state, rooms).flatMap((within) => typesWithinOne(state, within, request));

/**
 * Types on which the gang's minimum fits under its constraints. All workers of a gang request the same amounts, so the
 * sum over nodes of the workers that fit is exact. A case that is not exact counts as not fitting.
 */
function typesWithinOne(state: ReadonlyState, rooms: readonly Room[], request: GangRequest): readonly string[] {
  const { gang, acceleratorTypes } = request;
  const sharesByType = new Map<string, Share[]>();
  for (const room of rooms) {
    const type = room.node.acceleratorType;
    if (!acceptsType(state, acceleratorTypes, room.node)) continue;
    const shares = sharesByType.get(type) ?? [];
    sharesByType.set(type, shares);
    shares.push({ node: room.node, workers: workersIn(room, gang) });
  }
  const fits = (shares: readonly Share[]): boolean => couldHold(state, request, shares, leastWorkers(request)) === true;
  return [...sharesByType].filter(([, shares]) => fits(shares)).map(([type]) => type);
}

export const isInGroups = ({ gang }: Pick<GangRequest, "gang">): boolean => gang.taskGroups !== undefined;

interface Packing {
  readonly rooms: readonly Room[];
  allows(more: TeamAmounts): boolean;
}

const groupsFit = (state: ReadonlyState, request: GangRequest, { rooms, allows }: Packing): boolean =>
  byExecutor(state, rooms).some((within) => groupsFitWithinOne(state, request, { rooms: within, allows }));

/**
 * Whether the minimum of every task group certainly fits, for one choice of a type for each group. The check assumes
 * that every worker of the other groups takes a whole node, and that the largest nodes are taken first. If the groups
 * fit under this assumption, greedy placement succeeds. An exact answer would need a search.
 */
function groupsFitWithinOne(state: ReadonlyState, request: GangRequest, { rooms, allows }: Packing): boolean {
  const { gang, acceleratorTypes, fabric, spread } = request;
  const groups = gang.taskGroups ?? [];
  if (fabric !== undefined || spread !== undefined || groups.some((group) => group.fabric !== undefined)) return false;
  const least = (group: TaskGroup): number => group.minWorkers ?? group.workers;
  const all = groups.reduce((sum, group) => sum + least(group), 0);
  const options = groups.map((group) => {
    const accepted = group.acceleratorTypes ?? acceleratorTypes;
    return [...new Set(rooms.map(({ node }) => node.acceleratorType))].filter((type) => {
      if (!acceptsType(state, accepted, typeInFamily(state, type))) return false;
      const fits = rooms
        .filter(({ node }) => node.acceleratorType === type && isSelected(state, node, request))
        .map((room) => workersIn(room, group))
        .toSorted((left, right) => right - left);
      return fits.slice(all - least(group)).reduce((sum, workers) => sum + workers, 0) >= least(group);
    });
  });
  const amounts = (types: readonly string[]): TeamAmounts =>
    sumOfAmounts(groups.map((group, at) => amountsOf(group, least(group), typeInFamily(state, types[at] ?? ""))));
  return combinations(options).some((types) => allows(amounts(types)));
}

/** All combinations of one element from each list. The element of the last list changes fastest. */
const combinations = (options: readonly (readonly string[])[]): readonly (readonly string[])[] =>
  options.reduce<readonly (readonly string[])[]>(
    (chosen, types) => chosen.flatMap((before) => types.map((type) => [...before, type])),
    [[]],
  );

/**
 * Number of the gang's workers that the usable fleet could hold without any work, if fabric and spreading constraints
 * are ignored.
 */
function countFits(state: ReadonlyState, rooms: readonly Room[], request: GangRequest): boolean {
  const { gang, acceleratorTypes } = request;
  const byType = new Map<string, number>();
  for (const room of rooms) {
    const type = room.node.acceleratorType;
    if (!acceptsType(state, acceleratorTypes, room.node)) continue;
    byType.set(type, (byType.get(type) ?? 0) + (isSelected(state, room.node, request) ? workersIn(room, gang) : 0));
  }
  return [...byType.values()].some((workers) => workers >= leastWorkers(request));
}

/**
 * Whether gangs fit. For task groups only the answer `true` is certain: a gang that fails the simple check may still
 * fit.
 */
export interface Feasibility {
  /** Whether the usable fleet could hold the gang if nothing ran. */
  couldEver(request: GangRequest): boolean;
  /** Whether the usable fleet could hold the gang by counts, without fabric and spreading constraints. */
  couldByCounts(request: GangRequest): boolean;
  /**
   * Whether the request may block requests behind it: the empty fleet could hold it within the limits of its team and
   * the teams above.
   */
  mayBlock(request: GangRequest): boolean;
  /** Whether the request could start now, by free capacity and by the limits of its team and all teams above. */
  couldNow(request: GangRequest): boolean;
}

/**
 * Whether the request depends on reserved topology: it is guaranteed work, or opportunistic work that must avoid
 * reserved topology. The checks skip such requests, because they would need an assignment of all cells. Separate tests
 * try every assignment on small fleets.
 */
const dependsOnShapes = (rules: Rules, work: GangRequest): boolean =>
  rules.teams.reservedTopology !== undefined &&
  work.gang.accelerators > 0 &&
  (isGuaranteed(rules, work) || !isPreemptible(rules, work));

export function feasibility(state: ReadonlyState): Feasibility {
  const rules = rulesOf(state.policy);
  const empty = roomOnNodes(state, null);
  const current = roomOnNodes(state, heldByNode(state));
  const quotas = quotaView(state);
  const allows = (request: GangRequest, more: TeamAmounts): boolean =>
    quotas.allows({
      team: request.team,
      ...(request.actor === undefined ? {} : { actor: request.actor }),
      isPreemptible: isPreemptible(rules, request),
      more,
    });
  const mayTake = (request: GangRequest, type: string): boolean =>
    allows(request, amountsOf(request.gang, leastWorkers(request), typeInFamily(state, type)));
  return {
    couldEver: (request) =>
      isInGroups(request)
        ? groupsFit(state, request, { rooms: empty, allows: () => true })
        : typesThatFit(state, empty, request).length > 0,
    couldByCounts: (request) =>
      isInGroups(request)
        ? groupsFit(state, request, { rooms: empty, allows: () => true })
        : countFits(state, empty, request),
    mayBlock: (request) =>
      isInGroups(request)
        ? groupsFit(state, request, { rooms: empty, allows: (more) => allows(request, more) })
        : typesThatFit(state, empty, request).some((type) => mayTake(request, type)),
    couldNow: (request) => {
      if (dependsOnShapes(rules, request)) return false;
      const isOpen = openNodes(state, request.gang);
      const open = current.filter(({ node }) => isOpen(node));
      if (isInGroups(request))
        return groupsFit(state, request, { rooms: open, allows: (more) => allows(request, more) });
      return typesThatFit(state, open, request).some((type) => mayTake(request, type));
    },
  };
}

/** Whether one of the workload's tasks may start at this instant, if capacity is ignored. */
export function hasReadyTask(workload: Workload, nowMs: number): boolean {
  if (workload.endedAtMs !== null || workload.stopRequested || workload.held === true) return false;
  if (
    workload.waitsFor !== undefined ||
    workload.waitsForStartWindow === true ||
    (workload.spec.notBeforeMs ?? 0) > nowMs
  )
    return false;
  if (isArrayFull(workload, nowMs)) return false;
  return (
    unstartedCount(workload) > 0 ||
    [...workload.tasks.values()].some(({ retryAtMs }) => retryAtMs !== null && retryAtMs <= nowMs)
  );
}

/** Whether the array has as many unfinished started tasks as it may have at one time. */
/** Counted one by one: tasks from the next one on that nobody stopped. */
function unstartedCount({ spec, nextTask, tasks }: Workload): number {
  const stopped = [...tasks.values()].filter(({ index, isGivenUp }) => isGivenUp && index >= nextTask);
  return taskCountOf(spec) - nextTask - stopped.length;
}

/** Whether the endpoint has as many replicas as it should have, those of a rollout included. Replicas in back-off count. */
function isEndpointFull({ nextTask, tasks, scale, rollout }: Workload, nowMs: number): boolean {
  const wanted = rollout === undefined ? (scale?.replicas ?? 0) : rollout.stable + rollout.canary;
  const idle = [...tasks.values()].filter(({ retryAtMs }) => retryAtMs !== null && retryAtMs <= nowMs);
  return nextTask - idle.length >= wanted;
}

function isArrayFull(workload: Workload, nowMs: number): boolean {
  const { spec, waitingTasks, succeededCount, failedCount } = workload;
  if (spec.kind === "serve") return isEndpointFull(workload, nowMs);
  if (spec.kind !== "batch" || spec.tasksAtOnce === undefined) return false;
  const done = waitingTasks.length + succeededCount + failedCount;
  return taskCountOf(spec) - unstartedCount(workload) - done >= spec.tasksAtOnce;
}

/** An independent implementation of the policy's order between workloads. */
export function compareByPolicy(policy: Policy, left: Workload, right: Workload): number {
  const values: Partial<Record<OrderKey, (workload: Workload) => number>> = {
    priority: ({ spec }) => -spec.priority,
    walltime: ({ spec }) => spec.walltimeMs ?? Number.MAX_VALUE,
    deadline: ({ spec }) => spec.deadlineMs ?? Number.MAX_VALUE,
  };
  for (const key of policy.order) {
    if (key === "submitted") break;
    const [first, second] = [values[key]?.(left) ?? 0, values[key]?.(right) ?? 0];
    if (first !== second) return first < second ? -1 : 1;
  }
  return left.ordinal - right.ordinal;
}
