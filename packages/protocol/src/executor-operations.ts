/** Rows of the operations table about executors. */
import {
  abandonRequest,
  byExecutor,
  executorAbandoned,
  executorList,
  executorRemoved,
  executorRequest,
  executorSet,
} from "./executor.ts";
import { historyImport, historyQuery, historyRequest, importedHistory } from "./imported-history.ts";
import { commandProblems } from "./operation-problems.ts";
import { operation } from "./operation.ts";

export const executorOperations = {
  executors: operation("GET /v1/executors", "Executors with their state", executorList, { permission: "fleet.read" }),
  declareExecutor: operation(
    "PUT /v1/executors/{name}",
    "Declare an executor, or replace its declaration; its attempts continue",
    executorSet,
    {
      permission: "executors.write",
      params: byExecutor,
      body: executorRequest,
      problems: ["tooManyExecutors", ...commandProblems],
    },
  ),
  abandonExecutor: operation(
    "POST /v1/executors/{name}/abandon",
    "Give up the attempts of an executor that is not reachable: they count as lost, and their tasks run again",
    executorAbandoned,
    {
      permission: "executors.write",
      params: byExecutor,
      body: abandonRequest,
      problems: ["unknownExecutor", "executorReachable", ...commandProblems],
    },
  ),
  importedHistory: operation(
    "GET /v1/executors/{name}/history",
    "The past work of an executor's cluster that was imported",
    importedHistory,
    { permission: "fleet.read", params: byExecutor, problems: ["noHistory"] },
  ),
  importHistory: operation(
    "PUT /v1/executors/{name}/history",
    "Import past work of an executor's cluster, instead of that imported before; it is removed with the executor",
    historyImport,
    {
      permission: "executors.write",
      params: byExecutor,
      query: historyQuery,
      body: historyRequest,
      problems: ["unknownExecutor", ...commandProblems],
    },
  ),
  removeExecutor: operation(
    "DELETE /v1/executors/{name}",
    "Remove the declaration of an executor; its attempts continue and its nodes get no new work",
    executorRemoved,
    { permission: "executors.write", params: byExecutor, problems: ["unknownExecutor", ...commandProblems] },
  ),
};
