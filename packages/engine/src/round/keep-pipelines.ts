/**
 * Runs of pipelines go on: clocks create runs, waiting runs start, and steps whose inputs exist are submitted. A step is
 * submitted and recorded as started in one batch, so a crash neither loses nor repeats it.
 */
import { DATE_PARAM, artifactKey, dayOf, isRunOpen, lastDueMs, pipelineClock } from "@headroom/model";
import type { PipelineItem, PipelineRun, PipelineRunId, Rejection } from "@headroom/model";
import { dayText, nextActions } from "@headroom/pipelines";
import type { PipelineFacts, StepAction, WorkloadOutcome } from "@headroom/pipelines";
import type { Batch } from "../batch/batch.ts";
import { runOrdinal } from "../cluster/pipeline-index.ts";
import { moveAlias, moveOf } from "../lifecycle/artifacts.ts";
import { createRun, runAdmissionFailure } from "../lifecycle/pipelines.ts";
import { proposeMove, withdrawMove } from "../lifecycle/proposals.ts";
import { keepProposal } from "./keep-proposals.ts";
import { findVersionOf } from "../state/find-artifact.ts";
import { recordStepWorkload, stopWorkload, submissionAdmissionFailure } from "../lifecycle/submit.ts";

export function keepPipelines(batch: Batch): void {
  const { pipelines, state } = batch.world;
  if (pipelines.isClockDue) {
    pipelines.isClockDue = false;
    for (const item of Array.from(state.pipelines.values())) keepClock(batch, item);
  }
  if (pipelines.due.size === 0) return;
  // A run that ends lets another one start, which is then due in turn.
  const left: PipelineRunId[] = [];
  for (let due = takeDue(batch); due.length > 0; due = takeDue(batch))
    for (const id of due) if (!keepRun(batch, id)) left.push(id);
  for (const id of left) pipelines.mark(id);
}

/** Runs in the order of creation, so that a restored engine does the same. */
function takeDue({ world: { pipelines } }: Batch): readonly PipelineRunId[] {
  const due = [...pipelines.due].toSorted((left, right) => runOrdinal(left) - runOrdinal(right));
  pipelines.due.clear();
  return due;
}

/** If several due times were missed, one run is created, for the last of them. */
function keepClock(batch: Batch, item: PipelineItem): void {
  const { pipeline, actor, lookedAtMs, lastClockRunId } = item;
  const clock = pipelineClock(pipeline);
  const dueAtMs = clock === null ? null : lastDueMs(clock.times, batch.nowMs);
  if (clock === null || dueAtMs === null || dueAtMs <= lookedAtMs) return;
  const { state } = batch.world;
  const fact = { kind: "pipelineDue", version: 1, atMs: batch.nowMs, name: pipeline.name, dueAtMs } as const;
  const last = lastClockRunId === undefined ? undefined : state.pipelineRuns.get(lastClockRunId);
  const isBusy = last !== undefined && isRunOpen(last);
  if (isBusy && clock.concurrency === "forbid")
    return batch.emit({ ...fact, runId: null, left: "the last run has not ended" });
  const params = pipeline.params.some(({ name }) => name === DATE_PARAM)
    ? { [DATE_PARAM]: dayText(dayOf(dueAtMs)) }
    : {};
  const failure = runAdmissionFailure(state, pipeline, params, 1);
  if (failure !== null) return batch.emit({ ...fact, runId: null, left: failure.code });
  if (isBusy && clock.concurrency === "replace" && !last.cancelRequested)
    batch.emit({ kind: "pipelineRunCancelRequested", version: 1, atMs: batch.nowMs, runId: last.id, actor });
  const runId = createRun(batch, { pipeline, params, force: false, actor }, { kind: "clock", dueAtMs });
  batch.emit({ ...fact, runId, left: "" });
}

/** False: the queue is full, so the run is looked at again in the next round. */
function keepRun(batch: Batch, id: PipelineRunId): boolean {
  const { state } = batch.world;
  const created = state.pipelineRuns.get(id);
  if (created === undefined || !isRunOpen(created)) return true;
  if (created.phase === "waiting") {
    if (!created.cancelRequested && !mayStart(batch, created)) return true;
    batch.emit({ kind: "pipelineRunStarted", version: 1, atMs: batch.nowMs, runId: id });
  }
  // A refused submission ends its step, after which others may go on. Every pass settles a step, so it ends.
  for (let run = state.pipelineRuns.get(id); run?.phase === "running"; run = state.pipelineRuns.get(id)) {
    const actions = nextActions(run, factsOf(batch));
    if (actions.length === 0) break;
    for (const action of actions) if (!perform(batch, run, action)) return false;
  }
  return true;
}

/** Runs of a pipeline start in the order of creation, also if an older one has another definition with a lower limit. */
function mayStart({ world: { pipelines } }: Batch, run: PipelineRun): boolean {
  const { name, runsAtOnce } = run.pipeline;
  return runsAtOnce === undefined || (pipelines.isNext(run) && pipelines.runningCount(name) < runsAtOnce);
}

const factsOf = ({ world: { state }, nowMs }: Batch): PipelineFacts => ({
  nowMs,
  outcomeOf(id) {
    const workload = state.workloads.get(id);
    // Ten thousand workloads ended before this round looked: whether this one succeeded is no longer known.
    if (workload === undefined) return { phase: "failed", endedAtMs: nowMs, artifacts: [] };
    if (workload.endedAtMs === null) return null;
    const { endedAtMs, artifacts = [] } = workload;
    return { phase: workload.phase as WorkloadOutcome["phase"], endedAtMs, artifacts };
  },
  isStopping: (id) => state.workloads.get(id)?.stopRequested === true,
  cached: (key) => state.cachedSteps.get(key) ?? null,
  proposalOf: (id) => state.proposals.get(id) ?? null,
  versionOf: (team, text) => findVersionOf(state, team, text),
});

/** Records an action. False: the queue is full. */
function perform(batch: Batch, run: PipelineRun, action: StepAction): boolean {
  const { id: runId } = run;
  const fact = { version: 1, atMs: batch.nowMs, runId } as const;
  switch (action.kind) {
    case "expand":
      batch.emit({ kind: "pipelineStepExpanded", ...fact, step: action.step, items: action.items });
      return true;
    case "submit":
      return submit(batch, run, action);
    case "setAlias":
      setAlias(batch, run, action);
      return true;
    case "requestApproval":
      batch.emit({ kind: "pipelineApprovalRequested", ...fact, version: 2, step: action.key });
      return true;
    case "stop":
      stopWorkload(batch, action.workloadId, run.actor);
      return true;
    case "settle": {
      const { key: step, phase, reason, artifacts, workloadId, cacheKey } = action;
      const proposal = run.steps.get(step)?.proposalId;
      if (proposal !== undefined && phase === "cancelled") withdrawMove(batch, proposal, run);
      batch.emit({
        kind: "pipelineStepEnded",
        ...fact,
        step,
        phase,
        reason,
        ...(artifacts.length === 0 ? {} : { artifacts }),
        ...(workloadId === undefined ? {} : { reuses: workloadId }),
        ...(cacheKey === undefined ? {} : { cacheKey }),
      });
      return true;
    }
    case "end":
      batch.emit({ kind: "pipelineRunEnded", ...fact, phase: action.phase });
      return true;
  }
}

/** The registry decides as about a user's move. A refusal fails the step; a gate with approval makes it wait for a proposal. */
function setAlias(batch: Batch, run: PipelineRun, action: StepAction & { readonly kind: "setAlias" }): void {
  const { key: step, alias, version } = action;
  const fact = { version: 1, atMs: batch.nowMs, runId: run.id, step } as const;
  const reason = `pipeline run ${run.id}, step ${step}`;
  const move = moveOf(batch.world.state, alias, version);
  const refusal: Rejection | null =
    move === null
      ? { code: "unknownArtifact", artifact: version }
      : moveAlias(batch, { ...move, by: "user" }, { actor: run.actor, reason, run });
  if (refusal?.code === "aliasGated" && move !== null) return propose(batch, run, { step, reason, move });
  batch.emit(
    refusal === null
      ? { kind: "pipelineStepEnded", ...fact, phase: "succeeded", reason: { kind: "aliasSet", alias, version } }
      : { kind: "pipelineStepEnded", ...fact, phase: "failed", reason: { kind: "refused", code: refusal.code } },
  );
}

interface StepMove {
  readonly step: string;
  readonly reason: string;
  readonly move: NonNullable<ReturnType<typeof moveOf>>;
}

/** The step waits for the decision, also on the same move that is proposed already. The rule of proposals can approve it at once. */
function propose(batch: Batch, run: PipelineRun, { step, reason, move: { name, target } }: StepMove): void {
  const fact = { atMs: batch.nowMs, runId: run.id, step } as const;
  const made = proposeMove(batch, { kind: "alias", artifact: artifactKey(name), ...target }, { run, reason });
  if ("code" in made && made.code !== "proposalExists") {
    const refused = { kind: "refused", code: made.code } as const;
    return batch.emit({ kind: "pipelineStepEnded", version: 1, ...fact, phase: "failed", reason: refused });
  }
  batch.emit({ kind: "pipelineApprovalRequested", version: 2, ...fact, proposal: made.id });
  keepProposal(batch, made.id);
}

/** The limits of a submission apply. A full queue is waited for; any other refusal fails the step. */
function submit(batch: Batch, run: PipelineRun, action: StepAction & { readonly kind: "submit" }): boolean {
  const { id: runId, actor } = run;
  const { key: step, spec, artifacts, cacheKey } = action;
  const fact = { version: 1, atMs: batch.nowMs, runId, step } as const;
  const failure = submissionAdmissionFailure(batch.world, spec, batch.world.state.teams);
  if (failure?.code === "queueFull") return false;
  if (failure !== null) {
    const reason = { kind: "refused", code: failure.code } as const;
    batch.emit({ kind: "pipelineStepEnded", ...fact, phase: "failed", reason });
    return true;
  }
  const workloadId = recordStepWorkload(batch, spec, actor, artifacts);
  batch.emit({
    kind: "pipelineStepStarted",
    ...fact,
    workloadId,
    ...(cacheKey === null ? {} : { cacheKey }),
  });
  return true;
}
