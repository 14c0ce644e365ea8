/**
 * Progress reports of simulated processes: steps, a falling loss, checkpoints. They follow the events of the run, and
 * an attempt after a failure resumes from the newest checkpoint, as a real training program would.
 */
import type { AttemptId, Event, LaunchGang, Signal, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { EventQueue, drawBelow, ranks } from "@headroom/sim";
import { simulatedDurationMs } from "./demo-stream.ts";

/** Number of reports of a run: enough for a smooth chart, and few enough for a small journal. */
const REPORTS = 80;
const REPORTS_PER_CHECKPOINT = 10;
const REPORTS_PER_UTILIZATION = 4;
const STEP_MS = 1_500;
const REPORT_AHEAD_MS = 200;
/** A replica ends only when it is stopped. */
const SERVES_MS = 365 * 86_400_000;

interface Reporter {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly totalSteps: number;
  readonly stepsPerReport: number;
  readonly acceleratorCount: number;
  step: number;
  reports: number;
}

export class DemoProgress {
  readonly #seed: number;
  readonly #queue = new EventQueue(256);
  readonly #reporters = new Map<number, Reporter>();
  /** Number of steps that the newest checkpoint of each active workload contains. */
  readonly #checkpoints = new Map<WorkloadId, number>();
  #nextReporter = 1;

  constructor(seed: number) {
    this.#seed = seed;
  }

  get nextAtMs(): number {
    return this.#queue.nextAtMs;
  }

  /** Steps that this attempt still has to do. Tasks of an array differ slightly and start from zero. */
  remainingMs(launch: LaunchGang): number {
    if (launch.spec.kind === "serve") return SERVES_MS;
    const durationMs = simulatedDurationMs(launch.spec);
    if (launch.spec.kind === "batch") {
      const spread = drawBelow({ seed: this.#seed, sequence: launch.task, purpose: launch.spec.name }, 50);
      return Math.round((durationMs * (75 + spread)) / 100);
    }
    return Math.max(STEP_MS, durationMs - (this.#checkpoints.get(launch.workloadId) ?? 0) * STEP_MS);
  }

  follow(events: readonly Event[], state: ReadonlyState): void {
    for (const event of events) {
      if (event.kind === "attemptStarted") this.#begin(event.attemptId, event.atMs, state);
      else if (event.kind === "workloadEnded") this.#checkpoints.delete(event.workloadId);
    }
  }

  /** The reports that are due at `nowMs`, from attempts that still run. */
  takeDue(nowMs: number, state: ReadonlyState): Signal[] {
    const signals: Signal[] = [];
    while (this.#queue.nextAtMs <= nowMs) {
      const id = this.#queue.nextPayload;
      this.#queue.drop();
      const reporter = this.#reporters.get(id);
      if (reporter === undefined) continue;
      const isRunning = state.attempts.get(reporter.attemptId)?.phase === "running";
      if (isRunning && reporter.step < reporter.totalSteps) this.#report({ id, reporter, nowMs }, signals);
      else this.#reporters.delete(id);
    }
    return signals;
  }

  #begin(attemptId: AttemptId, atMs: number, state: ReadonlyState): void {
    const attempt = state.attempts.get(attemptId);
    const workload = attempt === undefined ? undefined : state.workloads.get(attempt.workloadId);
    if (workload === undefined || workload.spec.kind !== "train") return;
    const totalSteps = Math.max(1, Math.floor(simulatedDurationMs(workload.spec) / STEP_MS));
    const { workers, accelerators } = workload.spec.gang;
    const id = this.#nextReporter++;
    const stepsPerReport = Math.max(1, Math.ceil(totalSteps / REPORTS));
    this.#reporters.set(id, {
      attemptId,
      workloadId: workload.id,
      totalSteps,
      stepsPerReport,
      acceleratorCount: workers * accelerators,
      step: this.#checkpoints.get(workload.id) ?? 0,
      reports: 0,
    });
    this.#pushNext(id, atMs - REPORT_AHEAD_MS);
  }

  /** A report comes shortly before the end of its step, so that the last report is not lost at the end of the run. */
  #pushNext(id: number, fromMs: number): void {
    const reporter = this.#reporters.get(id);
    if (reporter === undefined) return;
    const steps = Math.min(reporter.stepsPerReport, reporter.totalSteps - reporter.step);
    this.#queue.push(fromMs + steps * STEP_MS, ranks.arrival, id);
  }

  #report(due: { id: number; reporter: Reporter; nowMs: number }, into: Signal[]): void {
    const { id, reporter, nowMs } = due;
    reporter.step = Math.min(reporter.totalSteps, reporter.step + reporter.stepsPerReport);
    reporter.reports++;
    const { attemptId, step, totalSteps } = reporter;
    const isHung = this.#isHung(reporter);
    if (!isHung) into.push({ kind: "progressReported", attemptId, step, totalSteps, metrics: this.#metrics(reporter) });
    if (reporter.acceleratorCount > 0 && reporter.reports % REPORTS_PER_UTILIZATION === 1)
      into.push(this.#utilization(reporter));
    if (!isHung && reporter.reports % REPORTS_PER_CHECKPOINT === 0) {
      this.#checkpoints.set(reporter.workloadId, step);
      into.push({ kind: "checkpointReported", attemptId, step, path: `step-${String(step).padStart(6, "0")}` });
    }
    if (step < totalSteps) this.#pushNext(id, nowMs);
    else this.#reporters.delete(id);
  }

  /**
   * Most work uses all accelerators that it holds. Some work uses half of them, some hangs halfway without an error,
   * and some needs little memory.
   */
  #utilization(reporter: Reporter): Signal {
    const { attemptId, acceleratorCount } = reporter;
    const habit = this.#habit(reporter);
    const busyAccelerators = this.#isHung(reporter)
      ? 0
      : habit < 10
        ? Math.ceil(acceleratorCount / 2)
        : acceleratorCount;
    return {
      kind: "utilizationReported",
      attemptId,
      accelerators: acceleratorCount,
      busyAccelerators,
      busyMilli: Math.round((900 * busyAccelerators) / acceleratorCount),
      peakMemoryMib: habit >= 95 ? 9 * 1024 : 61 * 1024,
      capacityMib: 80 * 1024,
    };
  }

  #habit({ workloadId }: Reporter): number {
    return drawBelow({ seed: this.#seed, sequence: 0, purpose: `habit ${workloadId}` }, 100);
  }

  #isHung(reporter: Reporter): boolean {
    return this.#habit(reporter) < 4 && reporter.step > reporter.totalSteps / 2;
  }

  /** A loss that falls like 1/(1 + t) to a lower limit, with a few percent of noise. */
  #metrics({ workloadId, step, totalSteps, acceleratorCount }: Reporter): Record<string, number> {
    const noise = (purpose: string): number =>
      drawBelow({ seed: this.#seed, sequence: step, purpose: `${purpose} ${workloadId}` }, 1000) / 1000 - 0.5;
    const loss = 1.9 + 8.4 / (1 + (14 * step) / totalSteps) + 0.12 * noise("loss");
    const metrics: Record<string, number> = { loss: Math.round(loss * 1000) / 1000 };
    if (acceleratorCount > 0) {
      metrics["tokensPerSecond"] = Math.round(acceleratorCount * 3_150 * (1 + 0.06 * noise("rate")));
    }
    return metrics;
  }
}
