/** The two series of an attempt, and the values of its newest reports, in memory and as text. */
import { addUtilization } from "@headroom/engine";
import { nodeOfRank } from "@headroom/model";
import type {
  Attempt,
  AttemptProgress,
  AttemptUtilization,
  RejectedLine,
  Signal,
  UtilizationReport,
} from "@headroom/model";
import type { Straggler, Stragglers } from "@headroom/health";
import type { AttemptMetrics } from "@headroom/protocol";
import { Series, pointsBetween } from "./series.ts";
import type { StoredSeries } from "./series.ts";

/** The newest reports of an attempt. The journal does not contain them. */
export interface NewestReport {
  readonly progress: AttemptProgress | null;
  readonly utilization: AttemptUtilization | null;
  /** Lines of the attempt's progress file that are not reports; absent: none. */
  readonly rejectedLines?: LinesRejected;
  /** Slow ranks of the gang, if its workers report step times. */
  readonly stragglers?: RankComparison;
}

/** The newest comparison of the ranks of a gang. */
export interface RankComparison {
  readonly atMs: number;
  readonly step: number;
  readonly comparedRanks: number;
  readonly ranks: readonly NamedRank[];
}

interface NamedRank extends Straggler {
  /** The node of the rank when its times were compared. Absent: an earlier version stored the comparison. */
  readonly nodeId?: string;
  /** When the rank was first named on this node. */
  readonly sinceMs: number;
}

/** Slow ranks that are on the node on which their times were compared. Others say nothing about their present nodes. */
export const ranksInPlace = (
  attempt: Pick<Attempt, "workers" | "missing">,
  { ranks }: RankComparison,
): readonly (NamedRank & { readonly nodeId: string })[] =>
  ranks.flatMap((each) => {
    const { nodeId } = each;
    return nodeId !== undefined && nodeOfRank(attempt, each.rank) === nodeId ? [{ ...each, nodeId }] : [];
  });

interface LinesRejected {
  readonly count: number;
  readonly faults: readonly RejectedLine[];
}

/** Maximum number of kinds of fault that are kept for an attempt, the same number that an executor reports at once. */
const FAULTS_MAX = 8;

/** Slow ranks with their nodes. */
export interface PlacedStragglers extends Stragglers {
  readonly ranks: readonly (Straggler & { readonly nodeId: string })[];
}

/** Adds one report of an attempt. `startedAtMs`: the time at which the attempt started. */
export type TelemetrySample =
  | ({ readonly kind: "progress" } & AttemptProgress)
  | ({ readonly kind: "stragglers"; readonly atMs: number } & PlacedStragglers)
  | ({ readonly kind: "rejectedLines"; readonly atMs: number } & LinesRejected)
  | ({ readonly kind: "utilization"; readonly atMs: number; readonly startedAtMs: number | null } & UtilizationReport);

/** The signals that are telemetry. */
export type TelemetrySignal = Extract<
  Signal,
  { readonly kind: "progressReported" | "utilizationReported" | "linesRejected" }
>;

export const isTelemetrySignal = (input: { readonly kind: string }): input is TelemetrySignal =>
  input.kind === "progressReported" || input.kind === "utilizationReported" || input.kind === "linesRejected";

export function sampleOf(signal: TelemetrySignal, atMs: number, startedAtMs: number | null): TelemetrySample {
  if (signal.kind === "progressReported") {
    const { step, totalSteps, metrics } = signal;
    return { kind: "progress", atMs, step, totalSteps, metrics };
  }
  if (signal.kind === "linesRejected")
    return { kind: "rejectedLines", atMs, count: signal.count, faults: signal.faults };
  const { kind: _kind, attemptId: _id, ...report } = signal;
  return { kind: "utilization", atMs, startedAtMs, ...report };
}

export interface MetricsRange {
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly points: number;
}

interface StoredAttempt {
  readonly progress: StoredSeries;
  readonly utilization: StoredSeries;
  readonly newest: NewestReport;
}

const nothing: NewestReport = { progress: null, utilization: null };

/** The newest reports, with one report added. */
export function withSample(newest: NewestReport | undefined, sample: TelemetrySample): NewestReport {
  const before = newest ?? nothing;
  if (sample.kind === "progress") {
    const { kind: _kind, ...progress } = sample;
    return { ...before, progress };
  }
  if (sample.kind === "stragglers") return { ...before, stragglers: compared(before.stragglers, sample) };
  if (sample.kind === "rejectedLines") return { ...before, rejectedLines: merged(before.rejectedLines, sample) };
  return { ...before, utilization: addUtilization(before.utilization ?? undefined, sample, sample) };
}

/** A rank that stays slow on its node keeps the time at which it was first named. */
function compared(
  before: RankComparison | undefined,
  { atMs, step, comparedRanks, ranks }: Extract<TelemetrySample, { readonly kind: "stragglers" }>,
): RankComparison {
  const known = new Map(before?.ranks.map(({ rank, nodeId, sinceMs }) => [`${rank} ${nodeId}`, sinceMs]));
  return {
    atMs,
    step,
    comparedRanks,
    ranks: ranks.map((each) => ({ ...each, sinceMs: known.get(`${each.rank} ${each.nodeId}`) ?? atMs })),
  };
}

/**
 * An executor counts from the point at which it began to read. After a restart it reads the end of the file a second
 * time.
 */
function merged(before: LinesRejected | undefined, { count, faults }: LinesRejected): LinesRejected {
  const byProblem = new Map(before?.faults.map((fault) => [fault.problem, fault]));
  for (const fault of faults) {
    const known = byProblem.get(fault.problem);
    if (known !== undefined) byProblem.set(fault.problem, { ...known, count: Math.max(known.count, fault.count) });
    else if (byProblem.size < FAULTS_MAX) byProblem.set(fault.problem, fault);
  }
  return { count: Math.max(before?.count ?? 0, count), faults: [...byProblem.values()] };
}

export class AttemptSeries {
  readonly #progress: Series;
  readonly #utilization: Series;
  #newest: NewestReport;

  constructor(stored?: StoredAttempt) {
    this.#progress = new Series(stored?.progress);
    this.#utilization = new Series(stored?.utilization);
    this.#newest = stored?.newest ?? nothing;
  }

  /** Throws an error if `toText` did not write the text. */
  static fromText(text: string): AttemptSeries {
    return new AttemptSeries(JSON.parse(text) as StoredAttempt);
  }

  get newest(): NewestReport {
    return this.#newest;
  }

  add(sample: TelemetrySample): void {
    this.#newest = withSample(this.#newest, sample);
    if (sample.kind === "progress") this.#progress.add(sample.atMs, sample.step, sample.metrics);
    else if (sample.kind === "utilization") this.#utilization.add(sample.atMs, 0, columnsOf(sample));
  }

  toText(): string {
    const stored: StoredAttempt = {
      progress: this.#progress.stored(),
      utilization: this.#utilization.stored(),
      newest: this.#newest,
    };
    return JSON.stringify(stored);
  }

  view(attemptId: string, { fromMs, toMs, points: max }: MetricsRange): AttemptMetrics {
    const { names } = this.#progress;
    const { rejectedLines } = this.#newest;
    return {
      attemptId,
      totalSteps: this.#newest.progress?.totalSteps ?? null,
      ...(rejectedLines === undefined
        ? {}
        : { rejectedLines: { count: rejectedLines.count, faults: rejectedLines.faults.map((each) => ({ ...each })) } }),
      progress: pointsBetween(this.#progress, { fromMs, toMs, max }).map(({ atMs, step, count, values }) => ({
        atMs,
        step,
        reports: count,
        metrics: named(names, values),
      })),
      utilization: pointsBetween(this.#utilization, { fromMs, toMs, max }).map(({ atMs, count, values }) => {
        const { busyMilli = 0, busyAccelerators = 0, peakMemoryMib } = named(this.#utilization.names, values);
        return { atMs, reports: count, busyMilli, busyAccelerators, peakMemoryMib: peakMemoryMib ?? null };
      }),
    };
  }
}

function columnsOf({ busyMilli, busyAccelerators, peakMemoryMib }: UtilizationReport): Record<string, number> {
  return { busyMilli, busyAccelerators, ...(peakMemoryMib === null ? {} : { peakMemoryMib }) };
}

function named(names: readonly string[], values: readonly (number | null)[]): Record<string, number> {
  return Object.fromEntries(names.flatMap((name, column) => (values[column] == null ? [] : [[name, values[column]]])));
}
