/** The calls of MLflow's tracking and registry API: method, path, access. `handlers.ts` answers them. */
import type { Permission } from "@headroom/protocol";
import type { WorkloadRules } from "./workload-links.ts";

export type MlflowMethod = "GET" | "POST" | "PATCH" | "DELETE";

export interface MlflowCall {
  readonly methods: readonly MlflowMethod[];
  readonly path: string;
  readonly access: Permission;
}

/** Beside the request's fields, what a call needs. */
export interface CallContext {
  readonly nowMs: number;
  /** The authenticated principal: owner of what is created without a user. */
  readonly user: string;
  /** Those of the workloads that the tags of the call name. */
  readonly rules?: WorkloadRules | undefined;
}

const reads = (methods: readonly MlflowMethod[], path: string): MlflowCall => ({
  methods,
  path,
  access: "mlflow.read",
});
const get = (path: string): MlflowCall => reads(["GET"], path);
const writes = (method: MlflowMethod, path: string): MlflowCall => ({
  methods: [method],
  path,
  access: "mlflow.write",
});
const post = (path: string): MlflowCall => writes("POST", path);

export const mlflowCalls = {
  createExperiment: post("experiments/create"),
  searchExperiments: reads(["GET", "POST"], "experiments/search"),
  // The npm package `mlflow` uses this call of MLflow 1.
  listExperiments: get("experiments/list"),
  getExperiment: get("experiments/get"),
  getExperimentByName: get("experiments/get-by-name"),
  updateExperiment: post("experiments/update"),
  deleteExperiment: post("experiments/delete"),
  restoreExperiment: post("experiments/restore"),
  setExperimentTag: post("experiments/set-experiment-tag"),
  // The npm package `mlflow` 2.0 omits the slash.
  setExperimentTagWithoutSlash: post("experimentsset-experiment-tag"),
  deleteExperimentTag: post("experiments/delete-experiment-tag"),
  createRun: post("runs/create"),
  getRun: get("runs/get"),
  updateRun: post("runs/update"),
  deleteRun: post("runs/delete"),
  restoreRun: post("runs/restore"),
  searchRuns: reads(["POST"], "runs/search"),
  logMetric: post("runs/log-metric"),
  logBatch: post("runs/log-batch"),
  logParameter: post("runs/log-parameter"),
  logModel: post("runs/log-model"),
  logInputs: post("runs/log-inputs"),
  logOutputs: post("runs/outputs"),
  setTag: post("runs/set-tag"),
  deleteTag: post("runs/delete-tag"),
  metricHistory: get("metrics/get-history"),
  // The pages of MLflow and its comparison of runs use these.
  historyBulk: get("metrics/get-history-bulk"),
  historyBulkInterval: get("metrics/get-history-bulk-interval"),
  searchDatasets: reads(["POST"], "experiments/search-datasets"),
  createModel: post("registered-models/create"),
  getModel: get("registered-models/get"),
  renameModel: post("registered-models/rename"),
  updateModel: writes("PATCH", "registered-models/update"),
  deleteModel: writes("DELETE", "registered-models/delete"),
  searchModels: get("registered-models/search"),
  // A call of MLflow 1.
  listModels: get("registered-models/list"),
  latestVersions: reads(["GET", "POST"], "registered-models/get-latest-versions"),
  setModelTag: post("registered-models/set-tag"),
  deleteModelTag: writes("DELETE", "registered-models/delete-tag"),
  setAlias: post("registered-models/alias"),
  deleteAlias: writes("DELETE", "registered-models/alias"),
  getByAlias: get("registered-models/alias"),
  createVersion: post("model-versions/create"),
  getVersion: get("model-versions/get"),
  updateVersion: writes("PATCH", "model-versions/update"),
  deleteVersion: writes("DELETE", "model-versions/delete"),
  searchVersions: get("model-versions/search"),
  transitionStage: post("model-versions/transition-stage"),
  downloadUri: get("model-versions/get-download-uri"),
  setVersionTag: post("model-versions/set-tag"),
  deleteVersionTag: writes("DELETE", "model-versions/delete-tag"),
  createLoggedModel: post("logged-models"),
  searchLoggedModels: reads(["POST"], "logged-models/search"),
  getLoggedModel: get("logged-models/:model_id"),
  finalizeLoggedModel: writes("PATCH", "logged-models/:model_id"),
  deleteLoggedModel: writes("DELETE", "logged-models/:model_id"),
  setLoggedModelTags: writes("PATCH", "logged-models/:model_id/tags"),
  deleteLoggedModelTag: writes("DELETE", "logged-models/:model_id/tags/:tag_key"),
  logLoggedModelParams: post("logged-models/:model_id/params"),
} as const satisfies Readonly<Record<string, MlflowCall>>;

export type MlflowCallName = keyof typeof mlflowCalls;
