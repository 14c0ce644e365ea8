import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { ExecutorFleetOptions } from "../executor/run-executor-fleet.ts";
import type { AbandonOptions, AddExecutorOptions, ExecutorCommandOptions } from "../executor/run-executors.ts";
import type { ExecutorHistoryOptions } from "../executor/run-executor-history.ts";
import type { ExecutorReadOptions } from "../executor/run-executor-read.ts";

const readCommand = defineCommand<ExecutorReadOptions>({
  name: "read",
  summary: "Read jobs and nodes from the output of sacct, squeue, sinfo or scontrol",
  details: `FILE is the output of sacct, squeue, sinfo, scontrol show job or scontrol show node: as a table, with --parsable or a format
of your own, or with --json (Slurm 20.11 to 25.11). The format is detected; - reads the standard input. Nothing is changed or
sent. Lines that cannot be read are listed with the reason.

Examples:
  sacct -a -P -o JobID,Submit,Start,End,State,ExitCode,AllocTRES,ReqTRES | headroom executor read -
  headroom executor read sinfo.txt --json
  headroom executor read sacct.txt --timezone Europe/Berlin --json`,
  arguments: [{ syntax: "<file>", description: "output of a Slurm command; -: standard input", complete: "file" }],
  options: [
    {
      flags: "--timezone <name>",
      description: "time zone of the cluster, whose commands print local time: Europe/Berlin (default: UTC)",
    },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runExecutorRead } = await import("../executor/run-executor-read.ts");
    return runExecutorRead(context, args[0] ?? "", options);
  },
});

const fleetCommand = defineCommand<ExecutorFleetOptions>({
  name: "fleet",
  summary: "Describe a Slurm cluster as a fleet document, to play its work on a copy of it",
  details: `FILE is the output of scontrol show node (as text or with --json). Nodes with the same GPUs, CPUs, memory and partitions become one
simulated pool. Nothing is changed or sent.

Examples:
  scontrol show node > nodes.txt
  headroom executor fleet nodes.txt --topology /etc/slurm/topology.conf > fleet.yaml
  headroom simulate --fleet fleet.yaml --trace sacct:jobs.txt --policy fifo,default`,
  arguments: [{ syntax: "<file>", description: "output of scontrol show node; -: standard input", complete: "file" }],
  options: [
    {
      flags: "--topology <file>",
      description: "topology.conf with a tree of switches, of which fabric levels are made (default: none)",
      complete: "file",
    },
    { flags: "--site <name>", description: "name of the site (default: slurm)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runExecutorFleet } = await import("../executor/run-executor-fleet.ts");
    return runExecutorFleet(context, args[0] ?? "", options);
  },
});

const addCommand = defineCommand<AddExecutorOptions>({
  name: "add",
  summary: "Declare an executor, or replace its declaration; its attempts continue",
  details: `The types and their settings: docs/reference/executors.md. A secret is a reference: file:/path or env:NAME. The declaration is
kept in executors.yaml in the state directory of the control plane.

Examples:
  headroom executor add local trial --setting nodes=2 --setting slots=4
  headroom executor list`,
  arguments: [
    { syntax: "<type>", description: "type of the executor" },
    { syntax: "<name>", description: "name by which pools name it" },
  ],
  options: [
    {
      flags: "--mode <mode>",
      description: "run, or follow: its nodes are shown and nothing is placed on them (default: run)",
      complete: ["run", "follow"],
    },
    { flags: "--setting <name=value>", description: "a setting of the type (default: none)", repeatable: true },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { addExecutor } = await import("../executor/run-executors.ts");
    return addExecutor(context, args, options);
  },
});

const listCommand = defineCommand<ExecutorCommandOptions>({
  name: "list",
  summary: "List the executors with their state, nodes and attempts",
  options: [jsonOption],
  async run(context, { options }) {
    const { listExecutors } = await import("../executor/run-executors.ts");
    return listExecutors(context, options);
  },
});

const abandonCommand = defineCommand<AbandonOptions>({
  name: "abandon",
  summary: "Give up the attempts of an executor that is not reachable; their tasks run elsewhere",
  details: `The attempts count as lost and their accelerators as free, whether or not the attempts still run: make sure that they do not, or that a
second copy does no harm. If the executor answers later, attempts that still run are stopped.`,
  arguments: [{ syntax: "<name>", description: "name of the executor" }],
  options: [{ flags: "--reason <text>", description: "reason, which is recorded (default: none)" }, jsonOption],
  async run(context, { args, options }) {
    const { abandonExecutor } = await import("../executor/run-executors.ts");
    return abandonExecutor(context, args, options);
  },
});

const removeCommand = defineCommand<ExecutorCommandOptions>({
  name: "remove",
  summary: "Remove the declaration of an executor; its attempts continue and stay as recorded",
  arguments: [{ syntax: "<name>", description: "name of the executor" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { removeExecutor } = await import("../executor/run-executors.ts");
    return removeExecutor(context, args, options);
  },
});

const historyCommand = defineCommand<ExecutorHistoryOptions>({
  name: "history",
  summary: "Import past work of a cluster, so that fair shares and forecasts know it, or show what was imported",
  details: `FILE is the accounting of a Slurm cluster (sacct, also with --json, or the file of jobcomp/filetxt), or the ended Jobs of a Kubernetes cluster.
Accounts and users become teams and submitters by the rules of the executor. An import replaces the one before, and is removed with the
executor. Nothing in the cluster changes.

Examples:
  sacct -a -X -P -S now-90days -o JobID,User,Account,JobName,Submit,Start,End,Timelimit,AllocTRES,State > jobs.txt
  headroom executor history lab --import jobs.txt --dry-run
  kubectl get jobs -A -o json > jobs.json
  headroom executor history cluster --import jobs.json
  headroom executor history lab`,
  arguments: [{ syntax: "<name>", description: "name of the executor" }],
  options: [
    { flags: "--import <file>", description: "import this file; -: standard input (default: show)", complete: "file" },
    { flags: "--dry-run", description: "show what would be imported" },
    { flags: "--timezone <name>", description: "time zone of a Slurm cluster: Europe/Berlin (default: UTC)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runExecutorHistory } = await import("../executor/run-executor-history.ts");
    return runExecutorHistory(context, args[0] ?? "", options);
  },
});

export const executorCommand = defineCommand({
  name: "executor",
  summary: "Declare executors, and read what other schedulers print",
  commands: [addCommand, listCommand, removeCommand, abandonCommand, historyCommand, readCommand, fleetCommand],
  run() {
    return Promise.reject(
      new CliError(
        "executor needs a command: headroom executor list, add, remove, abandon, history, read FILE or fleet FILE",
        exitCode.usage,
      ),
    );
  },
});
