/** Options of `headroom run`. Every description states the default. */
import type { OptionDefinition } from "../command.ts";
import type { RunOptions } from "../documents/run-document.ts";

export interface RunCommandOptions extends RunOptions {
  readonly array?: string;
  readonly retries?: string;
  readonly notify?: string;
  readonly follow?: boolean;
  readonly timeout?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export const runOptions: readonly OptionDefinition[] = [
  {
    flags: "--gpus <count>",
    field: "gang.accelerators",
    description: "number of accelerators of each worker (default 0)",
  },
  { flags: "--accelerators <count>", description: "the same as --gpus", hidden: true },
  {
    flags: "--workers <count>",
    field: "gang.workers",
    description: "number of workers that start together (default 1)",
  },
  { flags: "--cores <count>", field: "gang.cores", description: "number of cores of each worker (default 1)" },
  {
    flags: "--memory <amount>",
    field: "gang.memory",
    description: "memory of each worker, like 900GiB (default: none is reserved)",
  },
  {
    flags: "--network <count>",
    field: "gang.networkGbps",
    description: "network bandwidth of each worker in Gbps, reserved from what the node's pool states (default: none)",
  },
  {
    flags: "--accelerator-memory <amount>",
    field: "gang.acceleratorMemory",
    description:
      "memory of one accelerator for each worker, like 20GiB; other work can use the rest of the accelerator (default: whole accelerators)",
  },
  {
    flags: "--type <type>",
    field: "accelerator",
    description:
      "accelerator type that the workload accepts; repeat the option to accept several, best first (default: any)",
    repeatable: true,
  },
  {
    flags: "--wait-for-type",
    field: "waitForType",
    description: "with --type: wait until a node has the type (otherwise a type that no node has is refused)",
  },
  { flags: "--name <name>", field: "name", description: "name of the workload (default: made from the command)" },
  {
    flags: "--team <team>",
    field: "team",
    description: "team whose quota the workload uses (default: default)",
    complete: "team",
  },
  {
    flags: "--priority <priority>",
    field: "priority",
    description: "priority: low, normal, high or a whole number (default: normal)",
    complete: ["low", "normal", "high"],
  },
  {
    flags: "--walltime <duration>",
    field: "walltime",
    description: "longest run time, like 12h; the workload is stopped after it (default: unlimited)",
  },
  {
    flags: "--retries <count>",
    field: "retries.max",
    description:
      "number of restarts after failures (default: 2, but none if the first attempt fails within 10 seconds; a batch script: 0)",
  },
  {
    flags: "--array <indexes>",
    description:
      "run the command once for each index, like 0-99, 1,3,5-7 or 0-99%4 (at most 4 at once); it finds its index in SLURM_ARRAY_TASK_ID (default: none)",
  },
  {
    flags: "--notify <channel>",
    field: "notify",
    description:
      "channel of the operator that gets a message at the end, or NAME:start,end,nodeLoss,maintenance; a batch script's --mail-type states the occasions of a NAME alone (default: none; a batch script with --mail-type: $HEADROOM_MAIL_CHANNEL)",
  },
  {
    flags: "--preemptible",
    field: "preemptible",
    description: "other work can preempt this workload (default: as the policy states)",
  },
  {
    flags: "--no-preemptible",
    description:
      "no work can preempt this workload; above its team's guarantee it can use only what no other team's guarantee needs",
  },
  {
    flags: "--after <workload>",
    description:
      "start after another workload of the team: NAME (it succeeded) or NAME:ok|failed|any; can be repeated (default: none)",
    repeatable: true,
    complete: "workload",
  },
  { flags: "--grace <duration>", field: "grace", description: "time between SIGTERM and SIGKILL (default: 30s)" },
  {
    flags: "-e, --env <variable>",
    description:
      "variables of the command: NAME=VALUE; NAME, your own value; all of yours without secrets; or none (default: PATH, virtual environment, conda and modules; a batch script: all); can be repeated",
    repeatable: true,
  },
  {
    flags: "--model <name>",
    description:
      "model that the command trains, a preset or a config.json; the workload is checked against it before submission (default: none)",
  },
  { flags: "--sequence <tokens>", description: "with --model: tokens per sequence (default: 4096)" },
  {
    flags: "--batch <sequences>",
    description: "with --model: sequences per optimizer step, over all workers (default: none)",
  },
  { flags: "--force", description: "with --model: submit the workload even if the model does not fit" },
  { flags: "--dry-run", description: "show a forecast, without submitting the workload" },
  { flags: "-f, --follow", description: "print the workload's output until it ends" },
  {
    flags: "--timeout <duration>",
    description: "with --follow: stop watching after this time; the workload continues (default: never)",
  },
];
