/**
 * Every command of the CLI, in the order of the help. A start reads the file of its command alone; the help, completion and the
 * documentation read all of them. The files must be cheap to import (no package of the workspace, no YAML): everything else is imported
 * inside `run`.
 */
import type { CommandDefinition } from "../command.ts";

const files: Readonly<Record<string, () => Promise<CommandDefinition>>> = {
  up: async () => (await import("./up.ts")).upCommand,
  apply: async () => (await import("./apply.ts")).applyCommand,
  run: async () => (await import("./run.ts")).runCommand,
  list: async () => (await import("./list.ts")).listCommand,
  show: async () => (await import("./show.ts")).showCommand,
  history: async () => (await import("./history.ts")).historyCommand,
  metrics: async () => (await import("./metrics.ts")).metricsCommand,
  series: async () => (await import("./series.ts")).seriesCommand,
  logs: async () => (await import("./logs.ts")).logsCommand,
  attach: async () => (await import("./exec.ts")).attachCommand,
  exec: async () => (await import("./exec.ts")).execCommand,
  shell: async () => (await import("./shell.ts")).shellCommand,
  why: async () => (await import("./why.ts")).whyCommand,
  eta: async () => (await import("./eta.ts")).etaCommand,
  "what-if": async () => (await import("./what-if.ts")).whatIfCommand,
  replay: async () => (await import("./replay.ts")).replayCommand,
  stop: async () => (await import("./stop.ts")).stopCommand,
  rerun: async () => (await import("./rerun.ts")).rerunCommand,
  set: async () => (await import("./set.ts")).setCommand,
  hold: async () => (await import("./hold.ts")).holdCommand,
  release: async () => (await import("./release.ts")).releaseCommand,
  gateway: async () => (await import("./gateway.ts")).gatewayCommand,
  artifact: async () => (await import("./artifact.ts")).artifactCommand,
  dataset: async () => (await import("./artifact.ts")).datasetCommand,
  key: async () => (await import("./key.ts")).keyCommand,
  simulate: async () => (await import("./simulate.ts")).simulateCommand,
  size: async () => (await import("./size.ts")).sizeCommand,
  calibrate: async () => (await import("./calibrate.ts")).calibrateCommand,
  usage: async () => (await import("./usage.ts")).usageCommand,
  cost: async () => (await import("./cost.ts")).costCommand,
  plan: async () => (await import("./plan.ts")).planCommand,
  review: async () => (await import("./review.ts")).reviewCommand,
  price: async () => (await import("./price.ts")).priceCommand,
  offers: async () => (await import("./offers.ts")).offersCommand,
  lineage: async () => (await import("./lineage.ts")).lineageCommand,
  model: async () => (await import("./model.ts")).modelCommand,
  bench: async () => (await import("./bench.ts")).benchCommand,
  status: async () => (await import("./status.ts")).statusCommand,
  health: async () => (await import("./health.ts")).healthCommand,
  drift: async () => (await import("./drift.ts")).driftCommand,
  backup: async () => (await import("./backup.ts")).backupCommand,
  restore: async () => (await import("./backup.ts")).restoreCommand,
  upgrade: async () => (await import("./backup.ts")).upgradeCommand,
  fleet: async () => (await import("./fleet.ts")).fleetCommand,
  nodes: async () => (await import("./nodes.ts")).nodesCommand,
  incident: async () => (await import("./incident.ts")).incidentCommand,
  drill: async () => (await import("./drill.ts")).drillCommand,
  order: async () => (await import("./order.ts")).orderCommand,
  mcp: async () => (await import("./mcp.ts")).mcpCommand,
  proposal: async () => (await import("./proposal.ts")).proposalCommand,
  deploy: async () => (await import("./deploy.ts")).deployCommand,
  endpoint: async () => (await import("./endpoint.ts")).endpointCommand,
  rollout: async () => (await import("./rollout.ts")).rolloutCommand,
  executor: async () => (await import("./executor.ts")).executorCommand,
  provision: async () => (await import("./provision.ts")).provisionCommand,
  store: async () => (await import("./store.ts")).storeCommand,
  "metric-source": async () => (await import("./metric-source.ts")).metricSourceCommand,
  kubernetes: async () => (await import("./kubernetes.ts")).kubernetesCommand,
  defragment: async () => (await import("./defragment.ts")).defragmentCommand,
  waste: async () => (await import("./waste.ts")).wasteCommand,
  teams: async () => (await import("./teams.ts")).teamsCommand,
  calendar: async () => (await import("./calendar.ts")).calendarCommand,
  schedules: async () => (await import("./schedules.ts")).schedulesCommand,
  pipeline: async () => (await import("./pipeline.ts")).pipelineCommand,
  policy: async () => (await import("./policy.ts")).policyCommand,
  token: async () => (await import("./token.ts")).tokenCommand,
  whoami: async () => (await import("./token.ts")).whoamiCommand,
  login: async () => (await import("./login.ts")).loginCommand,
  schema: async () => (await import("./schema.ts")).schemaCommand,
  completion: async () => (await import("./completion.ts")).completionCommand,
  __complete: async () => (await import("./completion.ts")).completeCommand,
  version: async () => (await import("./version.ts")).versionCommand,
};

/** Names of the commands, in the order of the help. */
export const commandNames: readonly string[] = Object.keys(files);

export function allCommands(): Promise<readonly CommandDefinition[]> {
  return Promise.all(Object.values(files).map((file) => file()));
}

/** The command with this name; `null`: there is none. */
export async function commandNamed(name: string): Promise<CommandDefinition | null> {
  return (Object.hasOwn(files, name) ? await files[name]?.() : null) ?? null;
}
