/**
 * CPU time and memory of workers. They are summed over all processes in the session that a worker leads. The supervisor
 * samples them for the record of the end, the control plane on request.
 */
import type { WorkerUsage } from "../executor.ts";
import { readResidentMemory, runningProcesses, ticksToMs } from "./process-table.ts";

const KIB_PER_MIB = 1024;
/**
 * First interval in ms between samples. Later intervals double, because long runs change slowly and each sample costs
 * CPU.
 */
const SAMPLE_FIRST_MS = 1_000;
const SAMPLE_MAX_MS = 30_000;

/**
 * CPU time and memory by rank. `peakRssMib` is the sum of the peaks of the single processes, which may have occurred at
 * different times.
 */
export function sampleUsage(workerPids: readonly number[]): WorkerUsage[] {
  const ranks = new Map(workerPids.map((pid, rank) => [pid, rank]));
  const totals = workerPids.map(() => ({ cpuTicks: 0, nowKib: 0, peakKib: 0 }));
  for (const stat of runningProcesses()) {
    const total = totals[ranks.get(stat.session) ?? -1];
    if (total === undefined) continue;
    const memory = readResidentMemory(stat.pid);
    total.cpuTicks += stat.cpuTicks;
    total.nowKib += memory.nowKib;
    total.peakKib += memory.peakKib;
  }
  return totals.map(({ cpuTicks, nowKib, peakKib }, worker) => ({
    worker,
    cpuMs: ticksToMs(cpuTicks),
    rssMib: Math.round(nowKib / KIB_PER_MIB),
    peakRssMib: Math.round(peakKib / KIB_PER_MIB),
  }));
}

/** Records peak memory over the life of a gang. The interval between samples doubles. */
export class UsageSampler {
  readonly #peakRssMib: number[] = [];
  readonly #cpuMs: number[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** `workerPids` returns the current workers by rank. */
  start(workerPids: () => readonly number[]): void {
    this.#schedule(workerPids, SAMPLE_FIRST_MS);
  }

  /** Peak memory and CPU time by rank. A worker that ended before the first sample has none. */
  stop(): { readonly peakRssMib: readonly number[]; readonly cpuMs: readonly number[] } {
    if (this.#timer !== null) clearTimeout(this.#timer);
    return { peakRssMib: this.#peakRssMib, cpuMs: this.#cpuMs };
  }

  #schedule(workerPids: () => readonly number[], delayMs: number): void {
    this.#timer = setTimeout(() => {
      for (const { worker, peakRssMib, cpuMs } of sampleUsage(workerPids())) {
        this.#cpuMs[worker] = Math.max(this.#cpuMs[worker] ?? 0, cpuMs);
        this.#peakRssMib[worker] = Math.max(this.#peakRssMib[worker] ?? 0, peakRssMib);
      }
      this.#schedule(workerPids, Math.min(delayMs * 2, SAMPLE_MAX_MS));
    }, delayMs);
  }
}
