import { defineCommand, jsonOption } from "../command.ts";
import { CliError, exitCode } from "../cli-error.ts";
import type { DriftOutputOptions, RemediateOptions } from "../health/run-remediations.ts";
import type { DriftOptions } from "../health/run-drift.ts";

const nameArgument = { syntax: "<remediation>", description: "name of a document in remediations.yaml" } as const;
const csvOption = { flags: "--csv", description: "print the list as CSV" };

const documentsSubcommand = defineCommand<DriftOutputOptions>({
  name: "remediations",
  summary: "List remediations that operators declared, with the nodes that differ",
  options: [csvOption, jsonOption],
  async run(context, { options }) {
    const { listRemediations } = await import("../health/run-remediations.ts");
    return listRemediations(context, options);
  },
});

const checkSubcommand = defineCommand<DriftOutputOptions>({
  name: "check",
  summary: "Read the facts of all nodes of a remediation now",
  arguments: [nameArgument],
  options: [csvOption, jsonOption],
  async run(context, { args, options }) {
    const { checkRemediation } = await import("../health/run-remediations.ts");
    return checkRemediation(context, args[0] ?? "", options);
  },
});

const remediateSubcommand = defineCommand<RemediateOptions>({
  name: "remediate",
  summary: "Propose to remedy drifting nodes in waves",
  details: `The facts of all nodes are read now, unless --nodes names the nodes. The proposal is carried out when another user has approved
it: the canary first, then wave after wave; each node is proven before it returns. It stops at the first node that fails.

Examples:
  headroom drift remediate nccl-2.21 --dry-run
  headroom drift remediate nccl-2.21 --reason "slow all-reduce"
  headroom drift remediate nccl-2.21 --nodes gpu07,gpu08 --reason "two nodes missed the update"`,
  arguments: [nameArgument],
  options: [
    { flags: "--nodes <names>", description: "the nodes, separated by commas (default: those that differ)" },
    { flags: "--reason <text>", description: "reason, which is recorded (default: the facts that differ)" },
    { flags: "--dry-run", description: "show the nodes and propose nothing" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { remediate } = await import("../health/run-remediations.ts");
    return remediate(context, args[0] ?? "", options);
  },
});

const wavesSubcommand = defineCommand<DriftOutputOptions>({
  name: "waves",
  summary: "List the runs of remediations, or show the nodes of one",
  arguments: [{ syntax: "[run]", description: "id of the run, that of its proposal" }],
  options: [csvOption, jsonOption],
  async run(context, { args, options }) {
    const { showWaves } = await import("../health/run-remediations.ts");
    return showWaves(context, args[0], options);
  },
});

const cancelSubcommand = defineCommand<{ readonly json?: boolean }>({
  name: "cancel",
  summary: "Change no further node: nodes that were begun are proven and return",
  arguments: [{ syntax: "<run>", description: "id of the run, that of its proposal" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { cancelWaves } = await import("../health/run-remediations.ts");
    return cancelWaves(context, args[0] ?? "", options);
  },
});

export const driftCommand = defineCommand<DriftOptions>({
  name: "drift",
  summary: "Find nodes that differ from their peers, and what slow nodes share",
  details: `FILE has a JSON object in each line: node, set (nodes that ought to be alike), facts (driver, firmware, libraries, settings, by
name) and, if it was measured, performance (more is better). docs/how-to/find-slow-nodes.md explains both answers. The further commands
remedy drift on live nodes: docs/how-to/remedy-drift.md.

Examples:
  headroom drift profiles.jsonl
  headroom drift profiles.jsonl --desired desired.json --json`,
  commands: [documentsSubcommand, checkSubcommand, remediateSubcommand, wavesSubcommand, cancelSubcommand],
  arguments: [
    { syntax: "[file]", description: "profiles of nodes as JSON lines; -: standard input", complete: "file" },
  ],
  options: [
    {
      flags: "--desired <file>",
      description: "JSON object: desired values of facts by name of the set, * for every set (default: none)",
      complete: "file",
    },
    jsonOption,
  ],
  async run(context, { args, options }) {
    if (args[0] === undefined)
      throw new CliError("drift needs a file of profiles or a command: headroom drift profiles.jsonl", exitCode.usage);
    const { runDrift } = await import("../health/run-drift.ts");
    return runDrift(context, args[0], options);
  },
});
