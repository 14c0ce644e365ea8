/** Pipelines, their runs, and the steps that can be reused. */
import { CACHED_STEPS_KEPT, ENDED_RUNS_KEPT, InvariantError, isRunOpen, stepKey } from "@headroom/model";
import type { EventOf, PipelineEvent, PipelineItem, PipelineRun, PipelineRunId, StepRun } from "@headroom/model";
import { firstSteps, waitingStep } from "@headroom/pipelines";
import { waitForPipelineClock, waitForStepTimeout } from "../cluster/pipeline-index.ts";
import type { State } from "../state/mutable-state.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

type WritableSteps = Map<string, StepRun>;

export const pipelineEvents: Appliers<PipelineEvent> = {
  pipelineSet(world, { pipeline, actor, atMs }) {
    const { lastClockRunId } = world.state.pipelines.get(pipeline.name) ?? {};
    const last = lastClockRunId === undefined ? {} : { lastClockRunId };
    storeItem(world, { pipeline, actor, lookedAtMs: atMs, ...last });
  },
  pipelineRemoved({ state }, { name }) {
    state.pipelines.delete(name);
  },
  pipelineRunCreated: create,
  pipelineDue(world, { name, runId, left, atMs }) {
    const item = world.state.pipelines.get(name);
    if (item === undefined) throw new InvariantError(`there is no pipeline ${name}`);
    const { left: _left, ...kept } = item;
    storeItem(world, {
      ...kept,
      lookedAtMs: atMs,
      ...(runId === null ? { left } : { lastClockRunId: runId }),
    });
  },
  pipelineNotTriggered(world, { name, left }) {
    const item = world.state.pipelines.get(name);
    if (item === undefined) throw new InvariantError(`there is no pipeline ${name}`);
    world.state.pipelines.set(name, { ...item, left });
  },
  pipelineRunStarted({ state, pipelines }, { runId, atMs }) {
    const run: PipelineRun = { ...runOf(state, runId), phase: "running", startedAtMs: atMs };
    state.pipelineRuns.set(runId, run);
    pipelines.runStarted(run);
    pipelines.mark(runId);
  },
  pipelineStepExpanded({ state }, { runId, step, items }) {
    const run = runOf(state, runId);
    const steps = stepsOf(run);
    steps.delete(step);
    for (const [index, item] of items.entries()) steps.set(stepKey(step, index), waitingStep(step, index, item));
    state.pipelineRuns.set(runId, { ...run, expanded: [...run.expanded, step] });
  },
  pipelineStepStarted(world, { runId, step, workloadId, cacheKey = null, atMs }) {
    const run = runOf(world.state, runId);
    const own: StepRun = { ...stepOf(run, step), phase: "running", workloadId, cacheKey, startedAtMs: atMs };
    stepsOf(run).set(step, own);
    world.pipelines.stepStarted(workloadId, runId);
    waitForStepTimeout(world.timers, run, own);
  },
  pipelineApprovalRequested({ state, pipelines }, { runId, step, proposal, atMs }) {
    const run = runOf(state, runId);
    if (proposal !== undefined) pipelines.stepAwaits(proposal, runId);
    const asked = proposal === undefined ? {} : { proposalId: proposal };
    stepsOf(run).set(step, { ...stepOf(run, step), phase: "awaitingApproval", startedAtMs: atMs, ...asked });
  },
  pipelineStepDecided({ state, pipelines }, { runId, step, isApproved, actor, reason, atMs }) {
    const run = runOf(state, runId);
    stepsOf(run).set(step, {
      ...stepOf(run, step),
      phase: isApproved ? "succeeded" : "failed",
      reason: { kind: isApproved ? "approved" : "rejected", actor, reason },
      endedAtMs: atMs,
    });
    pipelines.mark(runId);
  },
  pipelineStepEnded: endStep,
  pipelineRunCancelRequested({ state, pipelines }, { runId }) {
    state.pipelineRuns.set(runId, { ...runOf(state, runId), cancelRequested: true });
    pipelines.mark(runId);
  },
  pipelineRunRetried: retry,
  pipelineRunEnded({ state, pipelines }, { runId, phase, atMs }) {
    const run = runOf(state, runId);
    state.pipelineRuns.set(runId, { ...run, phase, endedAtMs: atMs });
    pipelines.runEnded(run);
    dropOldest(state);
  },
};

function create(world: WritableWorld, event: EventOf<"pipelineRunCreated">): void {
  const { state, pipelines } = world;
  const { runId, name, params, trigger, force, actor, atMs } = event;
  const pipeline = state.pipelines.get(name)?.pipeline;
  if (pipeline === undefined) throw new InvariantError(`there is no pipeline ${name}`);
  state.pipelineRunCount++;
  const run: PipelineRun = {
    id: runId,
    pipeline,
    params,
    trigger,
    actor,
    force,
    phase: "waiting",
    createdAtMs: atMs,
    startedAtMs: null,
    endedAtMs: null,
    cancelRequested: false,
    retryCount: 0,
    expanded: [],
    steps: new Map(firstSteps(pipeline).map((own) => [stepKey(own.step, own.index), own])),
  };
  state.pipelineRuns.set(runId, run);
  pipelines.runWaits(run);
  pipelines.mark(runId);
}

function endStep({ state }: WritableWorld, event: EventOf<"pipelineStepEnded">): void {
  const { runId, step, phase, reason, artifacts = [], atMs } = event;
  const run = runOf(state, runId);
  const own = stepOf(run, step);
  const workloadId = event.reuses ?? own.workloadId;
  const cacheKey = event.cacheKey ?? own.cacheKey;
  stepsOf(run).set(step, { ...own, phase, reason, artifacts, workloadId, cacheKey, endedAtMs: atMs });
  if (phase !== "succeeded" || cacheKey === null || workloadId === null) return;
  const { cachedSteps } = state;
  cachedSteps.delete(cacheKey);
  cachedSteps.set(cacheKey, { runId, workloadId, artifacts });
  if (cachedSteps.size <= CACHED_STEPS_KEPT) return;
  const [oldest] = cachedSteps.keys();
  if (oldest !== undefined) cachedSteps.delete(oldest);
}

/** The run continues under its id. Steps that run again wait; the others stay as they are. */
function retry({ state, pipelines }: WritableWorld, event: EventOf<"pipelineRunRetried">): void {
  const { runId, again, collapsed, force } = event;
  const run = runOf(state, runId);
  const steps = stepsOf(run);
  for (const key of again) {
    const { step, index, item } = stepOf(run, key);
    steps.set(key, waitingStep(step, index, item));
  }
  for (const name of collapsed) {
    for (const [key, { step }] of steps) if (step === name) steps.delete(key);
    steps.set(name, waitingStep(name));
  }
  state.pipelineRuns.set(runId, {
    ...run,
    force,
    phase: "waiting",
    endedAtMs: null,
    cancelRequested: false,
    retryCount: run.retryCount + 1,
    expanded: run.expanded.filter((name) => !collapsed.includes(name)),
  });
  pipelines.runWaits(run);
  pipelines.mark(runId);
}

function storeItem({ state, timers }: WritableWorld, item: PipelineItem): void {
  state.pipelines.set(item.pipeline.name, item);
  waitForPipelineClock(timers, item);
}

function runOf({ pipelineRuns }: State, runId: PipelineRunId): PipelineRun {
  const run = pipelineRuns.get(runId);
  if (run === undefined) throw new InvariantError(`there is no pipeline run ${runId}`);
  return run;
}

/** The steps are changed in place: a run can have thousands of them, and each changes several times. */
const stepsOf = (run: PipelineRun): WritableSteps => run.steps as WritableSteps;

function stepOf({ id, steps }: PipelineRun, key: string): StepRun {
  const own = steps.get(key);
  if (own === undefined) throw new InvariantError(`pipeline run ${id} has no step ${key}`);
  return own;
}

/** Drops the oldest run of the pipeline with the most, so that a busy pipeline pushes out no run of another one. */
function dropOldest({ pipelineRuns }: State): void {
  const ended = [...pipelineRuns.values()].filter((run) => !isRunOpen(run));
  if (ended.length <= ENDED_RUNS_KEPT) return;
  const byPipeline = Map.groupBy(ended, ({ pipeline: { name } }) => name);
  const [oldest] = [...byPipeline.values()].reduce((most, runs) => (runs.length > most.length ? runs : most));
  if (oldest !== undefined) pipelineRuns.delete(oldest.id);
}
