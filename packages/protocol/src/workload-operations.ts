/** Rows of the operations table about single workloads. */
import { z } from "zod";
import { names, submittedSpec, workloadChanges } from "@headroom/spec";
import { execAccepted, execInput, execOutput, execRequest, execStarted } from "./exec.ts";
import { workloadHistory } from "./history.ts";
import { expectedStartPage, startEstimate, startingChanges, submissionForecast } from "./forecast.ts";
import { metricsPage, metricsQuery } from "./metrics.ts";
import { byId, logQuery, stopQuery, workloadQuery } from "./operation-queries.ts";
import { operation } from "./operation.ts";
import { admission, commandProblems } from "./operation-problems.ts";
import { logChunk, workloadUsage } from "./output.ts";
import { pageQuery } from "./page.ts";
import { workloadPerformance } from "./performance.ts";
import { workloadModel, workloadPredictions } from "./predictions.ts";
import { verdict } from "./verdict.ts";
import { changeQuery, workloadChanged } from "./workload-changes.ts";
import { workload, workloadAccepted, workloadPage, workloadSubmitted } from "./workload.ts";

export const workloadOperations = {
  listWorkloads: operation("GET /v1/workloads", "Workloads, the newest first", workloadPage, {
    permission: "workloads.read",
    subject: "teams",
    query: workloadQuery,
    problems: ["invalidCursor"],
  }),
  submitWorkload: operation("POST /v1/workloads", "Submit a workload", workloadSubmitted, {
    permission: "workloads.write",
    subject: "body",
    body: submittedSpec,
    status: 201,
    problems: [...admission, ...commandProblems],
  }),
  getWorkload: operation("GET /v1/workloads/{id}", "One workload with its attempts", workload, {
    permission: "workloads.read",
    subject: "workload",
    params: byId,
    problems: ["unknownWorkload"],
  }),
  changeWorkload: operation(
    "PATCH /v1/workloads/{id}",
    "Change fields of a workload that waits or runs; it keeps its place in the queue",
    workloadChanged,
    {
      permission: "workloads.write",
      subject: "workload",
      params: byId,
      query: changeQuery,
      body: workloadChanges,
      problems: [
        "unknownWorkload",
        "workloadEnded",
        "cannotChange",
        "tooLarge",
        "unknownDependency",
        "unknownArtifact",
        "dependencyNotMet",
        "tookTooLong",
        ...commandProblems,
      ],
    },
  ),
  stopWorkload: operation(
    "POST /v1/workloads/{id}/stop",
    "Stop a workload, or one task of an array, with its grace period",
    workloadAccepted,
    {
      permission: "workloads.write",
      subject: "workload",
      params: byId,
      query: stopQuery,
      status: 202,
      problems: ["unknownWorkload", "workloadEnded", "unknownTask", "taskEnded", ...commandProblems],
    },
  ),
  holdWorkload: operation("POST /v1/workloads/{id}/hold", "Hold a workload: no further task starts", workloadAccepted, {
    permission: "workloads.write",
    subject: "workload",
    params: byId,
    status: 202,
    problems: ["unknownWorkload", "workloadEnded", ...commandProblems],
  }),
  releaseWorkload: operation("POST /v1/workloads/{id}/release", "Release a held workload", workloadAccepted, {
    permission: "workloads.write",
    subject: "workload",
    params: byId,
    status: 202,
    problems: ["unknownWorkload", "workloadEnded", ...commandProblems],
  }),
  rerunWorkload: operation(
    "POST /v1/workloads/{id}/rerun",
    "Run the unsuccessful tasks of an ended workload again",
    workloadAccepted,
    {
      permission: "workloads.write",
      subject: "workload",
      params: byId,
      status: 202,
      problems: [
        "unknownWorkload",
        "workloadNotEnded",
        "cannotRerun",
        "unknownTeam",
        "queueFull",
        "tooLarge",
        "unknownDependency",
        "unknownArtifact",
        "dependencyNotMet",
        ...commandProblems,
      ],
    },
  ),
  explainWorkload: operation("GET /v1/workloads/{id}/verdict", "Why a workload waits, with numbers", verdict, {
    permission: "workloads.read",
    subject: "workload",
    params: byId,
    problems: ["unknownWorkload"],
  }),
  startingChanges: operation(
    "GET /v1/workloads/{id}/changes",
    "The smallest changes that would start a workload now; each was simulated",
    startingChanges,
    {
      permission: "workloads.read",
      subject: "workload",
      params: byId,
      problems: ["unknownWorkload", "overloaded", "tookTooLong"],
    },
  ),
  estimateStart: operation("GET /v1/workloads/{id}/estimate", "When a workload will start, as a range", startEstimate, {
    permission: "workloads.read",
    subject: "workload",
    params: byId,
    problems: ["unknownWorkload", "notWaiting", "overloaded", "tookTooLong"],
  }),
  expectedStarts: operation(
    "GET /v1/estimates",
    "Predicted starts of all pending workloads at one instant, earliest first",
    expectedStartPage,
    {
      permission: "workloads.read",
      subject: "teams",
      query: pageQuery.extend({ team: names.teamName.optional() }),
      problems: ["invalidCursor", "overloaded", "tookTooLong"],
    },
  ),
  forecastWorkload: operation(
    "POST /v1/workloads/explain",
    "Predicted start if submitted now; nothing is recorded",
    submissionForecast,
    {
      permission: "workloads.read",
      subject: "body",
      body: submittedSpec,
      problems: [...admission, "overloaded", "tookTooLong"],
    },
  ),
  logs: operation("GET /v1/workloads/{id}/logs", "Output of a workload, as a stream", logChunk, {
    permission: "workloads.read",
    subject: "workload",
    params: byId,
    query: logQuery,
    stream: true,
    problems: ["unknownWorkload", "unknownAttempt", "tooManyStreams"],
  }),
  startExec: operation(
    "POST /v1/workloads/{id}/exec",
    "Run a command, or a shell, inside a worker of a running attempt; the user and the command are recorded",
    execStarted,
    {
      permission: "workloads.exec",
      subject: "workload",
      params: byId,
      body: execRequest,
      partPermissions: { endWorkload: "workloads.write" },
      status: 201,
      problems: [
        "unknownWorkload",
        "workloadEnded",
        "notRunning",
        "unknownWorker",
        "cannotExec",
        "tooManyStreams",
        ...commandProblems,
      ],
    },
  ),
  execOutput: operation("GET /v1/exec/{id}/output", "Output of a command, as a stream", execOutput, {
    permission: "workloads.exec",
    subject: "exec",
    params: byId,
    stream: true,
    problems: ["unknownExec", "tooManyStreams"],
  }),
  execInput: operation(
    "POST /v1/exec/{id}/input",
    "Input of a command, or a new size of its terminal; the answer comes when the command has taken the input",
    execAccepted,
    {
      permission: "workloads.exec",
      subject: "exec",
      params: byId,
      body: execInput,
      status: 202,
      problems: ["unknownExec", "overloaded"],
    },
  ),
  endExec: operation("DELETE /v1/exec/{id}", "Hang up: end a command as a closed terminal does", execAccepted, {
    permission: "workloads.exec",
    subject: "exec",
    params: byId,
    problems: ["unknownExec"],
  }),
  usage: operation("GET /v1/workloads/{id}/usage", "Processor time and memory of a workload", workloadUsage, {
    permission: "workloads.read",
    subject: "workload",
    params: byId,
    problems: ["unknownWorkload"],
  }),
  metrics: operation(
    "GET /v1/workloads/{id}/metrics",
    "Progress and accelerator utilization that attempts reported, rolled up by age",
    metricsPage,
    {
      permission: "workloads.read",
      subject: "workload",
      params: byId,
      query: metricsQuery,
      problems: ["unknownWorkload", "invalidCursor", "overloaded"],
    },
  ),
  declareModel: operation(
    "PUT /v1/workloads/{id}/model",
    "State the model that a workload trains, for predictions",
    workloadAccepted,
    {
      permission: "workloads.write",
      subject: "workload",
      params: byId,
      body: workloadModel,
      problems: ["unknownWorkload", "overloaded"],
    },
  ),
  predictions: operation(
    "GET /v1/workloads/{id}/predictions",
    "Predicted and measured step times of a workload's attempts",
    workloadPredictions,
    { permission: "workloads.read", subject: "workload", params: byId, problems: ["unknownWorkload", "overloaded"] },
  ),
  workloadPerformance: operation(
    "GET /v1/workloads/{id}/performance",
    "Slow ranks and the bottleneck of a workload's running attempts",
    workloadPerformance,
    { permission: "workloads.read", subject: "workload", params: byId, problems: ["unknownWorkload", "overloaded"] },
  ),
  workloadHistory: operation(
    "GET /v1/workloads/{id}/history",
    "Events of a workload, with the grounds of preemptions",
    workloadHistory,
    {
      permission: "workloads.read",
      subject: "workload",
      params: byId,
      query: z.strictObject({ attempt: names.opaqueId.optional() }),
      problems: ["unknownWorkload", "unknownAttempt"],
    },
  ),
};
