/** Definition and output of a measurement, the same for both sides. */
export interface ArrayRequest {
  readonly jobCount: number;
  readonly nodeCount: number;
  readonly slotsPerNode: number;
  /** Command of each job. Both sides run it under `/bin/sh`. */
  readonly command: string;
}

export interface Measurement {
  readonly side: string;
  readonly jobCount: number;
  /** Time in ms from the release of the held array to the detection of its last end. */
  readonly elapsedMs: number;
  /** CPU time of all processes of this side, including the jobs; `null` if the machine cannot count it. */
  readonly cpuMs: number | null;
  /** Load average of the last minute, when the run starts. */
  readonly loadBefore: number;
}

/** Polling interval in ms on both sides. It is the resolution of the measurement. */
export const POLL_MS = 250;
/** Timeout in ms, far above the time of 10,000 jobs on a slow, busy machine. */
export const ARRAY_TIMEOUT_MS = 1_800_000;

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export interface Row {
  readonly side: string;
  readonly runs: number;
  readonly jobs: number;
  readonly seconds: number;
  readonly jobsPerSecond: number;
  readonly cpuMsPerJob: number | null;
  readonly loadBefore: string;
}

/** Medians over the runs of one side. */
export function summarise(side: string, all: readonly Measurement[]): Row | null {
  const own = all.filter((measurement) => measurement.side === side);
  const [first] = own;
  if (first === undefined) return null;
  const seconds = median(own.map(({ elapsedMs }) => elapsedMs)) / 1000;
  const cpu = own.flatMap(({ cpuMs, jobCount }) => (cpuMs === null ? [] : [cpuMs / jobCount]));
  return {
    side,
    runs: own.length,
    jobs: first.jobCount,
    seconds: rounded(seconds, 2),
    jobsPerSecond: rounded(first.jobCount / seconds, 1),
    cpuMsPerJob: cpu.length === 0 ? null : rounded(median(cpu), 2),
    loadBefore: own.map(({ loadBefore }) => loadBefore.toFixed(1)).join(", "),
  };
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
