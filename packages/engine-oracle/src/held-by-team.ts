/**
 * Usage of each team, counted from attempts and nominations alone, and the number of workers that running gangs may
 * request.
 */
import { isEviction, rulesOf, shapeOf } from "@headroom/model";
import type {
  Attempt,
  TaskGroup,
  GangSpec,
  TeamName,
  WorkerAllocation,
  WorkerShape,
  Workload,
  WorkloadId,
} from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { withAncestors } from "@headroom/engine/internals";
import { countedMilli } from "./part-recount.ts";

export const specOf = (
  state: ReadonlyState,
  attempt: { readonly workloadId: WorkloadId },
): Workload["spec"] | undefined => state.workloads.get(attempt.workloadId)?.spec;

/** Amounts by resource, with the names and the units in which teams state them. */
export type TeamAmounts = ReadonlyMap<string, number>;

/** An accelerator type, with its family if it has one. */
export interface TypeInFamily {
  readonly acceleratorType: string;
  readonly acceleratorFamily?: string;
}

/** An accelerator type, with the family that is recorded on nodes of this type. */
export const typeInFamily = (state: ReadonlyState, type: string): TypeInFamily =>
  [...state.nodes.values()].find(({ acceleratorType }) => acceleratorType === type) ?? { acceleratorType: type };

/**
 * Whether names of types or families include an accelerator type. A name is read as a type if a node has this type,
 * otherwise as a family. An empty list includes every type.
 */
export function acceptsType(
  state: ReadonlyState,
  names: readonly string[],
  { acceleratorType, acceleratorFamily }: TypeInFamily,
): boolean {
  if (names.length === 0 || names.includes(acceleratorType)) return true;
  if (acceleratorFamily === undefined || !names.includes(acceleratorFamily)) return false;
  return ![...state.nodes.values()].some((node) => node.acceleratorType === acceleratorFamily);
}

export function amountsOf(
  shape: WorkerShape,
  workers: number,
  { acceleratorType: type, acceleratorFamily: family }: TypeInFamily,
): TeamAmounts {
  const accelerators = (workers * shape.accelerators * countedMilli(shape)) / 1000;
  return new Map([
    ["cores", workers * shape.coresMilli],
    ["memory", workers * shape.memoryMib],
    ["networkGbps", workers * (shape.networkGbps ?? 0)],
    ["accelerators", accelerators],
    ...(type === "" ? [] : ([[type, accelerators]] as const)),
    ...(family === undefined ? [] : ([[family, accelerators]] as const)),
  ]);
}

/** Sum of amounts, by resource. */
export function sumOfAmounts(amounts: Iterable<TeamAmounts>): TeamAmounts {
  const sum = new Map<string, number>();
  for (const each of amounts) addAmounts(sum, each);
  return sum;
}

/** Sums are rounded to thousandths, so that slices that add up to thirteen accelerators count as exactly thirteen. */
function addAmounts(sum: Map<string, number>, more: TeamAmounts): void {
  for (const [resource, amount] of more)
    sum.set(resource, Math.round(((sum.get(resource) ?? 0) + amount) * 1000) / 1000);
}

/** Resources that workers of a gang hold. Each worker's resources count on the accelerator type of its node. */
export const amountsHeld = (state: ReadonlyState, gang: GangSpec, workers: readonly WorkerAllocation[]): TeamAmounts =>
  sumOfAmounts(
    workers.map((worker) =>
      amountsOf(shapeOf(gang, worker), 1, state.nodes.get(worker.node) ?? { acceleratorType: "" }),
    ),
  );

/** Usage of each team, with its nominations and with all teams below it. Work that a plan evicted no longer counts. */
export function heldByTeam(
  state: ReadonlyState,
  counts: (workload: Workload) => boolean = () => true,
): ReadonlyMap<TeamName, TeamAmounts> {
  const held = new Map<TeamName, Map<string, number>>();
  const add = (id: WorkloadId, workers: readonly WorkerAllocation[]): void => {
    const workload = state.workloads.get(id);
    if (workload === undefined || !counts(workload)) return;
    const { spec } = workload;
    for (const team of withAncestors(state, spec.team)) {
      const amounts = held.get(team) ?? new Map<string, number>();
      held.set(team, amounts);
      addAmounts(amounts, amountsHeld(state, spec.gang, workers));
    }
  };
  for (const attempt of state.attempts.values()) {
    if (!isEvicted(attempt)) add(attempt.workloadId, attempt.workers);
  }
  for (const nomination of state.nominations.values()) add(nomination.workloadId, nomination.workers);
  return held;
}

/** Whether a plan evicted all workers of the attempt. */
const isEvicted = ({ stop }: Attempt): boolean => stop !== null && isEviction(stop.reason);

/**
 * Number of workers that a running gang may request at once. Below its minimum: the missing workers. Otherwise: one
 * worker, or the workers that complete a slice.
 */
export function growthAsked(state: ReadonlyState, attempt: Attempt): number {
  const workload = state.workloads.get(attempt.workloadId);
  if (workload === undefined || rulesOf(state.policy).elastic.grow === "never") return 0;
  const isRepaired = attempt.missing !== undefined || attempt.joining !== undefined;
  const isChanging =
    isRepaired ||
    attempt.joinFailure !== undefined ||
    attempt.launchAtMs !== undefined ||
    attempt.stop !== null ||
    attempt.terminating !== undefined ||
    state.nominations.has(attempt.id);
  const { gang, fabric } = workload.spec;
  if (isChanging || workload.stopRequested || attempt.workers.length >= gang.workers) return 0;
  const { length } = attempt.workers;
  const least = gang.minWorkers ?? gang.workers;
  if (length < least) return least - length;
  const isByCurve = rulesOf(state.policy).elastic.by === "throughput" && gang.throughputMilli !== undefined;
  const slice = fabric?.slices?.[0]?.workers ?? 1;
  if (gang.taskGroups !== undefined) return stepOfGroups(gang.taskGroups, attempt.workers);
  return isByCurve ? bestStep(gang.throughputMilli ?? [], length, slice) : stepWithin(slice, length, gang.workers);
}

/**
 * Number of workers that a gang must add to reach the next size in whole slices. 0 if this size exceeds its maximum.
 */
function stepWithin(slice: number, has: number, most: number): number {
  const next = slice * (Math.floor(has / slice) + 1);
  return next <= most ? next - has : 0;
}

/**
 * The number of workers that complete a slice of one task group: the group that has the smallest part of its maximum.
 */
function stepOfGroups(groups: readonly TaskGroup[], workers: readonly WorkerAllocation[]): number {
  let [part, step] = [Number.POSITIVE_INFINITY, 0];
  for (const [index, { workers: most, fabric }] of groups.entries()) {
    const has = workers.filter(({ taskGroup }) => taskGroup === index).length;
    const own = stepWithin(fabric?.slices?.[0]?.workers ?? 1, has, most);
    if (own > 0 && has / most < part) [part, step] = [has / most, own];
  }
  return step;
}

/**
 * The growth step with the highest gain per worker; among equal ones, the smallest. 0 if no step increases the
 * throughput.
 */
function bestStep(curve: readonly number[], length: number, slice: number): number {
  const now = curve[length - 1] ?? 0;
  const eachOf = curve
    .slice(length)
    .map((milli, index) => ((length + index + 1) % slice === 0 ? (milli - now) / (index + 1) : 0));
  const best = Math.max(0, ...eachOf);
  return best > 0 ? eachOf.indexOf(best) + 1 : 0;
}

/** Usage by one user's work in each team, with all teams below it. */
export const heldByUser = (state: ReadonlyState, user: string): ReadonlyMap<TeamName, TeamAmounts> =>
  heldByTeam(state, ({ actor }) => actor === user);

/**
 * Whether the user's work is within the user limits of the team and every team above it, for the requested resources.
 */
export function isWithinUserLimits(
  state: ReadonlyState,
  user: string,
  { team, asked }: { readonly team: TeamName; readonly asked: TeamAmounts },
): boolean {
  const line = withAncestors(state, team).filter((at) => state.teams.get(at)?.userLimit !== undefined);
  if (line.length === 0) return true;
  const held = heldByUser(state, user);
  return line.every((at) =>
    Object.entries(state.teams.get(at)?.userLimit ?? {}).every(
      ([resource, limit]) => (asked.get(resource) ?? 0) === 0 || (held.get(at)?.get(resource) ?? 0) <= limit,
    ),
  );
}

/** Whether the team and every team above it are within their limits, for the requested resources. */
export function isWithinLimits(
  state: ReadonlyState,
  held: ReadonlyMap<TeamName, TeamAmounts>,
  { team, asked }: { readonly team: TeamName; readonly asked: TeamAmounts },
): boolean {
  return withAncestors(state, team).every((at) =>
    Object.entries(state.teams.get(at)?.limit ?? {}).every(
      ([resource, limit]) => (asked.get(resource) ?? 0) === 0 || (held.get(at)?.get(resource) ?? 0) <= limit,
    ),
  );
}
