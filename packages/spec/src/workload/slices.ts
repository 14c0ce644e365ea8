/** Checks that slices are whole: a gang, its minimum, and each wider slice must consist of a whole number of slices. */
import type { WorkloadSpec } from "./workload.ts";

interface CountedWorkers {
  /** Name of the field that states the number of workers. */
  readonly field: string;
  readonly workers: number;
}

export interface SliceFault {
  /** Path in the spec, starting at the list of slices. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

type Slices = readonly { readonly workers: number }[];

export function sliceFaults(slices: Slices, counts: readonly CountedWorkers[]): SliceFault[] {
  return slices.flatMap(({ workers }, at): SliceFault[] => {
    const wider = slices[at - 1];
    const wholes =
      wider === undefined ? counts : [{ field: "the workers of the slice around it", workers: wider.workers }];
    const odd = wholes.find((whole) => whole.workers % workers !== 0);
    if (odd === undefined) return [];
    return [{ path: [at, "workers"], message: `must divide ${odd.field}, which is ${odd.workers}, got ${workers}` }];
  });
}

/** Problems of the slices of a workload in the form of the API. Paths start at the spec. */
export function sliceFaultsIn({ gang, fabric }: Pick<WorkloadSpec, "gang" | "fabric">): SliceFault[] {
  const under = (path: SliceFault["path"], faults: readonly SliceFault[]): SliceFault[] =>
    faults.map((fault) => ({ ...fault, path: [...path, "fabric", "slices", ...fault.path] }));
  if (gang.taskGroups === undefined) return under([], sliceFaults(fabric?.slices ?? [], countsOf(gang, "gang.")));
  return gang.taskGroups.flatMap((group, index) =>
    under(["gang", "taskGroups", index], sliceFaults(group.fabric?.slices ?? [], countsOf(group, ""))),
  );
}

const countsOf = (
  { workers, minWorkers }: { readonly workers: number; readonly minWorkers?: number | undefined },
  prefix: string,
): readonly CountedWorkers[] => [
  { field: `${prefix}workers`, workers },
  { field: `${prefix}minWorkers`, workers: minWorkers ?? workers },
];
