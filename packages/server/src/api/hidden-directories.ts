/** Refuses work in a directory of the control plane: an isolated job would find it empty. */
import type { Executor } from "@headroom/executors";
import { refuse } from "@headroom/protocol";
import type { ProblemError, WorkloadSpec } from "@headroom/protocol";

interface SpecWithDirectory {
  /** JSON pointer of the workload in the request. */
  readonly pointer: string;
  readonly spec: Partial<Pick<WorkloadSpec, "dir">>;
}

const ADVICE =
  "lies in the state directory of the control plane, which workloads do not see: submit from another directory, or name one with `dir`";

/** The refusal of the first workload whose directory every executor hides, or `null`. */
export function directoryRefusal(
  executors: Iterable<Executor>,
  specs: readonly SpecWithDirectory[],
): ProblemError | null {
  const all = [...executors];
  const known = new Map<string, boolean>();
  for (const { pointer, spec } of specs) {
    if (spec.dir == null) continue;
    const isHidden = known.get(spec.dir) ?? isHiddenBy(all, spec.dir);
    known.set(spec.dir, isHidden);
    if (!isHidden) continue;
    const errors = [{ pointer: `${pointer}/dir`, message: ADVICE }];
    return refuse("invalidRequest", `The request is not valid. ${pointer}/dir: ${spec.dir} ${ADVICE}.`, { errors });
  }
  return null;
}

function isHiddenBy(executors: readonly Executor[], directory: string): boolean {
  return executors.length > 0 && executors.every((executor) => executor.hides?.(directory) === true);
}
