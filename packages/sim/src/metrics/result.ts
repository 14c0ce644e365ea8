/**
 * The result of a simulated trace. Field names are those of the published reference results, so that files can be
 * compared directly.
 */
import type { Engine } from "@headroom/engine";
import type { TransferCounts } from "../executor/simulated-caches.ts";
import type { FleetSpec } from "../run/fleet-spec.ts";
import { acceleratorMilliOf, type Trace, type TraceJob } from "../trace/trace.ts";
import { ExactSum, meanSeconds, roundedQuotient } from "./exact-mean.ts";
import { fates, type TraceMetrics } from "./trace-metrics.ts";

export interface SimulationResult {
  readonly policy: string;
  readonly gpus: number;
  /** Number of jobs that ran to their end; all means are over these jobs. */
  readonly jobs: number;
  readonly rejected_larger_than_pool: number;
  /** Number of jobs that failed in all their attempts; above zero only with simulated faults. */
  readonly failed_jobs: number;
  /** Number of jobs that could not finish on the remaining fleet. */
  readonly unfinished_jobs: number;
  /** Mean time from submission to first start. */
  readonly mean_wait_s: number;
  /** Mean time from submission to end. */
  readonly mean_completion_s: number;
  readonly max_wait_s: number;
  /**
   * Accelerator time of the succeeded jobs, divided by the fleet's accelerator time from their first submission to
   * their last end.
   */
  readonly utilisation: number;
  /** Time from the first submission to the last end. */
  readonly makespan_s: number;
  readonly attempts: number;
  readonly journal_events: number;
  readonly rounds: number;
  /** Digest of the state at the end. */
  readonly digest: string;
  /** Head of the journal's hash chain at the end. */
  readonly chain: string;
  readonly wait_by_gang: readonly GangWait[];
  /** Waits by name of the team; absent if no teams were declared. */
  readonly wait_by_team?: readonly TeamWait[];
  /** Transfers of inputs before starts; absent: jobs read nothing. */
  readonly staging?: StagingResult;
  readonly series: ResultSeries;
}

export interface StagingResult {
  /** Number of inputs that nodes read from a store. */
  readonly transfers: number;
  /** Number of inputs that the node had in its cache. */
  readonly hits: number;
  readonly transferred_gib: number;
}

export interface GangWait extends Waits {
  readonly gpus: number;
}

export interface TeamWait extends Waits {
  readonly team: string;
  /** Share of this team's jobs in the accelerator time of all jobs. */
  readonly share: number;
}

interface Waits {
  readonly jobs: number;
  readonly mean_wait_s: number;
  readonly median_wait_s: number;
  readonly p90_wait_s: number;
  readonly max_wait_s: number;
}

/** Series with points at `start_s + index * step_s`; each point covers the time until the next. */
export interface ResultSeries {
  readonly start_s: number;
  readonly step_s: number;
  /** Mean share of the accelerators that was allocated. */
  readonly utilisation: readonly number[];
  /** Maximum number of jobs that waited at any moment of the step. */
  readonly waiting: readonly number[];
}

interface Finished {
  readonly trace: Trace;
  readonly fleet: FleetSpec;
  readonly policyName: string;
  readonly metrics: TraceMetrics;
  readonly engine: Engine;
  /** Team of a job; `null`: no teams were declared. */
  readonly teamOf: ((job: TraceJob) => string) | null;
  /** `null`: jobs read nothing. */
  readonly transfers: TransferCounts | null;
}

/** The recorded course of a trace, in the terms of a simulated one. */
export type RecordedCourse = Pick<
  SimulationResult,
  "jobs" | "makespan_s" | "max_wait_s" | "mean_completion_s" | "mean_wait_s" | "utilisation" | "wait_by_gang"
> & { readonly wait_by_team: readonly TeamWait[] };

/** When each job started and ended. */
type Course = Pick<TraceMetrics, "fate" | "firstStartedAtMs" | "jobEndedAtMs">;

/** `null`: the trace does not say of every job how long it waited. */
export function recordedCourse(
  trace: Trace,
  acceleratorCount: number,
  teamOf: (job: TraceJob) => string,
): RecordedCourse | null {
  const { jobs } = trace;
  const started = Float64Array.from(jobs, ({ submittedAtMs, waitedMs = Number.NaN }) => submittedAtMs + waitedMs);
  if (started.some(Number.isNaN)) return null;
  const course: Course = {
    fate: new Uint8Array(jobs.length).fill(fates.succeeded),
    firstStartedAtMs: started,
    jobEndedAtMs: Float64Array.from(jobs, ({ durationMs }, index) => started[index]! + durationMs),
  };
  const totals = sumUp(trace, course);
  return {
    ...meansOf(totals, acceleratorCount),
    wait_by_gang: waitByGang(trace, course),
    wait_by_team: waitByTeam(trace, course, teamOf),
  };
}

function meansOf(totals: Totals, acceleratorCount: number) {
  const spanMs = totals.jobs === 0 ? 0 : totals.lastEndedAtMs - totals.firstSubmittedAtMs;
  return {
    jobs: totals.jobs,
    mean_wait_s: meanSeconds(totals.waitMs, totals.jobs),
    mean_completion_s: meanSeconds(totals.completionMs, totals.jobs),
    max_wait_s: totals.waitMaxMs / 1000,
    utilisation: roundedQuotient(totals.acceleratorMilliMs, 1000n * BigInt(acceleratorCount) * BigInt(spanMs), 4),
    makespan_s: spanMs / 1000,
  };
}

/**
 * Sums over the jobs that succeeded. They are bigints: a year of a large cluster, in ms times thousandths of
 * accelerators, exceeds 2^53.
 */
interface Totals {
  readonly jobs: number;
  readonly waitMs: bigint;
  readonly waitMaxMs: number;
  readonly completionMs: bigint;
  readonly acceleratorMilliMs: bigint;
  readonly firstSubmittedAtMs: number;
  readonly lastEndedAtMs: number;
}

export function summarise(run: Finished): SimulationResult {
  const { trace, metrics, engine, fleet } = run;
  const acceleratorCount = acceleratorsOf(fleet);
  const totals = sumUp(trace, metrics);
  const count = (fate: number): number => metrics.fate.reduce((sum, each) => sum + (each === fate ? 1 : 0), 0);
  const tooLarge = heldTooLarge(run);
  return {
    policy: run.policyName,
    gpus: acceleratorCount,
    ...meansOf(totals, acceleratorCount),
    rejected_larger_than_pool: count(fates.rejected) + tooLarge,
    failed_jobs: count(fates.failed),
    unfinished_jobs: count(fates.pending) - tooLarge,
    attempts: metrics.attemptCount,
    journal_events: metrics.eventCount,
    rounds: metrics.roundCount,
    digest: engine.digest(),
    chain: engine.state.chain,
    wait_by_gang: waitByGang(trace, metrics),
    ...(run.teamOf === null ? {} : { wait_by_team: waitByTeam(trace, metrics, run.teamOf) }),
    ...(run.transfers === null ? {} : { staging: stagingResult(run.transfers) }),
    series: seriesOf(run),
  };
}

const stagingResult = ({ transfers, hits, transferredMib }: TransferCounts): StagingResult => ({
  transfers,
  hits,
  transferred_gib: Math.round(transferredMib / 1024),
});

function acceleratorsOf({ nodes }: FleetSpec): number {
  return nodes.reduce((sum, node) => sum + node.acceleratorCount, 0);
}

/**
 * Number of jobs larger than any node. They were held instead of refused, because nodes come and go; the result counts
 * them like refused jobs.
 */
function heldTooLarge({ trace, fleet, metrics }: Finished): number {
  const largest = fleet.nodes.reduce((max, node) => Math.max(max, node.acceleratorCount), 0);
  let count = 0;
  for (let index = 0; index < trace.jobs.length; index++) {
    const { accelerators, workers = 1 } = trace.jobs[index]!;
    if (metrics.fate[index] === fates.pending && accelerators / workers > largest) count++;
  }
  return count;
}

function sumUp(trace: Trace, metrics: Course): Totals {
  let jobs = 0;
  let waitMaxMs = 0;
  const waitMs = new ExactSum();
  const completionMs = new ExactSum();
  const acceleratorMilliMs = new ExactSum();
  let firstSubmittedAtMs = Number.POSITIVE_INFINITY;
  let lastEndedAtMs = 0;
  for (let index = 0; index < trace.jobs.length; index++) {
    if (metrics.fate[index] !== fates.succeeded) continue;
    const job = trace.jobs[index]!;
    const jobWaitMs = metrics.firstStartedAtMs[index]! - job.submittedAtMs;
    const endedAtMs = metrics.jobEndedAtMs[index]!;
    jobs++;
    waitMs.add(jobWaitMs);
    waitMaxMs = Math.max(waitMaxMs, jobWaitMs);
    completionMs.add(endedAtMs - job.submittedAtMs);
    acceleratorMilliMs.addProduct(acceleratorMilliOf(job), job.durationMs);
    firstSubmittedAtMs = Math.min(firstSubmittedAtMs, job.submittedAtMs);
    lastEndedAtMs = Math.max(lastEndedAtMs, endedAtMs);
  }
  return {
    jobs,
    waitMs: waitMs.total,
    waitMaxMs,
    completionMs: completionMs.total,
    acceleratorMilliMs: acceleratorMilliMs.total,
    firstSubmittedAtMs,
    lastEndedAtMs,
  };
}

function waitByGang(trace: Trace, metrics: Course): GangWait[] {
  const byGang = groupedWaits(trace, metrics, ({ accelerators }) => accelerators);
  return [...byGang].toSorted(([a], [b]) => a - b).map(([gpus, { waitsMs }]) => ({ gpus, ...waits(waitsMs) }));
}

/** Waits of the jobs that ran to their end, by a name of each job: its team, or the cluster from which it comes. */
export function waitByTeam(trace: Trace, metrics: Course, teamOf: (job: TraceJob) => string): TeamWait[] {
  const byTeam = groupedWaits(trace, metrics, teamOf);
  const allMilliMs = [...byTeam.values()].reduce((sum, { heldMilliMs }) => sum + heldMilliMs.total, 0n);
  return [...byTeam]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([team, { waitsMs, heldMilliMs }]) => ({
      team,
      ...waits(waitsMs),
      share: roundedQuotient(heldMilliMs.total, allMilliMs, 4),
    }));
}

interface GroupedWaits {
  readonly waitsMs: number[];
  readonly heldMilliMs: ExactSum;
}

/** Waits of jobs that ran to their end, grouped by a key. */
function groupedWaits<Key>({ jobs }: Trace, metrics: Course, keyOf: (job: TraceJob) => Key): Map<Key, GroupedWaits> {
  const groups = new Map<Key, GroupedWaits>();
  for (let index = 0; index < jobs.length; index++) {
    if (metrics.fate[index] !== fates.succeeded) continue;
    const job = jobs[index]!;
    const key = keyOf(job);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { waitsMs: [], heldMilliMs: new ExactSum() }));
    group.waitsMs.push(metrics.firstStartedAtMs[index]! - job.submittedAtMs);
    group.heldMilliMs.addProduct(acceleratorMilliOf(job), job.durationMs);
  }
  return groups;
}

function waits(waitsMs: readonly number[]): Waits {
  const sorted = Float64Array.from(waitsMs).sort();
  const sumMs = new ExactSum();
  for (const wait of waitsMs) sumMs.add(wait);
  return {
    jobs: waitsMs.length,
    mean_wait_s: meanSeconds(sumMs.total, waitsMs.length),
    median_wait_s: percentile(sorted, 50) / 1000,
    p90_wait_s: percentile(sorted, 90) / 1000,
    max_wait_s: percentile(sorted, 100) / 1000,
  };
}

/** Percentile by nearest rank: the smallest value such that at least `percent` of all values are not larger. */
function percentile(sorted: Float64Array, percent: number): number {
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? 0;
}

function seriesOf(run: Finished): ResultSeries {
  const { metrics, trace } = run;
  const acceleratorCount = acceleratorsOf(run.fleet);
  const startAtMs = trace.jobs[0]?.submittedAtMs ?? 0;
  const endMs = metrics.endedAtMs - startAtMs;
  const used = metrics.used.points(endMs);
  const round = (share: number): number => Math.round(share * 10_000) / 10_000;
  return {
    start_s: startAtMs / 1000,
    step_s: metrics.used.widthMs / 1000,
    utilisation: used.map(({ mean }) => round(mean / acceleratorCount)),
    waiting: metrics.waiting.points(endMs).map(({ max }) => max),
  };
}
