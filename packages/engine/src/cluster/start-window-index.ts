/** Work that has not ended and starts only off-peak, and when it has to be looked at next. */
import type { WorkloadId } from "../model/ids.ts";
import type { Workload } from "../model/workload.ts";

export class StartWindowIndex {
  readonly waiting: Set<WorkloadId> = new Set();
  /** Before this instant nothing changes; -1: something has. */
  lookAtMs = -1;

  add({ id, spec }: Pick<Workload, "id" | "spec">): void {
    if (spec.startWindow === undefined) return;
    this.waiting.add(id);
    this.lookAtMs = -1;
  }
}
