/**
 * Checks that no task is retried after more failures than its workload permits. The permitted number may be lowered
 * below the failures so far, which ends nothing that runs or waits. So the check judges the decision after each failure,
 * not the state.
 */
import { taskOf, workloadId } from "@headroom/model";
import type { Event, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";

export function checkRetries(findings: Findings, state: ReadonlyState, events: readonly Event[]): void {
  // A change or a rerun in the same batch may precede or follow the failure.
  const changed = new Set<WorkloadId>();
  for (const event of events)
    if (event.kind === "workloadChanged" || event.kind === "workloadRerun") changed.add(event.workloadId);
  const judged = new Set<string>();
  for (const event of events.toReversed()) {
    if (event.kind !== "attemptEnded" || event.outcome !== "failed") continue;
    // `w7.2.1` is an attempt of task 2 of an array, `w7.1` one of a gang.
    const [id = "", index = ""] = event.attemptId.split(".");
    const workload = state.workloads.get(workloadId(id));
    if (workload === undefined || changed.has(workload.id)) continue;
    // A replica starts again however often it failed.
    if (workload.spec.kind === "serve") continue;
    const task = workload.spec.kind === "batch" ? Number(index) : 0;
    // The state counts the last failure of the batch.
    if (judged.has(`${id} ${task}`)) continue;
    judged.add(`${id} ${task}`);
    const { failureCount } = taskOf(workload, task);
    const { max } = workload.spec.retries;
    findings.expect(
      event.retryAtMs === null || failureCount <= max,
      () => `task ${task} of ${id} is retried after ${failureCount} failures, ${max} retries are allowed`,
    );
  }
}
