/** Pipelines and their runs: reads, and commands that start, cancel, retry and decide. */
import { pipelineRunId } from "@headroom/model";
import { ProblemError } from "@headroom/protocol";
import type { PipelineRunPlan } from "@headroom/protocol";
import * as views from "@headroom/views";
import { readableTeams } from "../auth/team-tree.ts";
import { command } from "./calls.ts";
import type { Answer, Call, Gone, Handlers } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";
import { zoneOffset } from "./zone-offset.ts";

const noPipeline = (name: string): ProblemError =>
  new ProblemError(views.rejectionProblem({ code: "unknownPipeline", name }));
const noRun = (runId: string): ProblemError =>
  new ProblemError(views.rejectionProblem({ code: "unknownPipelineRun", runId }));

const listPipelines = (
  { driver }: ControlPlane,
  { query, principal }: Call<"listPipelines">,
): Promise<Answer<"listPipelines">> =>
  driver.read((engine) => views.pipelineList(engine, query, readableTeams(engine.state, principal)));

async function getPipeline(
  { driver }: ControlPlane,
  { params: { name } }: Call<"getPipeline">,
): Promise<Answer<"getPipeline">> {
  const item = await driver.read((engine) => views.pipelineView(engine, name));
  if (item === null) throw noPipeline(name);
  return item;
}

async function removePipeline(plane: ControlPlane, call: Call<"removePipeline">): Promise<Answer<"removePipeline">> {
  const wanted = { kind: "removePipeline", name: call.params.name } as const;
  const { name } = await command(plane, call, wanted, "pipelineRemoved");
  return { name };
}

async function startPipelineRun(
  plane: ControlPlane,
  call: Call<"startPipelineRun">,
  gone: Gone,
): Promise<Answer<"startPipelineRun">> {
  const { name } = call.params;
  const { params, force, backfill } = call.body;
  const dates = backfill === undefined ? undefined : views.backfillOf(backfill, zoneOffset);
  const dated = dates === undefined ? {} : { dates: [...dates] };
  if (call.query.dryRun === true) return { dryRun: true, runIds: [], ...dated, plan: await planned(plane, call, gone) };
  const wanted = { kind: "startPipelineRun", name, params, force, trigger: "manual", ...dated } as const;
  const { runIds } = await command(plane, call, wanted, "pipelineRunsStarted");
  return { dryRun: false, runIds: [...runIds], ...dated };
}

/** The plan of one run, for a backfill of its first date. The start of its first workload is forecast if that is possible. */
async function planned(
  plane: ControlPlane,
  { params: { name }, body, actor }: Call<"startPipelineRun">,
  gone: Gone,
): Promise<PipelineRunPlan> {
  const { params, force, backfill } = body;
  const [date] = backfill === undefined ? [] : views.backfillOf(backfill, zoneOffset);
  const dated = date === undefined ? params : { ...params, date };
  const { plan, first } = await plane.driver.read((engine) => {
    const drawn = views.pipelineRunPlan(engine, { name, params: dated, force, actor });
    return { plan: drawn, first: views.firstWorkload(engine, name, drawn) };
  });
  if (first === null) return plan;
  const nowMs = plane.nowMs();
  try {
    const { forecast } = await plane.forecast
      .ask({ kind: "forecast", spec: first, actor }, actor, gone())
      .then((answer) => (answer.kind === "refused" ? { forecast: null } : answer));
    return { ...plan, startsAtMs: startOf(forecast, nowMs) };
  } catch (error) {
    if (error instanceof ProblemError) return plan;
    throw error;
  }
}

type SubmissionForecast = Answer<"forecastWorkload">;

const startOf = (forecast: SubmissionForecast | null, nowMs: number): number | null =>
  forecast === null ? null : forecast.kind === "starts" ? nowMs : (forecast.estimate?.p50AtMs ?? null);

async function triggerPipeline(plane: ControlPlane, call: Call<"triggerPipeline">): Promise<Answer<"triggerPipeline">> {
  const { params, key } = call.body;
  const { name } = call.params;
  const wanted = { kind: "startPipelineRun", name, params, force: false, trigger: "webhook", key } as const;
  const { runIds } = await command(plane, call, wanted, "pipelineRunsStarted");
  return { dryRun: false, runIds: [...runIds] };
}

const listPipelineRuns = (
  { driver }: ControlPlane,
  { query, principal }: Call<"listPipelineRuns">,
): Promise<Answer<"listPipelineRuns">> =>
  driver.read((engine) => views.pipelineRunList(engine, query, readableTeams(engine.state, principal)));

async function getPipelineRun(
  { driver }: ControlPlane,
  { params: { id } }: Call<"getPipelineRun">,
): Promise<Answer<"getPipelineRun">> {
  const run = await driver.read((engine) => views.pipelineRunView(engine, id));
  if (run === null) throw noRun(id);
  return run;
}

async function listPipelineSteps(
  { driver }: ControlPlane,
  { params: { id }, query }: Call<"listPipelineSteps">,
): Promise<Answer<"listPipelineSteps">> {
  const page = await driver.read((engine) => views.pipelineStepList(engine, id, query));
  if (page === null) throw noRun(id);
  return page;
}

async function cancelPipelineRun(
  plane: ControlPlane,
  call: Call<"cancelPipelineRun">,
): Promise<Answer<"cancelPipelineRun">> {
  const wanted = { kind: "cancelPipelineRun", runId: pipelineRunId(call.params.id) } as const;
  const { runId } = await command(plane, call, wanted, "pipelineRunCancelling");
  return { id: runId };
}

async function retryPipelineRun(
  plane: ControlPlane,
  call: Call<"retryPipelineRun">,
): Promise<Answer<"retryPipelineRun">> {
  const { from = null, force } = call.body;
  const wanted = { kind: "retryPipelineRun", runId: pipelineRunId(call.params.id), from, force } as const;
  const { runId, steps } = await command(plane, call, wanted, "pipelineRunRetried");
  return { id: runId, steps };
}

async function decidePipelineStep(
  plane: ControlPlane,
  call: Call<"decidePipelineStep">,
): Promise<Answer<"decidePipelineStep">> {
  const { step, approved: isApproved, reason } = call.body;
  const runId = pipelineRunId(call.params.id);
  const wanted = { kind: "decidePipelineStep", runId, step, isApproved, reason } as const;
  const decided = await command(plane, call, wanted, "pipelineStepDecided");
  return { id: decided.runId, step: decided.step, approved: decided.isApproved };
}

export const pipelineHandlers = {
  listPipelines,
  getPipeline,
  removePipeline,
  startPipelineRun,
  triggerPipeline,
  listPipelineRuns,
  getPipelineRun,
  listPipelineSteps,
  cancelPipelineRun,
  retryPipelineRun,
  decidePipelineStep,
} satisfies Partial<Handlers>;
