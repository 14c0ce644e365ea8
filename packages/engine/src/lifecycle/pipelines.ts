/** Commands about pipelines and their runs. The round decides what a run does next (`round/keep-pipelines.ts`). */
import {
  DATE_PARAM,
  OPEN_RUNS_MAX,
  OPEN_STEPS_MAX,
  PIPELINES_MAX,
  TRIGGERED_RUNS_MAX,
  isRunOpen,
  nextDueMs,
  pipelineClock,
  pipelineRunId,
} from "@headroom/model";
import type { Command, PipelineRunId, PipelineSpec, Rejection, RunTrigger, StartingReading } from "@headroom/model";
import { graphProblems, paramValues, retryPlan } from "@headroom/pipelines";
import type { Batch } from "../batch/batch.ts";
import type { World } from "../cluster/world.ts";
import type { ReadonlyState } from "../state/state.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

type PipelineCommand<Kind extends Command["kind"]> = Command & { readonly kind: Kind };

/** Checks that the team exists, that the graph can run, and that the clock is due at some time. */
export function pipelineAdmissionFailure(
  { state }: World,
  pipeline: PipelineSpec,
  { teams }: Pick<PipelineCommand<"apply">, "teams">,
): Rejection | null {
  const { name, team } = pipeline;
  if (!state.teams.has(team) && !teams.some((each) => each.name === team)) return { code: "unknownTeam", team };
  const [problem] = graphProblems(pipeline);
  if (problem !== undefined) return { code: "pipelineInvalid", name, ...problem };
  const clock = pipelineClock(pipeline);
  if (clock !== null && nextDueMs(clock.times, state.nowMs) === null) return { code: "neverDue", name };
  if (!state.pipelines.has(name) && state.pipelines.size >= PIPELINES_MAX)
    return { code: "tooManyPipelines", of: "pipelines", count: state.pipelines.size, maxCount: PIPELINES_MAX };
  return null;
}

export function recordPipeline(batch: Batch, pipeline: PipelineSpec, actor: string): void {
  batch.emit({ kind: "pipelineSet", version: 1, atMs: batch.nowMs, pipeline, actor });
}

export function removePipeline(batch: Batch, { name, actor }: PipelineCommand<"removePipeline">): Decision {
  if (!batch.world.state.pipelines.has(name)) return refused({ code: "unknownPipeline", name });
  batch.emit({ kind: "pipelineRemoved", version: 1, atMs: batch.nowMs, name, actor });
  return done({ kind: "pipelineRemoved", name });
}

/** A request for runs of a pipeline. */
export interface RunRequest {
  readonly pipeline: PipelineSpec;
  readonly params: Readonly<Record<string, string>>;
  readonly force: boolean;
  readonly actor: string;
}

export function startPipelineRun(batch: Batch, command: PipelineCommand<"startPipelineRun">): Decision {
  const { state } = batch.world;
  const { name, params, force, actor, dates } = command;
  const pipeline = state.pipelines.get(name)?.pipeline;
  if (pipeline === undefined) return refused({ code: "unknownPipeline", name });
  const { triggers = [], params: declared } = pipeline;
  const { trigger: cause } = command;
  if (cause !== "manual" && !triggers.some(({ kind }) => kind === cause))
    return refused({ code: "pipelineNotTriggered", name, trigger: cause });
  if (dates !== undefined && !declared.some((param) => param.name === DATE_PARAM))
    return refused({ code: "pipelineParam", name, param: DATE_PARAM, cause: "date" });
  const earlier = cause === "manual" ? null : runOfRequest(state, pipeline, startOf(command));
  if (earlier !== null) return done({ kind: "pipelineRunsStarted", name, runIds: [earlier] });
  const runs = (dates ?? [null]).map((date) => ({
    params: date === null ? params : { ...params, [DATE_PARAM]: date },
    trigger: date === null ? startOf(command) : ({ kind: "backfill", date } as const),
  }));
  const [first] = runs;
  const failure =
    first === undefined
      ? null
      : cause !== "manual"
        ? triggeredAdmissionFailure(state, pipeline, first.params)
        : runAdmissionFailure(state, pipeline, first.params, runs.length);
  if (failure !== null) return refused(failure);
  const runIds = runs.map((run) => createRun(batch, { pipeline, force, actor, params: run.params }, run.trigger));
  return done({ kind: "pipelineRunsStarted", name, runIds });
}

const NO_READING: StartingReading = { subject: "", metric: "", value: "", sinceMs: 0 };

function startOf({ trigger, key, file, reading }: PipelineCommand<"startPipelineRun">): RunTrigger {
  switch (trigger) {
    case "manual":
      return { kind: "manual" };
    case "file":
      return { kind: "file", uri: file?.uri ?? "", tag: file?.tag ?? "" };
    case "metric":
      return { kind: "metric", ...(reading ?? NO_READING) };
    case "webhook":
      return { kind: "webhook", ...(key === undefined ? {} : { key }) };
  }
}

/** The run that an earlier request with the same id, file or reading started; `null`: none is kept. */
function runOfRequest(
  { pipelineRuns }: ReadonlyState,
  { name, team }: PipelineSpec,
  wanted: RunTrigger,
): PipelineRunId | null {
  if (wanted.kind === "webhook" && wanted.key === undefined) return null;
  // Another team may have had a pipeline of the same name.
  for (const { id, pipeline, trigger } of pipelineRuns.values())
    if (pipeline.name === name && pipeline.team === team && isSameRequest(trigger, wanted)) return id;
  return null;
}

function isSameRequest(trigger: RunTrigger, wanted: RunTrigger): boolean {
  if (trigger.kind === "webhook") return wanted.kind === "webhook" && trigger.key === wanted.key;
  if (trigger.kind === "metric" && wanted.kind === "metric")
    return trigger.subject === wanted.subject && trigger.metric === wanted.metric && trigger.sinceMs === wanted.sinceMs;
  return trigger.kind === "file" && wanted.kind === "file" && trigger.uri === wanted.uri && trigger.tag === wanted.tag;
}

/** Backfills and clocks have limits of their own: a long backfill must not stop the triggers. */
const isTriggered = ({ kind }: RunTrigger): boolean =>
  kind === "webhook" || kind === "artifact" || kind === "alias" || kind === "file" || kind === "metric";

/** As `runAdmissionFailure`, for a run that no user starts: a flood of them must leave room for other pipelines. */
export function triggeredAdmissionFailure(
  state: ReadonlyState,
  pipeline: PipelineSpec,
  stated: Readonly<Record<string, string>>,
): Rejection | null {
  let count = 0;
  for (const run of state.pipelineRuns.values())
    if (isRunOpen(run) && run.pipeline.name === pipeline.name && isTriggered(run.trigger)) count++;
  return count >= TRIGGERED_RUNS_MAX
    ? { code: "tooManyPipelines", of: "runs", count, maxCount: TRIGGERED_RUNS_MAX }
    : runAdmissionFailure(state, pipeline, stated, 1);
}

/** The reason why no run can be created with these parameters, or `null`. */
export function runAdmissionFailure(
  { pipelineRuns }: ReadonlyState,
  pipeline: PipelineSpec,
  stated: Readonly<Record<string, string>>,
  count: number,
): Rejection | null {
  const read = paramValues(pipeline, stated);
  if ("fault" in read) return { code: "pipelineParam", name: pipeline.name, ...read.fault };
  const open = [...pipelineRuns.values()].filter(isRunOpen);
  if (open.length + count > OPEN_RUNS_MAX)
    return { code: "tooManyPipelines", of: "runs", count: open.length, maxCount: OPEN_RUNS_MAX };
  const steps = open.reduce((sum, run) => sum + run.steps.size, 0);
  return steps + count * pipeline.steps.length > OPEN_STEPS_MAX
    ? { code: "tooManyPipelines", of: "steps", count: steps, maxCount: OPEN_STEPS_MAX }
    : null;
}

export function createRun(
  batch: Batch,
  { pipeline, params: stated, force, actor }: RunRequest,
  trigger: RunTrigger,
): PipelineRunId {
  const runId = pipelineRunId(`p${batch.world.state.pipelineRunCount + 1}`);
  const read = paramValues(pipeline, stated);
  const params = "fault" in read ? {} : read.values;
  const { name } = pipeline;
  batch.emit({ kind: "pipelineRunCreated", version: 1, atMs: batch.nowMs, runId, name, params, trigger, force, actor });
  return runId;
}

export function cancelPipelineRun(batch: Batch, { runId, actor }: PipelineCommand<"cancelPipelineRun">): Decision {
  const run = batch.world.state.pipelineRuns.get(runId);
  if (run === undefined) return refused({ code: "unknownPipelineRun", runId });
  if (!isRunOpen(run)) return refused({ code: "pipelineRunEnded", runId, phase: run.phase });
  if (!run.cancelRequested)
    batch.emit({ kind: "pipelineRunCancelRequested", version: 1, atMs: batch.nowMs, runId, actor });
  return done({ kind: "pipelineRunCancelling", runId });
}

export function retryPipelineRun(batch: Batch, command: PipelineCommand<"retryPipelineRun">): Decision {
  const { runId, from, force, actor } = command;
  const run = batch.world.state.pipelineRuns.get(runId);
  if (run === undefined) return refused({ code: "unknownPipelineRun", runId });
  if (isRunOpen(run)) return refused({ code: "pipelineRunNotEnded", runId, phase: run.phase });
  if (from !== null && !run.pipeline.steps.some(({ name }) => name === from))
    return refused({ code: "unknownPipelineStep", runId, step: from });
  const { again, collapsed } = retryPlan(run, from);
  const failure = runAdmissionFailure(batch.world.state, run.pipeline, run.params, 1);
  if (failure !== null) return refused(failure);
  if (again.length + collapsed.length > 0)
    batch.emit({
      kind: "pipelineRunRetried",
      version: 1,
      atMs: batch.nowMs,
      runId,
      actor,
      from,
      force,
      again,
      collapsed,
    });
  return done({ kind: "pipelineRunRetried", runId, steps: again.length });
}

export function decidePipelineStep(batch: Batch, command: PipelineCommand<"decidePipelineStep">): Decision {
  const { runId, step, isApproved, actor, reason } = command;
  const run = batch.world.state.pipelineRuns.get(runId);
  if (run === undefined) return refused({ code: "unknownPipelineRun", runId });
  const own = run.steps.get(step);
  if (own === undefined) return refused({ code: "unknownPipelineStep", runId, step });
  if (own.phase !== "awaitingApproval")
    return refused({ code: "stepNotAwaitingApproval", runId, step, phase: own.phase });
  if (own.proposalId !== undefined)
    return refused({ code: "stepAwaitsProposal", runId, step, proposal: own.proposalId });
  batch.emit({ kind: "pipelineStepDecided", version: 1, atMs: batch.nowMs, runId, step, isApproved, actor, reason });
  return done({ kind: "pipelineStepDecided", runId, step, isApproved });
}
