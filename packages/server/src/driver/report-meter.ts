/**
 * Bounds what a job can write into the journal. Its reports of artifacts and checkpoints are facts that decisions read,
 * so they are recorded, but a job can report without end. Each attempt may record a burst at once; after it, the newest
 * report of each kind is recorded at intervals, up to a total. Further reports are counted and not recorded.
 */
import { isRegistered } from "@headroom/model";
import type { Attempt, AttemptId, Signal, Workload } from "@headroom/model";

type Report = Extract<Signal, { readonly kind: "artifactReported" | "checkpointReported" }>;

/** Number of reports that an attempt records without a delay; a workload declares at most 64 artifacts. */
export const BURST_MAX = 64;
/** Time in ms after which an attempt may record one more report without a delay. */
export const ALLOWANCE_EVERY_MS = 30_000;
/** Limits of all artifacts that one attempt records: ordinary work reports each declared name once or a few times. */
export const ARTIFACTS_RECORDED_MAX = 1_024;
export const ARTIFACT_CHARS_MAX = 512 * 1024;

interface Meter {
  allowance: number;
  refilledAtMs: number;
  artifactCount: number;
  artifactChars: number;
  droppedCount: number;
  /** The newest report of each artifact, and the newest checkpoint, that is not recorded yet. */
  readonly kept: Map<string, Report>;
}

export interface ReportMeterSetup {
  /** Records a report. */
  tell(report: Report): void;
  /** Called with the first report of an attempt that is not recorded. */
  onDropped(id: AttemptId): void;
}

export class ReportMeter {
  readonly #setup: ReportMeterSetup;
  readonly #meters = new Map<AttemptId, Meter>();
  /** Number of reports that were not recorded, over all attempts. */
  droppedCount = 0;

  constructor(setup: ReportMeterSetup) {
    this.#setup = setup;
  }

  /**
   * Takes a report: it is recorded now, kept for the next flush in place of an older one, or counted. Returns whether it
   * is kept.
   */
  take(report: Report, attempt: Attempt, workload: Workload | undefined, nowMs: number): boolean {
    if (!isNews(report, workload)) return false;
    const meter = this.#meterOf(report.attemptId, nowMs);
    // A requested checkpoint ends a wait, so it must not be delayed; the end of the wait allows one such report.
    const isAwaited = report.kind === "checkpointReported" && attempt.stop?.checkpointUntilMs !== undefined;
    if (isAwaited || this.#mayRecord(meter, nowMs)) {
      meter.kept.delete(keyOf(report));
      this.#record(meter, report);
      return false;
    }
    if (meter.kept.has(keyOf(report))) this.#drop(meter, report.attemptId);
    meter.kept.delete(keyOf(report));
    meter.kept.set(keyOf(report), report);
    return true;
  }

  /** Records the kept reports, and forgets attempts that are not active. */
  flush(isActive: (id: AttemptId) => boolean): void {
    for (const [id, meter] of this.#meters) {
      this.#flushOne(meter);
      if (!isActive(id)) this.#meters.delete(id);
    }
  }

  /** Records the kept reports of an attempt, before its end is recorded. */
  end(id: AttemptId): void {
    const meter = this.#meters.get(id);
    if (meter !== undefined) this.#flushOne(meter);
    this.#meters.delete(id);
  }

  #flushOne(meter: Meter): void {
    const kept = [...meter.kept.values()];
    meter.kept.clear();
    for (const report of kept) this.#record(meter, report);
  }

  #record(meter: Meter, report: Report): void {
    if (report.kind === "artifactReported") {
      const chars = report.name.length + report.path.length;
      if (meter.artifactCount >= ARTIFACTS_RECORDED_MAX || meter.artifactChars + chars > ARTIFACT_CHARS_MAX)
        return this.#drop(meter, report.attemptId);
      meter.artifactCount++;
      meter.artifactChars += chars;
    }
    this.#setup.tell(report);
  }

  #drop(meter: Meter, id: AttemptId): void {
    this.droppedCount++;
    if (meter.droppedCount++ === 0) this.#setup.onDropped(id);
  }

  #mayRecord(meter: Meter, nowMs: number): boolean {
    const refills = Math.floor((nowMs - meter.refilledAtMs) / ALLOWANCE_EVERY_MS);
    if (refills > 0) {
      meter.allowance = Math.min(BURST_MAX, meter.allowance + refills);
      meter.refilledAtMs += refills * ALLOWANCE_EVERY_MS;
    }
    if (meter.allowance === 0) return false;
    meter.allowance--;
    return true;
  }

  #meterOf(id: AttemptId, refilledAtMs: number): Meter {
    let meter = this.#meters.get(id);
    if (meter === undefined) {
      meter = {
        allowance: BURST_MAX,
        refilledAtMs,
        artifactCount: 0,
        artifactChars: 0,
        droppedCount: 0,
        kept: new Map(),
      };
      this.#meters.set(id, meter);
    }
    return meter;
  }
}

const keyOf = (report: Report): string =>
  report.kind === "artifactReported" ? `artifact ${report.name}` : "checkpoint";

/** Whether the engine would record the report. Undeclared artifacts, and known locations, never reach it. */
function isNews(report: Report, workload: Workload | undefined): boolean {
  if (report.kind === "checkpointReported") return true;
  if (workload?.spec.produces?.includes(report.name) !== true) return false;
  return (
    workload.artifacts?.some(
      ({ name, path, by }) =>
        name === report.name && path === report.path && (!isRegistered(name) || by === report.attemptId),
    ) !== true
  );
}

export const reportsTooMuch = (id: AttemptId): string =>
  `Attempt ${id} reports more artifacts or checkpoints than are recorded: the newest ones at intervals, the rest is only counted. Report each artifact once.`;
