import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { ExecutorFleetOptions } from "../executor/run-executor-fleet.ts";
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

export const executorCommand = defineCommand({
  name: "executor",
  summary: "Read what other schedulers print: jobs and nodes of a Slurm cluster",
  commands: [readCommand, fleetCommand],
  run() {
    return Promise.reject(
      new CliError(
        "executor needs a command: headroom executor read FILE or headroom executor fleet FILE",
        exitCode.usage,
      ),
    );
  },
});
