/**
 * Keeps telemetry out of the journal. Every report of progress and utilization goes to the telemetry store. The engine
 * gets only the changes that decisions need, gathered over all attempts: expected ends that moved, and accelerators
 * that became idle or busy. Reports of artifacts and checkpoints go on within bounds (`report-meter.ts`).
 */
import { isEstimateNews } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { Attempt, AttemptId, IdleChange, Observation, ProgressEstimate, Signal } from "@headroom/model";
import { NewestReports, isTelemetrySignal, sampleOf } from "@headroom/views";
import type { NewestReport, TelemetrySample } from "@headroom/views";
import { RankComparisons } from "./rank-comparisons.ts";
import { ReportMeter } from "./report-meter.ts";

export interface TelemetrySink {
  /** Whether the attempt's utilization is measured on its accelerators; absent: no attempt is measured in this way. */
  isMeasured?(id: AttemptId): boolean;
  /** Records a sample and returns the attempt's newest reports. */
  record(attempt: Attempt, sample: TelemetrySample, state: ReadonlyState): NewestReport;
}

/** Keeps only the newest reports, until the process ends. */
export function newestOnly(): TelemetrySink {
  const newest = new NewestReports();
  return { record: ({ id }, sample, state) => newest.record(id, sample, state) };
}

export interface SignalGateSetup {
  readonly sink: TelemetrySink;
  state(): ReadonlyState;
  nowMs(): number;
  /** Passes a signal to the engine, which records the signal. */
  tell(signal: Signal): void;
  /** Called with the first report of an attempt that is not recorded, because the attempt reports too much. */
  onDropped?(id: AttemptId): void;
}

/**
 * Time in ms for which changes are gathered. Each append costs pages of the journal, and no decision needs an expected
 * end to the minute.
 */
const GATHER_MS = 60_000;
/** Maximum number of attempts in one input, so that a round takes only milliseconds. */
const ATTEMPTS_PER_INPUT = 2_000;
/**
 * Minimum interval in ms between estimates of an attempt. It also skips the first reports of a run, which measure its
 * start-up.
 */
const ESTIMATE_EVERY_MS = 60_000;
/**
 * Time in ms without a busy accelerator after which accelerators count as idle, so that pauses between steps are not
 * recorded again and again.
 */
const IDLE_AFTER_MS = 300_000;

export class SignalGate {
  readonly #setup: SignalGateSetup;
  readonly #estimates = new Map<AttemptId, ProgressEstimate>();
  readonly #idle = new Map<AttemptId, IdleChange>();
  readonly #meter: ReportMeter;
  readonly #ranks: RankComparisons;
  #timer: NodeJS.Timeout | null = null;

  constructor(setup: SignalGateSetup) {
    this.#setup = setup;
    this.#ranks = new RankComparisons(setup.nowMs());
    this.#meter = new ReportMeter({
      tell: (report) => setup.tell(report),
      onDropped: (id) => setup.onDropped?.(id),
    });
  }

  /** Number of reports of artifacts and checkpoints that were not recorded. */
  get droppedCount(): number {
    return this.#meter.droppedCount;
  }

  /** Whether the input was handled here and does not go on to the engine. */
  takes(input: Observation | Signal): boolean {
    if (input.kind === "artifactReported" || input.kind === "checkpointReported") return this.#takesReport(input);
    if (input.kind === "attemptExited" || input.kind === "attemptLost") {
      this.#meter.end(input.attemptId);
      this.#ranks.end(input.attemptId);
    }
    if (input.kind === "stepTimesReported") return this.#takesTimes(input);
    if (!isTelemetrySignal(input)) return false;
    const state = this.#setup.state();
    const nowMs = this.#setup.nowMs();
    const attempt = state.attempts.get(input.attemptId);
    if (attempt === undefined) return true;
    const newest = this.#setup.sink.record(attempt, sampleOf(input, nowMs, attempt.startedAtMs), state);
    const { attemptId } = input;
    if (input.kind === "utilizationReported") this.#noteUse(attempt, newest);
    else if (input.kind === "progressReported" && input.totalSteps !== null && nowMs >= nextEstimateAtMs(attempt)) {
      const estimate = [attemptId, input.step, input.totalSteps] as const;
      if (isEstimateNews(state, estimate, nowMs)) this.#estimates.set(attemptId, estimate);
    }
    if (this.#estimates.size + this.#idle.size > 0) this.#flushLater();
    return true;
  }

  #takesTimes({ attemptId, times }: Extract<Signal, { readonly kind: "stepTimesReported" }>): true {
    const state = this.#setup.state();
    const attempt = state.attempts.get(attemptId);
    const sample = attempt === undefined ? null : this.#ranks.take(attempt, times, this.#setup.nowMs());
    if (attempt !== undefined && sample !== null) this.#setup.sink.record(attempt, sample, state);
    if (this.#ranks.size > 0) this.#flushLater();
    return true;
  }

  #takesReport(report: Extract<Signal, { readonly kind: "artifactReported" | "checkpointReported" }>): boolean {
    const { attempts, workloads } = this.#setup.state();
    const attempt = attempts.get(report.attemptId);
    if (attempt === undefined) return true;
    const isKept = this.#meter.take(report, attempt, workloads.get(attempt.workloadId), this.#setup.nowMs());
    if (isKept) this.#flushLater();
    return true;
  }

  #flushLater(): void {
    this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS);
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #noteUse({ id: attemptId, idleSinceMs }: Attempt, { utilization }: NewestReport): void {
    if (utilization === null) return;
    const isIdle = idleSinceMs !== undefined;
    const { atMs, busyAtMs, busyAccelerators } = utilization;
    if (isIdle && busyAccelerators > 0) this.#idle.set(attemptId, [attemptId, null]);
    else if (!isIdle && atMs - busyAtMs >= IDLE_AFTER_MS) this.#idle.set(attemptId, [attemptId, busyAtMs]);
    else this.#idle.delete(attemptId);
  }

  #flush(): void {
    this.#timer = null;
    const { attempts } = this.#setup.state();
    this.#meter.flush((id) => attempts.has(id));
    // The engine ends some attempts by itself, without an observation.
    this.#ranks.sweep((id) => attempts.has(id));
    if (this.#ranks.size > 0) this.#flushLater();
    for (const estimates of inParts([...this.#estimates.values()]))
      this.#setup.tell({ kind: "estimatesReported", estimates });
    for (const changes of inParts([...this.#idle.values()])) this.#setup.tell({ kind: "idleChangesReported", changes });
    this.#estimates.clear();
    this.#idle.clear();
  }
}

const nextEstimateAtMs = ({ startedAtMs, placedAtMs, progress }: Attempt): number =>
  Math.max(startedAtMs ?? placedAtMs, progress?.atMs ?? 0) + ESTIMATE_EVERY_MS;

const inParts = <Item>(items: readonly Item[]): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / ATTEMPTS_PER_INPUT) }, (_, part) =>
    items.slice(part * ATTEMPTS_PER_INPUT, (part + 1) * ATTEMPTS_PER_INPUT),
  );
