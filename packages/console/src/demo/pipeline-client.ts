/** Pipelines in the demo: the same views and commands as in the server. */
import { pipelineRunId } from "@headroom/model";
import type { CommandResult } from "@headroom/model";
import { ProblemError, decideRequest, retryRequest, runRequest, triggerRequest } from "@headroom/protocol";
import type { HeadroomClient, PipelineRunsStarted } from "@headroom/protocol";
import * as views from "@headroom/views";
import { accepted } from "../workers/accepted.ts";
import { YOU } from "./demo-world.ts";
import type { DemoWorld } from "./demo-world.ts";

type PipelineReading = Pick<
  HeadroomClient,
  "listPipelines" | "getPipeline" | "listPipelineRuns" | "getPipelineRun" | "listPipelineSteps"
>;
type PipelineCommands = Pick<
  HeadroomClient,
  | "removePipeline"
  | "startPipelineRun"
  | "triggerPipeline"
  | "cancelPipelineRun"
  | "retryPipelineRun"
  | "decidePipelineStep"
>;

const known = <Value>(value: Value | null, rejection: Parameters<typeof views.rejectionProblem>[0]): Value => {
  if (value === null) throw new ProblemError(views.rejectionProblem(rejection));
  return value;
};

export const pipelineReading = ({ engine }: Pick<DemoWorld, "engine">): PipelineReading => ({
  listPipelines: async (query = {}) => views.pipelineList(engine, query),
  getPipeline: async (name) => known(views.pipelineView(engine, name), { code: "unknownPipeline", name }),
  listPipelineRuns: async (query = {}) => views.pipelineRunList(engine, query),
  getPipelineRun: async (runId) => known(views.pipelineRunView(engine, runId), { code: "unknownPipelineRun", runId }),
  listPipelineSteps: async (runId, query = {}) =>
    known(views.pipelineStepList(engine, runId, query), { code: "unknownPipelineRun", runId }),
});

/** The demo has no database of time zones. */
const utcOnly: views.ZoneOffsets = (timeZone) => (timeZone === "UTC" ? () => 0 : null);

const started = (result: CommandResult): PipelineRunsStarted => ({
  dryRun: false,
  runIds: result.kind === "pipelineRunsStarted" ? [...result.runIds] : [],
});

export const pipelineCommands = (
  { engine }: Pick<DemoWorld, "engine">,
  run: DemoWorld["command"],
): PipelineCommands => ({
  removePipeline: async (name) => {
    run({ kind: "removePipeline", name });
    return { name };
  },
  startPipelineRun: async (name, body, { dryRun } = {}) => {
    const { params, force, backfill } = accepted(runRequest.safeParse(body));
    const dates = backfill === undefined ? undefined : [...views.backfillOf(backfill, utcOnly)];
    const dated = dates === undefined ? {} : { dates };
    if (dryRun === true)
      return { dryRun, runIds: [], ...dated, plan: views.pipelineRunPlan(engine, { name, params, force, actor: YOU }) };
    return {
      ...started(run({ kind: "startPipelineRun", name, params, force, trigger: "manual", ...dated })),
      ...dated,
    };
  },
  triggerPipeline: async (name, body) => {
    const { params, key } = accepted(triggerRequest.safeParse(body));
    return started(run({ kind: "startPipelineRun", name, params, force: false, trigger: "webhook", key }));
  },
  cancelPipelineRun: async (id) => {
    run({ kind: "cancelPipelineRun", runId: pipelineRunId(id) });
    return { id };
  },
  retryPipelineRun: async (id, body) => {
    const { from = null, force } = accepted(retryRequest.safeParse(body));
    const result = run({ kind: "retryPipelineRun", runId: pipelineRunId(id), from, force });
    return { id, steps: result.kind === "pipelineRunRetried" ? result.steps : 0 };
  },
  decidePipelineStep: async (id, body) => {
    const { step, approved, reason } = accepted(decideRequest.safeParse(body));
    run({ kind: "decidePipelineStep", runId: pipelineRunId(id), step, isApproved: approved, reason });
    return { id, step, approved };
  },
});
