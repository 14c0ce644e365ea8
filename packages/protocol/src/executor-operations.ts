/** Rows of the operations table about executors. */
import { byExecutor, executorList, executorRemoved, executorRequest, executorSet } from "./executor.ts";
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
      problems: ["tooManyExecutors"],
    },
  ),
  removeExecutor: operation(
    "DELETE /v1/executors/{name}",
    "Remove the declaration of an executor; its attempts continue and its nodes get no new work",
    executorRemoved,
    { permission: "executors.write", params: byExecutor, problems: ["unknownExecutor"] },
  ),
};
