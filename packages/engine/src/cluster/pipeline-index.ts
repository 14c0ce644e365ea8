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
  /** By pipeline: the runs that wait for others, in the order of creation, and the number of those that run. */
  readonly #waiting = new Map<string, PipelineRunId[]>();
  readonly #runningCounts = new Map<string, number>();
  /** The runs of running steps, by workload. */
  readonly #runOf = new Map<WorkloadId, PipelineRunId>();
  /** The runs of steps that await an open proposal, by its id. */
  readonly #awaiting = new Map<string, Set<PipelineRunId>>();

  constructor({ pipelineRuns }: ReadonlyState) {
    for (const run of pipelineRuns.values()) {
      if (!isRunOpen(run)) continue;
      // An idle run costs one look: a restored engine does not know which of them have something to do.
      this.due.add(run.id);
      if (run.phase === "waiting") this.runWaits(run);
      else this.#count(run.pipeline.name, 1);
      for (const { phase, workloadId, proposalId } of run.steps.values()) {
        if (phase === "running" && workloadId !== null) this.#runOf.set(workloadId, run.id);
        if (phase === "awaitingApproval" && proposalId !== undefined) this.stepAwaits(proposalId, run.id);
      }
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

  runWaits({ id, pipeline: { name } }: PipelineRun): void {
    const waiting = this.#waiting.get(name) ?? [];
    this.#waiting.set(name, waiting);
    // Only a retried run is older than the last one.
    const at = waiting.findLastIndex((other) => runOrdinal(other) < runOrdinal(id));
    waiting.splice(at + 1, 0, id);
  }

  runStarted({ id, pipeline: { name } }: PipelineRun): void {
    const waiting = this.#waiting.get(name) ?? [];
    const at = waiting.indexOf(id);
    if (at >= 0) waiting.splice(at, 1);
    this.#count(name, 1);
    this.#markNext(name);
  }

  runEnded({ pipeline: { name } }: PipelineRun): void {
    this.#count(name, -1);
    this.#markNext(name);
  }

  /** Whether no older run of the pipeline waits. */
  isNext({ id, pipeline: { name } }: PipelineRun): boolean {
    return this.#waiting.get(name)?.[0] === id;
  }

  runningCount(pipeline: string): number {
    return this.#runningCounts.get(pipeline) ?? 0;
  }

  /** The run of a step that runs; `null`: the workload is none of a pipeline. */
  runOf(workloadId: WorkloadId): PipelineRunId | null {
    return this.#runOf.get(workloadId) ?? null;
  }

  #count(pipeline: string, change: number): void {
    const count = this.runningCount(pipeline) + change;
    if (count > 0) this.#runningCounts.set(pipeline, count);
    else this.#runningCounts.delete(pipeline);
  }

  /** One waiting run is looked at for each change: looking at all of them made long backfills quadratic. */
  #markNext(pipeline: string): void {
    const next = this.#waiting.get(pipeline)?.[0];
    if (next === undefined) this.#waiting.delete(pipeline);
    else this.due.add(next);
  }

  stepStarted(workloadId: WorkloadId, runId: PipelineRunId): void {
    this.#runOf.set(workloadId, runId);
  }

  stepAwaits(proposalId: string, runId: PipelineRunId): void {
    const runs = this.#awaiting.get(proposalId) ?? new Set();
    this.#awaiting.set(proposalId, runs.add(runId));
  }

  /** Runs of which a step has awaited the proposal; some may have been cancelled since. */
  runsAwaiting(proposalId: string): readonly PipelineRunId[] {
    return [...(this.#awaiting.get(proposalId) ?? [])];
  }

  proposalChanged(proposalId: string, isOver: boolean): void {
    for (const runId of this.#awaiting.get(proposalId) ?? []) this.due.add(runId);
    if (isOver) this.#awaiting.delete(proposalId);
  }

  workloadEnded(workloadId: WorkloadId): void {
    if (this.#runOf.size === 0) return;
    const runId = this.#runOf.get(workloadId);
    if (runId === undefined) return;
    this.#runOf.delete(workloadId);
    this.due.add(runId);
  }
}

/** Runs are numbered in the order of creation. */
export const runOrdinal = (id: PipelineRunId): number => Number(id.slice(1));

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
