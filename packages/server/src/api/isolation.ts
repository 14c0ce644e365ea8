/** Separation that the executors enforce between workloads and the control plane, for the status and for answers to submissions. */
import type { WorkloadSpec } from "@headroom/model";
import type { Executor } from "@headroom/executors";
import type { Status, SubmissionNotice } from "@headroom/protocol";

/** One core is the default of every worker, and its limit is mentioned only beyond it. */
const DEFAULT_CORES_MILLI = 1_000;

export function isolationStatus(executors: Iterable<Executor>): Status["isolation"] {
  return [...executors].flatMap(({ id, isolation }) => {
    if (isolation === undefined) return [];
    const notes = isolation.notes.map(({ message }) => message);
    return [{ ...isolation, executor: id, notes }];
  });
}

/** An operator who has switched isolation off knows it; it is not repeated at every submission. */
export function isolationNotices(executors: Iterable<Executor>, { gang }: WorkloadSpec): SubmissionNotice[] {
  const asksLimits = gang.memoryMib > 0 || gang.coresMilli > DEFAULT_CORES_MILLI;
  const notes = [...executors].flatMap(({ isolation }) => isolation?.notes ?? []);
  const said = notes.filter(({ subject }) => subject === "isolation" || (subject === "limits" && asksLimits));
  return [...new Set(said.map(({ message }) => message))].map((message) => ({ kind: "notEnforced", message }));
}
