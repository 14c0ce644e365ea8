/**
 * A trace: the work submitted to a cluster, independent of the file format. Times in ms, memory in MiB, cores in
 * thousandths.
 */
import type { FleetSpec } from "../run/fleet-spec.ts";

export interface TraceJob {
  /** Id of the job in the trace. Some traces repeat ids. */
  readonly id: string;
  readonly submittedAtMs: number;
  readonly durationMs: number;
  /** Number of accelerators of the whole job. */
  readonly accelerators: number;
  /** Thousandths of one accelerator, for a job that shares it (`accelerators` is 1); absent: whole accelerators. */
  readonly shareMilli?: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  /** Accepted types in order of preference; empty: any type. */
  readonly acceleratorTypes: readonly string[];
  /** The requested walltime; absent: not in the trace. */
  readonly walltimeMs?: number;
  /** Time from the submission to the recorded start; absent: not in the trace. */
  readonly waitedMs?: number;
  /** The submitting user; absent: not in the trace. */
  readonly user?: string;
  /** The charged account; absent: not in the trace. */
  readonly account?: string;
  /** Number of identical workers; the job's accelerators, cores and memory are divided among them. Absent: one. */
  readonly workers?: number;
}

export interface Trace {
  /** Jobs in submission order. Jobs of the same instant keep the order of the file. */
  readonly jobs: readonly TraceJob[];
  /** The trace's own fleet; `null`: the trace has none. */
  readonly fleet: FleetSpec | null;
}

export interface TraceProblem {
  /** Name of the trace file as the user gave it. */
  readonly file: string;
  /** Line number from 1; 0: the problem concerns the whole file. */
  readonly line: number;
  readonly message: string;
}

/** Counts of rows that an import did not turn into jobs. */
export interface ImportReport {
  /** Number of data rows, without header and comments. */
  readonly rowCount: number;
  /** Invalid rows. */
  readonly brokenCount: number;
  /** The first problems, at most `PROBLEMS_KEPT`. */
  readonly problems: readonly TraceProblem[];
  /** Number of valid rows that give no job to simulate, by reason. */
  readonly leftOut: Readonly<Record<string, number>>;
}

export type TraceImport =
  | { readonly kind: "imported"; readonly trace: Trace; readonly report: ImportReport }
  /** The file does not have this format, or it has broken rows and `skipBroken` is off. */
  | { readonly kind: "refused"; readonly reason: string; readonly report: ImportReport };

export interface ImportOptions {
  /** Leaves broken rows out instead of refusing the trace. */
  readonly skipBroken: boolean;
}

/** Name of a file, for messages, and its lines without line ends. */
export interface TraceLines {
  readonly file: string;
  readonly lines: Iterable<string>;
}

/** Number of problems that an import keeps: enough to diagnose a file, few enough to read. */
export const PROBLEMS_KEPT = 10;

/**
 * Upper bounds, larger than in any real trace, with which all sums stay exact: 300 years, 10 years, a million
 * accelerators.
 */
export const traceBounds = {
  submittedAtS: 10_000_000_000,
  durationS: 315_360_000,
  accelerators: 1_000_000,
  coresMilli: 1_000_000_000,
  memoryMib: 1_000_000_000,
} as const;

/** Thousandths of accelerators that a job holds while it runs. */
export const acceleratorMilliOf = ({
  accelerators,
  shareMilli,
}: Pick<TraceJob, "accelerators" | "shareMilli">): number => shareMilli ?? accelerators * 1000;

/** Sorts jobs by submission. The sort is stable, so jobs of one instant keep the order of the file. */
export function inOrderOfSubmission(jobs: readonly TraceJob[]): TraceJob[] {
  return jobs.toSorted((a, b) => a.submittedAtMs - b.submittedAtMs);
}

/**
 * The trace for a pool without topology. Only the number of accelerators counts, and jobs without accelerators are left
 * out.
 */
export function withoutPlacementNeeds(trace: Trace): Trace {
  const jobs = trace.jobs
    .filter((job) => job.accelerators > 0)
    .map((job) => ({ ...job, coresMilli: 0, memoryMib: 0, acceleratorTypes: [] }));
  return { jobs, fleet: null };
}
