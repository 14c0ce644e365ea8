/** One handler for each call of the API, on an open database. */
import type { CallContext, MlflowCallName } from "./calls.ts";
import { Experiments } from "./experiments.ts";
import type { Fields } from "./fields.ts";
import { LoggedModels } from "./logged-models.ts";
import type { MlflowDatabase } from "./mlflow-database.ts";
import { ModelVersions } from "./model-versions.ts";
import { RegisteredModels } from "./registered-models.ts";
import { RunData } from "./run-data.ts";
import type { AttemptPoints } from "./run-data.ts";
import { RunQueries } from "./run-queries.ts";
import { Runs } from "./runs.ts";
import { WorkloadLinks } from "./workload-links.ts";

const ARTIFACT_PATH_MAX = 4_000;

type Handler = (fields: Fields, context: CallContext) => object;
/** Calls of the thread that are no calls of the API. */
export type InnerCallName = "artifactRoot" | "artifactWorkloads" | "unruledWorkloads" | "recordRules";

export function mlflowHandlers(
  database: MlflowDatabase,
  onPoints: (logged: AttemptPoints) => void,
): Readonly<Record<MlflowCallName | InnerCallName, Handler>> {
  const experiments = new Experiments(database);
  const runs = new Runs(database, experiments);
  const data = new RunData(database, runs, onPoints);
  const logged = new LoggedModels(database, experiments);
  const models = new RegisteredModels(database);
  const versions = new ModelVersions(database, models);
  return {
    createExperiment: (fields, context) => experiments.create(fields, context),
    searchExperiments: (fields) => experiments.search(fields),
    ...ofMlflow1(experiments, models),
    getExperiment: (fields) => experiments.get(fields),
    getExperimentByName: (fields) => experiments.getByName(fields),
    updateExperiment: (fields, context) => experiments.update(fields, context),
    deleteExperiment: (fields, context) => experiments.move(fields, "deleted", context),
    restoreExperiment: (fields, context) => experiments.move(fields, "active", context),
    setExperimentTag: (fields) => experiments.setTag(fields),
    deleteExperimentTag: (fields) => experiments.deleteTag(fields),
    createRun: (fields, context) => runs.create(fields, context),
    getRun: (fields) => runs.get(fields),
    updateRun: (fields) => runs.update(fields),
    deleteRun: (fields) => runs.move(fields, "deleted"),
    restoreRun: (fields) => runs.move(fields, "active"),
    searchRuns: (fields) => runs.search(fields),
    ...ofArtifacts(runs, new WorkloadLinks(database)),
    logMetric: (fields) => data.logMetric(fields),
    logBatch: (fields, context) => data.logBatch(fields, context),
    logParameter: (fields) => data.logParameter(fields),
    logModel: (fields) => data.logModel(fields),
    logInputs: (fields) => data.logInputs(fields),
    logOutputs: (fields) => data.logOutputs(fields),
    setTag: (fields, context) => data.setTag(fields, context),
    deleteTag: (fields) => data.deleteTag(fields),
    metricHistory: (fields) => data.history(fields),
    ...ofSeveralRuns(new RunQueries(database, runs)),
    createModel: (fields, context) => models.create(fields, context),
    getModel: (fields) => models.get(fields),
    renameModel: (fields, context) => models.rename(fields, context),
    updateModel: (fields, context) => models.update(fields, context),
    deleteModel: (fields) => models.delete(fields),
    searchModels: (fields) => models.search(fields),
    latestVersions: (fields) => models.latestVersions(fields),
    setModelTag: (fields) => models.setTag(fields),
    deleteModelTag: (fields) => models.deleteTag(fields),
    setAlias: (fields) => models.setAlias(fields),
    deleteAlias: (fields) => models.deleteAlias(fields),
    getByAlias: (fields) => models.getByAlias(fields),
    createVersion: (fields, context) => versions.create(fields, context),
    getVersion: (fields) => versions.get(fields),
    updateVersion: (fields, context) => versions.update(fields, context),
    deleteVersion: (fields, context) => versions.delete(fields, context),
    searchVersions: (fields) => versions.search(fields),
    transitionStage: (fields, context) => versions.transition(fields, context),
    downloadUri: (fields) => versions.downloadUri(fields),
    setVersionTag: (fields) => versions.setTag(fields),
    deleteVersionTag: (fields) => versions.deleteTag(fields),
    createLoggedModel: (fields, context) => logged.create(fields, context),
    searchLoggedModels: (fields) => logged.search(fields),
    getLoggedModel: (fields) => logged.get(fields),
    finalizeLoggedModel: (fields, context) => logged.finalize(fields, context),
    deleteLoggedModel: (fields) => logged.delete(fields),
    setLoggedModelTags: (fields) => logged.setTags(fields),
    deleteLoggedModelTag: (fields) => logged.deleteTag(fields),
    logLoggedModelParams: (fields) => logged.logParams(fields),
  };
}

const ofArtifacts = (runs: Runs, links: WorkloadLinks): Readonly<Record<InnerCallName, Handler>> => ({
  artifactRoot: (fields) => ({ uri: runs.find(fields.runId())["artifact_uri"] }),
  unruledWorkloads: () => links.unruled(),
  recordRules: (_, { rules }) => {
    if (rules !== undefined) links.record(rules);
    return {};
  },
  artifactWorkloads: (fields) => links.at(fields.needed("path", ARTIFACT_PATH_MAX)),
});

const ofSeveralRuns = (
  queries: RunQueries,
): Readonly<Record<"historyBulk" | "historyBulkInterval" | "searchDatasets", Handler>> => ({
  historyBulk: (fields) => queries.historyBulk(fields),
  historyBulkInterval: (fields) => queries.historyBulkInterval(fields),
  searchDatasets: (fields) => queries.searchDatasets(fields),
});

/** Calls that later versions of MLflow have under another name, or not at all. */
const ofMlflow1 = (
  experiments: Experiments,
  models: RegisteredModels,
): Readonly<Record<"listExperiments" | "setExperimentTagWithoutSlash" | "listModels", Handler>> => ({
  listExperiments: (fields) => experiments.search(fields),
  setExperimentTagWithoutSlash: (fields) => experiments.setTag(fields),
  listModels: (fields) => models.search(fields),
});
