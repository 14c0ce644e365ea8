/**
 * Checks the task groups of a placed gang: each group has at least its minimum and at most its maximum of workers, and
 * lies on one accepted accelerator type.
 */
import { isOfTypes } from "@headroom/model";
import type { AttemptId, WorkerAllocation, WorkloadSpec } from "@headroom/model";
import type { ReadonlyState } from "../../state/state.ts";
import type { Findings } from "./findings.ts";

interface Placed {
  readonly id: AttemptId;
  readonly spec: WorkloadSpec;
  readonly workers: readonly WorkerAllocation[];
  /**
   * True if the gang may be below its minimums, because it lost workers and is ending, or because `workers` lists only
   * some of its workers.
   */
  readonly isIncomplete: boolean;
}

export function checkGroups(
  findings: Findings,
  state: ReadonlyState,
  { id, spec, workers, isIncomplete }: Placed,
): void {
  const { taskGroups } = spec.gang;
  findings.expect(
    workers.every(({ taskGroup }) => (taskGroups === undefined) === (taskGroup === undefined)),
    () => `${id} has workers ${taskGroups === undefined ? "in groups" : "without a group"}`,
  );
  for (const [index, { name, workers: most, minWorkers: least = most, acceleratorTypes }] of (
    taskGroups ?? []
  ).entries()) {
    const own = workers.filter(({ taskGroup }) => taskGroup === index);
    findings.expect(
      own.length <= most && (isIncomplete || own.length >= least),
      () => `${id} has ${own.length} workers of ${name}, which may have ${least} to ${most}`,
    );
    const nodes = own.map(({ node }) => state.nodes.get(node) ?? { acceleratorType: "" });
    const types = [...new Set(nodes.map(({ acceleratorType }) => acceleratorType))];
    const accepted = acceleratorTypes ?? spec.acceleratorTypes;
    findings.expect(
      types.length <= 1 && nodes.every((node) => isOfTypes(accepted, node)),
      () => `${name} of ${id} was given ${types.join(" and ")}`,
    );
  }
}
