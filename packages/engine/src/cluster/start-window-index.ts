/** Active work with a start window, and when it must be re-checked. */
import type { WorkloadId } from "../model/ids.ts";
import type { Workload } from "../model/workload.ts";

export class StartWindowIndex {
  readonly waiting: Set<WorkloadId> = new Set();
  /** Instant before which nothing changes; -1: something has changed. */
  lookAtMs = -1;

  add({ id, spec }: Pick<Workload, "id" | "spec">): void {
    if (spec.startWindow === undefined) return;
    this.waiting.add(id);
    this.lookAtMs = -1;
  }
}
