/** A trace: the work that came to a cluster, whatever format told of it. Times in ms, memory in MiB, cores in thousandths. */
import type { FleetSpec } from "../run/fleet-spec.ts";

export interface TraceJob {
  /** What the trace calls it. Not unique in every trace. */
  readonly id: string;
  readonly submittedAtMs: number;
  readonly durationMs: number;
  /** Of the whole job. */
  readonly accelerators: number;
  /** Thousandths of one accelerator, for a job that shares it (`accelerators` is 1); absent: whole accelerators. */
  readonly shareMilli?: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
  /** In order of preference; empty: any. */
  readonly acceleratorTypes: readonly string[];
  /** For how long its user asked; absent: the trace does not say. */
  readonly walltimeMs?: number;
  /** Absent: the trace does not say. */
  readonly user?: string;
  /** On whose account it ran; absent: the trace does not say. */
  readonly account?: string;
  /** Like workers among whom its accelerators, cores and memory are shared out; absent: one has all of them. */
  readonly workers?: number;
}

export interface Trace {
  /** In order of submission, and in the order of the file among those of one instant. */
  readonly jobs: readonly TraceJob[];
  /** The fleet that the trace comes with; `null` where it says nothing of one. */
  readonly fleet: FleetSpec | null;
}

export interface TraceProblem {
  /** Which of the trace's files, by the name it was given. */
  readonly file: string;
  /** From 1; 0 where the problem is the file's as a whole. */
  readonly line: number;
  readonly message: string;
}

/** What an import saw and did not turn into jobs. */
export interface ImportReport {
  /** Rows with data, header and comments aside. */
  readonly rowCount: number;
  /** Rows that make no sense. */
  readonly brokenCount: number;
  /** Where the first of them are, at most `PROBLEMS_KEPT`. */
  readonly problems: readonly TraceProblem[];
  /** Sound rows that are no jobs to simulate, by reason. */
  readonly leftOut: Readonly<Record<string, number>>;
}

export type TraceImport =
  | { readonly kind: "imported"; readonly trace: Trace; readonly report: ImportReport }
  /** The file is not of this format, or some rows are broken and `skipBroken` was not asked for. */
  | { readonly kind: "refused"; readonly reason: string; readonly report: ImportReport };

export interface ImportOptions {
  /** Leave broken rows out instead of refusing the trace. */
  readonly skipBroken: boolean;
}

/** A file's name, for messages, and its lines without their terminators. */
export interface TraceLines {
  readonly file: string;
  readonly lines: Iterable<string>;
}

/** Enough to see what is wrong with a file, few enough to read. */
export const PROBLEMS_KEPT = 10;

/** Bounds that every real trace keeps and that keep all sums safe: 300 years, 10 years, a million accelerators. */
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

/** Orders jobs by submission; the sort is stable, so the order of the file remains among equals. */
export function inOrderOfSubmission(jobs: readonly TraceJob[]): TraceJob[] {
  return jobs.toSorted((a, b) => a.submittedAtMs - b.submittedAtMs);
}

/** The trace as a pool without topology sees it: only the number of accelerators counts, and work without any is not there. */
export function withoutPlacementNeeds(trace: Trace): Trace {
  const jobs = trace.jobs
    .filter((job) => job.accelerators > 0)
    .map((job) => ({ ...job, coresMilli: 0, memoryMib: 0, acceleratorTypes: [] }));
  return { jobs, fleet: null };
}
