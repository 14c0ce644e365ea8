/** A gang as a list of parts: one part for each task group, or a single part if the gang has no task groups. */
import { milliOf } from "./device-part.ts";
import { minWorkersOf } from "./workload.ts";
import type { WorkerAllocation } from "./attempt.ts";
import type { TaskGroup, GangSpec, WorkerShape, Workload, WorkloadSpec } from "./workload.ts";

export interface GangPart {
  readonly shape: WorkerShape;
  readonly workers: number;
  /** Index of the task group. Absent: the gang has no task groups. */
  readonly group?: number;
  /**
   * Thousandths of accelerators that the part's workers hold, if the size of their fraction depends on their nodes.
   * Absent: the amount follows from the shape.
   */
  readonly heldMilli?: number;
}

/** Resources of one worker of a gang, which depend on its task group. */
export function shapeOf(
  gang: GangSpec,
  { taskGroup, shareMilli }: Pick<WorkerAllocation, "taskGroup" | "shareMilli">,
): WorkerShape {
  const shape = taskGroup === undefined ? gang : groupAt(gang, taskGroup);
  return shareMilli === undefined ? shape : { ...shape, shareMilli };
}

export const groupAt = ({ taskGroups = [] }: GangSpec, index: number): TaskGroup => taskGroups[index] as TaskGroup;

const partsBy = (gang: GangSpec, count: (of: Pick<GangSpec, "workers" | "minWorkers">) => number): GangPart[] =>
  gang.taskGroups === undefined
    ? [{ shape: gang, workers: count(gang) }]
    : gang.taskGroups.map((group, index) => ({ shape: group, workers: count(group), group: index }));

export const wholeParts = (gang: GangSpec): GangPart[] => partsBy(gang, ({ workers }) => workers);

export const leastParts = (gang: GangSpec): GangPart[] => partsBy(gang, minWorkersOf);

/** Parts of the gang that these placed workers belong to, with the number of workers in each. */
export function partsOf(gang: GangSpec, workers: readonly WorkerAllocation[]): GangPart[] {
  if (gang.taskGroups === undefined) return [heldPart({ shape: gang, workers: workers.length }, workers)];
  const counts = gang.taskGroups.map(() => 0);
  for (const { taskGroup = 0 } of workers) counts[taskGroup] = (counts[taskGroup] ?? 0) + 1;
  return gang.taskGroups.map((group, index) =>
    heldPart({ shape: group, workers: counts[index] ?? 0, group: index }, workers),
  );
}

function heldPart(part: GangPart, workers: readonly WorkerAllocation[]): GangPart {
  if (part.shape.acceleratorMemoryMib === undefined) return part;
  const own = workers.filter(({ taskGroup }) => taskGroup === part.group);
  return { ...part, heldMilli: own.reduce((sum, { shareMilli = 0 }) => sum + shareMilli, 0) };
}

/** Total number of accelerators; a worker with a fraction counts as 1. */
export const acceleratorsIn = (parts: readonly GangPart[]): number =>
  parts.reduce((sum, { shape, workers }) => sum + workers * shape.accelerators, 0);

/** Accelerator types that a task group accepts, in order of preference. Empty: it accepts any type. */
export const typesOfGroup = (spec: WorkloadSpec, group: TaskGroup): readonly string[] =>
  group.acceleratorTypes ?? spec.acceleratorTypes;

/** Accelerator types that any worker of the workload accepts, most preferred first. Empty: any type is accepted. */
export function acceptedTypes(spec: WorkloadSpec): readonly string[] {
  const { taskGroups } = spec.gang;
  if (taskGroups === undefined) return spec.acceleratorTypes;
  const lists = taskGroups.map((group) => typesOfGroup(spec, group));
  return lists.some((list) => list.length === 0) ? [] : [...new Set(lists.flat())];
}

/** `acceptedTypes`, in the order that the last change of an endpoint's replicas chose. */
export function typeOrder({ spec, scale }: Pick<Workload, "spec" | "scale">): readonly string[] {
  const accepted = acceptedTypes(spec);
  const chosen = (scale?.acceleratorTypes ?? []).filter((type) => accepted.includes(type));
  if (chosen.length === 0 || spec.gang.taskGroups !== undefined) return accepted;
  return [...chosen, ...accepted.filter((type) => !chosen.includes(type))];
}

export function gangOfGroup(gang: GangSpec, index: number): GangSpec {
  const { name: _name, acceleratorTypes: _types, fabric: _fabric, ...alone } = groupAt(gang, index);
  return gang.antiAffinity === undefined ? alone : { ...alone, antiAffinity: gang.antiAffinity };
}

/** The spec of one task group in the form of a workload. */
export function specOfGroup(spec: WorkloadSpec, index: number): WorkloadSpec {
  const group = groupAt(spec.gang, index);
  const { fabric } = group;
  const { fabric: _together, ...rest } = spec;
  const gang = gangOfGroup(spec.gang, index);
  return { ...rest, gang, acceleratorTypes: typesOfGroup(spec, group), ...(fabric === undefined ? {} : { fabric }) };
}

export function gangOfGroups(groups: readonly TaskGroup[]): GangSpec {
  const sum = (of: (group: TaskGroup) => number): number => groups.reduce((total, group) => total + of(group), 0);
  const most = (of: (group: TaskGroup) => number): number => groups.reduce((top, group) => Math.max(top, of(group)), 0);
  const workers = sum((group) => group.workers);
  const minWorkers = sum(minWorkersOf);
  return {
    workers,
    accelerators: most(({ accelerators }) => accelerators),
    coresMilli: most(({ coresMilli }) => coresMilli),
    memoryMib: most(({ memoryMib }) => memoryMib),
    ...(minWorkers < workers ? { minWorkers } : {}),
    taskGroups: groups,
  };
}

/** Thousandths of accelerators that a part is charged. */
export const milliOfPart = ({ shape, workers, heldMilli }: GangPart): number =>
  heldMilli ?? workers * shape.accelerators * milliOf(shape);

/** Sum of the accelerators of all parts, in thousandths; a fraction counts as its fraction. */
export const milliIn = (parts: readonly GangPart[]): number => parts.reduce((sum, part) => sum + milliOfPart(part), 0);
