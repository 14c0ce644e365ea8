/** Work with a start window that has not ended, and the time at which its windows must be checked again. */
import type { WorkloadId, Workload } from "@headroom/model";

export class StartWindowIndex {
  readonly waiting: Set<WorkloadId> = new Set();
  /**
   * Instant before which no start window opens or closes, or -1 if windows must be checked because something has
   * changed.
   */
  lookAtMs = -1;

  add({ id, spec }: Pick<Workload, "id" | "spec">): void {
    if (spec.startWindow === undefined) return;
    this.waiting.add(id);
    this.lookAtMs = -1;
  }
}
