/** A gang as the parts that it is made of: one for each of its groups, or a single one. */
import { profileMilli } from "./mig.ts";
import { minWorkersOf } from "./workload.ts";
import type { GangGroup, GangSpec, WorkerAllocation, WorkerShape, WorkloadSpec } from "./workload.ts";

/** So many workers of one kind. */
export interface GangPart {
  readonly shape: WorkerShape;
  readonly workers: number;
  /** Position among the groups; absent in a gang without. */
  readonly group?: number;
}

/** What this worker of the gang needs. */
export const shapeOf = (gang: GangSpec, { group }: Pick<WorkerAllocation, "group">): WorkerShape =>
  group === undefined ? gang : groupAt(gang, group);

export const groupAt = ({ groups = [] }: GangSpec, index: number): GangGroup => groups[index] as GangGroup;

const partsBy = (gang: GangSpec, count: (of: Pick<GangSpec, "workers" | "minWorkers">) => number): GangPart[] =>
  gang.groups === undefined
    ? [{ shape: gang, workers: count(gang) }]
    : gang.groups.map((group, index) => ({ shape: group, workers: count(group), group: index }));

/** All that it wants. */
export const wholeParts = (gang: GangSpec): GangPart[] => partsBy(gang, ({ workers }) => workers);

/** What it starts with. */
export const leastParts = (gang: GangSpec): GangPart[] => partsBy(gang, minWorkersOf);

/** Of these workers, how many of each kind. */
export function partsOf(gang: GangSpec, workers: readonly WorkerAllocation[]): GangPart[] {
  if (gang.groups === undefined) return [{ shape: gang, workers: workers.length }];
  const counts = gang.groups.map(() => 0);
  for (const { group = 0 } of workers) counts[group] = (counts[group] ?? 0) + 1;
  return gang.groups.map((group, index) => ({ shape: group, workers: counts[index] ?? 0, group: index }));
}

/** Accelerators in sum, a part of one counting as one. */
export const acceleratorsIn = (parts: readonly GangPart[]): number =>
  parts.reduce((sum, { shape, workers }) => sum + workers * shape.accelerators, 0);

/** Types that a group will do with, in order of preference; empty: any. */
export const typesOfGroup = (spec: WorkloadSpec, group: GangGroup): readonly string[] =>
  group.acceleratorTypes ?? spec.acceleratorTypes;

/** Types that any worker of the work will do with, most preferred first; empty: any. */
export function acceptedTypes(spec: WorkloadSpec): readonly string[] {
  const { groups } = spec.gang;
  if (groups === undefined) return spec.acceleratorTypes;
  const lists = groups.map((group) => typesOfGroup(spec, group));
  return lists.some((list) => list.length === 0) ? [] : [...new Set(lists.flat())];
}

/** A group as if it were a gang of its own. */
export function gangOfGroup(gang: GangSpec, index: number): GangSpec {
  const { name: _name, acceleratorTypes: _types, fabric: _fabric, ...alone } = groupAt(gang, index);
  return gang.apart === undefined ? alone : { ...alone, apart: gang.apart };
}

/** The work of one group as if it were a gang of its own. */
export function specOfGroup(spec: WorkloadSpec, index: number): WorkloadSpec {
  const group = groupAt(spec.gang, index);
  const { fabric } = group;
  const { fabric: _together, ...rest } = spec;
  const gang = gangOfGroup(spec.gang, index);
  return { ...rest, gang, acceleratorTypes: typesOfGroup(spec, group), ...(fabric === undefined ? {} : { fabric }) };
}

/** The gang that these groups make. */
export function gangOfGroups(groups: readonly GangGroup[]): GangSpec {
  const sum = (of: (group: GangGroup) => number): number => groups.reduce((total, group) => total + of(group), 0);
  const most = (of: (group: GangGroup) => number): number => groups.reduce((top, group) => Math.max(top, of(group)), 0);
  const workers = sum((group) => group.workers);
  const minWorkers = sum(minWorkersOf);
  return {
    workers,
    accelerators: most(({ accelerators }) => accelerators),
    coresMilli: most(({ coresMilli }) => coresMilli),
    memoryMib: most(({ memoryMib }) => memoryMib),
    ...(minWorkers < workers ? { minWorkers } : {}),
    groups,
  };
}

export const WHOLE_MILLI = 1000;

/** Thousandths of each of its accelerators that count as a worker's. */
export const milliOf = ({ shareMilli, profile }: WorkerShape): number =>
  profile === undefined ? (shareMilli ?? WHOLE_MILLI) : profileMilli(profile);
