import { defineCommand } from "../command.ts";
import type { ExecOptions } from "../exec/run-exec.ts";

const workloadArgument = {
  syntax: "<workload>",
  description: "name, team/name or id of a running workload; NAME.N for task N of an array",
  complete: "workload",
} as const;

const noTty = {
  flags: "--no-tty",
  description: "give the command pipes, not a terminal (default: a terminal if stdin and stdout are terminals)",
};

export const execCommand = defineCommand<ExecOptions>({
  name: "exec",
  summary: "Run a command, or a shell, inside a worker of a running workload",
  details:
    "The command sees what the worker sees: its files, processes, variables and accelerators; it counts against the worker's limits, and ends with the attempt. It is recorded with your name (headroom history WORKLOAD).\n" +
    "The exit code is that of the command. Enter ~ . hangs up a session that does not answer.\n" +
    "Examples:\n  headroom exec train-1f3a\n  headroom exec train-1f3a --worker 3 -- nvidia-smi\n  headroom exec sweep.7 -- tail -n 5 metrics.csv",
  arguments: [
    workloadArgument,
    { syntax: "[command...]", description: "program and its arguments, after -- (default: your shell)" },
  ],
  options: [{ flags: "--worker <rank>", description: "rank of the worker (default: 0)" }, noTty],
  async run(context, invocation) {
    const { runExec } = await import("../exec/run-exec.ts");
    return runExec(context, invocation);
  },
});

export const attachCommand = defineCommand<ExecOptions>({
  name: "attach",
  summary: "Follow the output of a workload to its end; of a shell, open a further terminal in it",
  details:
    "The commands of workloads read no input. `headroom exec` runs a command beside them. Ctrl-C ends the following, not the workload.",
  arguments: [{ ...workloadArgument, description: "name, team/name or id of the workload" }],
  options: [noTty],
  async run(context, invocation) {
    const { runAttach } = await import("../exec/run-exec.ts");
    return runAttach(context, invocation);
  },
});
