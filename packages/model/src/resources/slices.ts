/**
 * Elastic gangs with slices change size by whole slices. A running gang consists of whole slices of the outermost
 * level, each a sequence of consecutive ranks.
 */
import { groupAt, partsOf } from "./gang.ts";
import type { WorkerAllocation } from "./attempt.ts";
import type { GangSpec, WorkloadSpec } from "./workload.ts";

type SlicedSpec = Pick<WorkloadSpec, "gang" | "fabric">;

/**
 * Number of workers in a slice of the outermost level, of the gang or of one task group. 1 if slices are not required.
 */
export function sliceSize({ gang, fabric }: SlicedSpec, group: number | undefined): number {
  const wished = group === undefined ? fabric : groupAt(gang, group).fabric;
  return wished?.slices?.[0]?.workers ?? 1;
}

/** Largest number of workers, at most `most`, that form whole slices, counted from rank 0. */
export function wholeSlices(spec: SlicedSpec, workers: readonly WorkerAllocation[], most: number): number {
  const group = workers[most - 1]?.taskGroup;
  const size = sliceSize(spec, group);
  if (size === 1 || most === 0) return most;
  const own = group === undefined ? most : workers.slice(0, most).filter((worker) => worker.taskGroup === group).length;
  return most - (own % size);
}

/**
 * Number of workers that remain if the last of the first `count` workers is removed, together with its whole slice if
 * the gang has slices.
 */
export const withoutLast = (spec: SlicedSpec, workers: readonly WorkerAllocation[], count: number): number =>
  wholeSlices(spec, workers, count - 1);

/** Number of workers that the gang must add to complete its next slice; 0 if it is at its maximum. */
export function growthCount(spec: SlicedSpec, workers: readonly WorkerAllocation[]): number {
  if (spec.gang.taskGroups === undefined)
    return upToWhole(sliceSize(spec, undefined), workers.length, spec.gang.workers);
  const [group] = groupsToGrow(spec.gang, workers);
  if (group === undefined) return 0;
  const has = partsOf(spec.gang, workers)[group]?.workers ?? 0;
  return upToWhole(sliceSize(spec, group), has, groupAt(spec.gang, group).workers);
}

/**
 * Indexes of the task groups that can grow, by exactly `count` workers if a count is given. The group with the smallest
 * part of its maximum number of workers comes first.
 */
export function groupsToGrow(gang: GangSpec, workers: readonly WorkerAllocation[], count = 0): readonly number[] {
  return partsOf(gang, workers)
    .map((part, index) => {
      const most = groupAt(gang, index).workers;
      return { ...part, most, index, step: upToWhole(sliceSize({ gang }, index), part.workers, most) };
    })
    .filter(({ step, workers: has, most }) => step > 0 && count % step === 0 && has + count <= most)
    .toSorted((left, right) => left.workers * right.most - right.workers * left.most || left.index - right.index)
    .map(({ index }) => index);
}

/** Number of workers that complete the next slice; 0 if the gang would then exceed its maximum. */
function upToWhole(size: number, has: number, most: number): number {
  const more = size - (has % size);
  return has + more > most ? 0 : more;
}
