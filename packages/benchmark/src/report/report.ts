/** The report of a benchmark: measurements, medians and ratios. */
import type { Case } from "../cases.ts";
import type { LoadResult } from "../load/load.ts";
import type { Cores } from "../processes.ts";
import type { MissingTarget } from "../targets/targets.ts";

export interface Run {
  readonly target: string;
  readonly round: number;
  readonly result: LoadResult;
  /** CPU time of the target's processes over the whole run. Undefined if it cannot be read. */
  readonly targetCpuSeconds: number | undefined;
  readonly residentMib: number | undefined;
}

export interface CaseReport {
  readonly name: string;
  readonly description: string;
  readonly compares: Case["compares"];
  readonly runs: readonly Run[];
}

export interface FrontierPoint {
  /** Rate at which requests were due. */
  readonly ratePerSecond: number;
  /** Rate of completed requests. */
  readonly requestsPerSecond: number;
  readonly failed: number;
  readonly p99Us: number;
}

/** Share of the requested rate that a target must complete. The last requests may be incomplete at the end. */
const KEPT_SHARE = 0.95;

/** The highest rate of these points that the target kept, without a failure and with its p99 within the bound. */
export function keptRate(points: readonly FrontierPoint[], boundMs: number): number {
  const isKept = ({ ratePerSecond, requestsPerSecond, failed, p99Us }: FrontierPoint): boolean =>
    failed === 0 && requestsPerSecond >= KEPT_SHARE * ratePerSecond && p99Us <= boundMs * 1000;
  return Math.max(0, ...points.filter(isKept).map(({ requestsPerSecond }) => requestsPerSecond));
}

export interface FrontierReport {
  readonly target: string;
  readonly points: readonly FrontierPoint[];
  /** For each bound, the highest rate that the target kept with its p99 within the bound (`keptRate`). */
  readonly bounds: readonly { boundMs: number; requestsPerSecond: number }[];
}

export interface BenchmarkReport {
  readonly version: 1;
  /** Start of the run, in UTC, and the machine's load average of the minute before it. */
  readonly startedAt: string;
  readonly loadAverage: number;
  readonly rounds: number;
  readonly secondsPerRun: number;
  readonly machine: { readonly processor: string; readonly coreCount: number; readonly node: string };
  readonly cores: Cores | undefined;
  readonly sockets: string;
  readonly targets: readonly { name: string; description: string }[];
  readonly missing: readonly MissingTarget[];
  readonly cases: readonly CaseReport[];
  readonly frontier: readonly FrontierReport[];
}

/** Medians of one target in one case, and its ratios to the other targets, taken within each round. */
export interface Row {
  readonly target: string;
  readonly requestsPerSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Median over the rounds of this target's p50 (p99) minus that of the direct run in the same round. */
  readonly addedP50Us: number | undefined;
  readonly addedP99Us: number | undefined;
  /** Requests per second of CPU time of the target: its throughput if nothing else limited it. */
  readonly requestsPerCpuSecond: number | undefined;
  readonly ratioToHaproxy: number | undefined;
  readonly cpuRatioToHaproxy: number | undefined;
  readonly failed: number;
  readonly lostEvents: number;
  readonly doubledEvents: number;
  readonly residentMib: number | undefined;
}

export function rowsOf(report: CaseReport): Row[] {
  const targets = [...new Set(report.runs.map(({ target }) => target))];
  return targets.map((target) => rowOf(report, target));
}

function rowOf({ runs }: CaseReport, target: string): Row {
  const own = runs.filter((run) => run.target === target);
  const against = (other: string, value: (run: Run, base: Run) => number | undefined): number | undefined =>
    median(
      own.flatMap((run) => {
        const base = runs.find((each) => each.target === other && each.round === run.round);
        return base === undefined ? [] : [value(run, base)];
      }),
    );
  const shown = ({ result }: Run): LoadResult["latencyUs"] => result.eventDelayUs ?? result.latencyUs;
  const sum = (value: (run: Run) => number): number => own.reduce((total, run) => total + value(run), 0);
  return {
    target,
    requestsPerSecond: median(own.map(({ result }) => result.requestsPerSecond)) ?? 0,
    p50Us: median(own.map((run) => shown(run).p50)) ?? 0,
    p99Us: median(own.map((run) => shown(run).p99)) ?? 0,
    addedP50Us: target === "direct" ? undefined : against("direct", (run, base) => shown(run).p50 - shown(base).p50),
    addedP99Us: target === "direct" ? undefined : against("direct", (run, base) => shown(run).p99 - shown(base).p99),
    requestsPerCpuSecond: median(own.map(perCpuSecond)),
    ratioToHaproxy: against("haproxy", (run, base) => run.result.requestsPerSecond / base.result.requestsPerSecond),
    cpuRatioToHaproxy: against("haproxy", (run, base) => ratio(perCpuSecond(run), perCpuSecond(base))),
    failed: sum(({ result }) => result.failed),
    lostEvents: sum(({ result }) => result.lostEvents),
    doubledEvents: sum(({ result }) => result.doubledEvents),
    residentMib: median(own.map((run) => run.residentMib)),
  };
}

function perCpuSecond({ result, targetCpuSeconds }: Run): number | undefined {
  if (targetCpuSeconds === undefined || targetCpuSeconds <= 0) return undefined;
  return (result.events > 0 ? result.events : result.allCompleted) / targetCpuSeconds;
}

function ratio(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined || right === 0 ? undefined : left / right;
}

function median(values: readonly (number | undefined)[]): number | undefined {
  const sorted = values.flatMap((value) => (value !== undefined && Number.isFinite(value) ? [value] : []));
  sorted.sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return undefined;
  return sorted.length % 2 === 1 ? sorted[middle] : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/**
 * Whether some run of the cases failed: a request failed, none completed, or an event of a stream was lost or doubled.
 * A report without a run has failed too, because nothing was measured.
 */
export function isFailed({ cases }: Pick<BenchmarkReport, "cases">): boolean {
  const results = cases.flatMap(({ runs }) => runs.map(({ result }) => result));
  return (
    results.length === 0 ||
    results.some(
      ({ completed, failed, lostEvents, doubledEvents }) =>
        completed === 0 || failed > 0 || lostEvents > 0 || doubledEvents > 0,
    )
  );
}
