/** Runs of pipelines that have something to do, and the workloads of their steps. */
import { isRunOpen, nextDueMs, pipelineClock } from "@headroom/model";
import type { PipelineItem, PipelineRun, PipelineRunId, StepRun, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";
import type { Timers } from "./timers.ts";

export class PipelineIndex {
  /** Runs that may have something to do. */
  readonly due: Set<PipelineRunId> = new Set();
  /** Whether the clock of a pipeline may be due. */
  isClockDue: boolean = false;
  /** The runs of running steps, by workload. */
  readonly #runOf = new Map<WorkloadId, PipelineRunId>();

  constructor({ pipelineRuns }: ReadonlyState) {
    for (const run of pipelineRuns.values()) {
      if (!isRunOpen(run)) continue;
      // An idle run costs one look: a restored engine does not know which of them have something to do.
      this.due.add(run.id);
      for (const { phase, workloadId } of run.steps.values())
        if (phase === "running" && workloadId !== null) this.#runOf.set(workloadId, run.id);
    }
  }

  get isDue(): boolean {
    return this.due.size > 0 || this.isClockDue;
  }

  /** `null`: the clock of a pipeline may be due. */
  mark(runId: PipelineRunId | null): void {
    if (runId === null) this.isClockDue = true;
    else this.due.add(runId);
  }

  stepStarted(workloadId: WorkloadId, runId: PipelineRunId): void {
    this.#runOf.set(workloadId, runId);
  }

  workloadEnded(workloadId: WorkloadId): void {
    const runId = this.#runOf.get(workloadId);
    if (runId === undefined) return;
    this.#runOf.delete(workloadId);
    this.due.add(runId);
  }
}

/** Schedules the wakeups for clocks of pipelines and time-outs of their steps. */
export function waitForPipelines(timers: Timers, { pipelines, pipelineRuns }: ReadonlyState): void {
  for (const item of pipelines.values()) waitForPipelineClock(timers, item);
  for (const run of pipelineRuns.values())
    if (isRunOpen(run)) for (const own of run.steps.values()) waitForStepTimeout(timers, run, own);
}

export function waitForPipelineClock(timers: Timers, { pipeline, lookedAtMs }: PipelineItem): void {
  const clock = pipelineClock(pipeline);
  const atMs = clock === null ? null : nextDueMs(clock.times, lookedAtMs);
  if (atMs !== null) timers.add({ kind: "pipeline", atMs, runId: null });
}

export function waitForStepTimeout(timers: Timers, { id: runId, pipeline }: PipelineRun, own: StepRun): void {
  if (own.phase !== "running" || own.startedAtMs === null) return;
  const timeoutMs = pipeline.steps.find(({ name }) => name === own.step)?.timeoutMs;
  if (timeoutMs !== undefined) timers.add({ kind: "pipeline", atMs: own.startedAtMs + timeoutMs, runId });
}
