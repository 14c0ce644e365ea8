/** Sums the newest utilization reports of an attempt's workers. */
import type { UtilizationReport } from "@headroom/model";

export interface AcceleratorReport {
  /** Share of the time since the previous report in which the accelerator was busy, from 0 to 1. */
  readonly busy: number;
  readonly memoryMib?: number | undefined;
  readonly capacityMib?: number | undefined;
}

/** Share of busy time below which an accelerator counts as idle. */
const BUSY_SHARE_MIN = 0.05;

export class WorkerUtilization {
  readonly #byWorker = new Map<number, readonly AcceleratorReport[]>();

  take(worker: number, accelerators: readonly AcceleratorReport[]): void {
    this.#byWorker.set(worker, accelerators);
  }

  report(): UtilizationReport {
    const all = [...this.#byWorker.values()].flat();
    const used = all.flatMap(({ memoryMib }) => memoryMib ?? []);
    const capacities = all.flatMap(({ capacityMib }) => capacityMib ?? []);
    const busy = all.reduce((sum, each) => sum + each.busy, 0);
    return {
      accelerators: all.length,
      busyAccelerators: all.filter((each) => each.busy >= BUSY_SHARE_MIN).length,
      busyMilli: Math.round((1000 * busy) / Math.max(1, all.length)),
      peakMemoryMib: used.length === 0 ? null : used.reduce((most, each) => Math.max(most, each), 0),
      capacityMib:
        capacities.length === 0
          ? null
          : capacities.reduce((least, each) => Math.min(least, each), Number.MAX_SAFE_INTEGER),
    };
  }
}
