/**
 * Processor time and memory of workers, from the control groups of their containers (cgroups(7), versions 2 and 1): Kubernetes' metrics API
 * has rates, not the processor time that was used. Read by a command inside each container; a container that shows nothing has no usage.
 */
import type { WorkerUsage } from "../../executor.ts";

/** Prints `cpu MICROSECONDS`, `rss BYTES` and `peak BYTES`, each if the container shows it. */
export const USAGE_COMMAND: readonly string[] = [
  "/bin/sh",
  "-c",
  [
    "cd /sys/fs/cgroup || exit 0",
    'while read -r name value; do [ "$name" = usage_usec ] && echo "cpu $value"; done < cpu.stat',
    'read -r value < cpuacct/cpuacct.usage && echo "cpu $((value / 1000))"',
    'read -r value < memory.current && echo "rss $value"',
    'read -r value < memory/memory.usage_in_bytes && echo "rss $value"',
    'read -r value < memory.peak && echo "peak $value"',
    'read -r value < memory/memory.max_usage_in_bytes && echo "peak $value"',
    "exit 0",
  ].join("; "),
];

/** Most bytes of an answer that are read: the container may print anything. */
export const USAGE_ANSWER_BYTES = 4_096;
const MIB = 1024 * 1024;
/** Processor time of a thousand cores for a year, and a petabyte. */
const CPU_MS_MAX = 3.2e13;
const BYTES_MAX = 1e15;

/** `null`: the container shows no control group. Pure. */
export function usageIn(text: string, worker: number): WorkerUsage | null {
  const numberOf = (name: string, max: number): number | null => {
    const value = Number(new RegExp(`^${name} (\\d{1,18})$`, "m").exec(text)?.[1] ?? Number.NaN);
    return Number.isFinite(value) && value <= max ? value : null;
  };
  const cpuUs = numberOf("cpu", CPU_MS_MAX * 1_000);
  if (cpuUs === null) return null;
  const rssBytes = numberOf("rss", BYTES_MAX) ?? 0;
  const peakBytes = Math.max(rssBytes, numberOf("peak", BYTES_MAX) ?? 0);
  return {
    worker,
    cpuMs: Math.round(cpuUs / 1_000),
    rssMib: Math.round(rssBytes / MIB),
    peakRssMib: Math.round(peakBytes / MIB),
  };
}
