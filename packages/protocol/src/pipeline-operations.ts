/** Rows of the operations table about pipelines and their runs. */
import { names } from "@headroom/spec";
import { z } from "zod";
import { commandProblems } from "./operation-problems.ts";
import { byId } from "./operation-queries.ts";
import { operation } from "./operation.ts";
import {
  decideRequest,
  pipelineItem,
  pipelinePage,
  pipelineQuery,
  pipelineRemoved,
  pipelineRun,
  pipelineRunPage,
  pipelineRunQuery,
  pipelineStepPage,
  pipelineStepQuery,
  retryRequest,
  runCancelled,
  runDryRun,
  runRequest,
  runRetried,
  runsStarted,
  stepDecided,
  triggerRequest,
} from "./pipeline.ts";

const byName = z.strictObject({ name: names.calendarName });
const starting = ["unknownPipeline", "pipelineParam", "tooManyPipelines"] as const;

export const pipelineOperations = {
  listPipelines: operation("GET /v1/pipelines", "Pipelines with their next and newest runs", pipelinePage, {
    permission: "workloads.read",
    subject: "teams",
    query: pipelineQuery,
    problems: ["invalidCursor"],
  }),
  getPipeline: operation("GET /v1/pipelines/{name}", "One pipeline with its definition", pipelineItem, {
    permission: "workloads.read",
    subject: "pipeline",
    params: byName,
    problems: ["unknownPipeline"],
  }),
  removePipeline: operation("DELETE /v1/pipelines/{name}", "Remove a pipeline; its runs continue", pipelineRemoved, {
    permission: "workloads.write",
    subject: "pipeline",
    params: byName,
    problems: ["unknownPipeline", ...commandProblems],
  }),
  startPipelineRun: operation(
    "POST /v1/pipelines/{name}/runs",
    "Start a run of a pipeline, or one run for each date of a backfill; with dryRun, only plan it",
    runsStarted,
    {
      permission: "workloads.write",
      subject: "pipelineRuns",
      params: byName,
      query: runDryRun,
      body: runRequest,
      problems: [...starting, "tookTooLong", ...commandProblems],
    },
  ),
  triggerPipeline: operation(
    "POST /v1/pipelines/{name}/trigger",
    "Start a run of a pipeline that has the trigger webhook",
    runsStarted,
    {
      permission: "workloads.write",
      subject: "pipelineRuns",
      params: byName,
      body: triggerRequest,
      problems: [...starting, "pipelineNotTriggered", ...commandProblems],
    },
  ),
  listPipelineRuns: operation("GET /v1/pipeline-runs", "Runs of pipelines, newest first", pipelineRunPage, {
    permission: "workloads.read",
    subject: "teams",
    query: pipelineRunQuery,
    problems: ["invalidCursor"],
  }),
  getPipelineRun: operation("GET /v1/pipeline-runs/{id}", "One run with the graph of its steps", pipelineRun, {
    permission: "workloads.read",
    subject: "pipelineRun",
    params: byId,
    problems: ["unknownPipelineRun"],
  }),
  listPipelineSteps: operation(
    "GET /v1/pipeline-runs/{id}/steps",
    "Steps of a run with their items: phase, reason, attempts",
    pipelineStepPage,
    {
      permission: "workloads.read",
      subject: "pipelineRun",
      params: byId,
      query: pipelineStepQuery,
      problems: ["unknownPipelineRun", "invalidCursor"],
    },
  ),
  cancelPipelineRun: operation(
    "POST /v1/pipeline-runs/{id}/cancel",
    "Cancel a run: its workloads are stopped, and no further step starts",
    runCancelled,
    {
      permission: "workloads.write",
      subject: "pipelineRun",
      params: byId,
      problems: ["unknownPipelineRun", "pipelineRunEnded", ...commandProblems],
    },
  ),
  retryPipelineRun: operation(
    "POST /v1/pipeline-runs/{id}/retry",
    "Run the steps of an ended run again that did not succeed, with all steps after them",
    runRetried,
    {
      permission: "workloads.write",
      subject: "pipelineRun",
      params: byId,
      body: retryRequest,
      problems: [
        "unknownPipelineRun",
        "unknownPipelineStep",
        "pipelineRunNotEnded",
        "pipelineParam",
        "tooManyPipelines",
        ...commandProblems,
      ],
    },
  ),
  decidePipelineStep: operation(
    "POST /v1/pipeline-runs/{id}/decide",
    "Approve or reject a step that waits for approval",
    stepDecided,
    {
      permission: "pipelines.decide",
      subject: "pipelineRun",
      params: byId,
      body: decideRequest,
      problems: ["unknownPipelineRun", "unknownPipelineStep", "stepNotAwaitingApproval", ...commandProblems],
    },
  ),
};
