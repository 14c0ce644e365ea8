/**
 * Every command of the CLI, in the order of the help. The files in this folder must be cheap to import (no package of
 * the workspace, no YAML), because they are read at every start. Everything else is imported inside `run`.
 */
import type { CommandDefinition } from "../command.ts";
import { artifactCommand, datasetCommand } from "./artifact.ts";
import { applyCommand } from "./apply.ts";
import { backupCommand, restoreCommand, upgradeCommand } from "./backup.ts";
import { benchCommand } from "./bench.ts";
import { calendarCommand } from "./calendar.ts";
import { calibrateCommand } from "./calibrate.ts";
import { completeCommand, completionCommand } from "./completion.ts";
import { costCommand } from "./cost.ts";
import { defragmentCommand } from "./defragment.ts";
import { deployCommand } from "./deploy.ts";
import { driftCommand } from "./drift.ts";
import { drillCommand } from "./drill.ts";
import { endpointCommand } from "./endpoint.ts";
import { rolloutCommand } from "./rollout.ts";
import { etaCommand } from "./eta.ts";
import { executorCommand } from "./executor.ts";
import { metricSourceCommand } from "./metric-source.ts";
import { storeCommand } from "./store.ts";
import { attachCommand, execCommand } from "./exec.ts";
import { fleetCommand } from "./fleet.ts";
import { healthCommand } from "./health.ts";
import { setCommand } from "./set.ts";
import { holdCommand } from "./hold.ts";
import { gatewayCommand } from "./gateway.ts";
import { historyCommand } from "./history.ts";
import { keyCommand } from "./key.ts";
import { kubernetesCommand } from "./kubernetes.ts";
import { lineageCommand } from "./lineage.ts";
import { listCommand } from "./list.ts";
import { loginCommand } from "./login.ts";
import { logsCommand } from "./logs.ts";
import { mcpCommand } from "./mcp.ts";
import { metricsCommand } from "./metrics.ts";
import { seriesCommand } from "./series.ts";
import { modelCommand } from "./model.ts";
import { nodesCommand } from "./nodes.ts";
import { offersCommand } from "./offers.ts";
import { incidentCommand } from "./incident.ts";
import { orderCommand } from "./order.ts";
import { provisionCommand } from "./provision.ts";
import { pipelineCommand } from "./pipeline.ts";
import { planCommand } from "./plan.ts";
import { reviewCommand } from "./review.ts";
import { proposalCommand } from "./proposal.ts";
import { policyCommand } from "./policy.ts";
import { priceCommand } from "./price.ts";
import { releaseCommand } from "./release.ts";
import { replayCommand } from "./replay.ts";
import { rerunCommand } from "./rerun.ts";
import { runCommand } from "./run.ts";
import { schedulesCommand } from "./schedules.ts";
import { schemaCommand } from "./schema.ts";
import { shellCommand } from "./shell.ts";
import { showCommand } from "./show.ts";
import { simulateCommand } from "./simulate.ts";
import { sizeCommand } from "./size.ts";
import { statusCommand } from "./status.ts";
import { stopCommand } from "./stop.ts";
import { teamsCommand } from "./teams.ts";
import { tokenCommand, whoamiCommand } from "./token.ts";
import { upCommand } from "./up.ts";
import { usageCommand } from "./usage.ts";
import { versionCommand } from "./version.ts";
import { wasteCommand } from "./waste.ts";
import { whatIfCommand } from "./what-if.ts";
import { whyCommand } from "./why.ts";

export const commands: readonly CommandDefinition[] = [
  upCommand,
  applyCommand,
  runCommand,
  listCommand,
  showCommand,
  historyCommand,
  metricsCommand,
  seriesCommand,
  logsCommand,
  attachCommand,
  execCommand,
  shellCommand,
  whyCommand,
  etaCommand,
  whatIfCommand,
  replayCommand,
  stopCommand,
  rerunCommand,
  setCommand,
  holdCommand,
  releaseCommand,
  gatewayCommand,
  artifactCommand,
  datasetCommand,
  keyCommand,
  simulateCommand,
  sizeCommand,
  calibrateCommand,
  usageCommand,
  costCommand,
  planCommand,
  reviewCommand,
  priceCommand,
  offersCommand,
  lineageCommand,
  modelCommand,
  benchCommand,
  statusCommand,
  healthCommand,
  driftCommand,
  backupCommand,
  restoreCommand,
  upgradeCommand,
  fleetCommand,
  nodesCommand,
  incidentCommand,
  drillCommand,
  orderCommand,
  mcpCommand,
  proposalCommand,
  deployCommand,
  endpointCommand,
  rolloutCommand,
  executorCommand,
  provisionCommand,
  storeCommand,
  metricSourceCommand,
  kubernetesCommand,
  defragmentCommand,
  wasteCommand,
  teamsCommand,
  calendarCommand,
  schedulesCommand,
  pipelineCommand,
  policyCommand,
  tokenCommand,
  whoamiCommand,
  loginCommand,
  schemaCommand,
  completionCommand,
  completeCommand,
  versionCommand,
];
