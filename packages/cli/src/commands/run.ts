import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption, type OptionDefinition } from "../command.ts";
import type { RunOptions } from "../documents/run-document.ts";

interface RunCommandOptions extends RunOptions {
  readonly follow?: boolean;
  readonly timeout?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const options: readonly OptionDefinition[] = [
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
  { flags: "--memory <amount>", field: "gang.memory", description: "memory of each worker, like 900GiB" },
  {
    flags: "--network <count>",
    field: "gang.networkGbps",
    description: "network bandwidth of each worker in Gbps, reserved from what the node's pool states",
  },
  {
    flags: "--accelerator-memory <amount>",
    field: "gang.acceleratorMemory",
    description:
      "memory of one accelerator for each worker, like 20GiB; other work can use the rest of the accelerator",
  },
  {
    flags: "--type <type>",
    field: "accelerator",
    description: "accelerator type that the workload accepts; repeat the option to accept several, best first",
    repeatable: true,
  },
  {
    flags: "--wait-for-type",
    field: "waitForType",
    description: "with --type: wait until a node has the type (otherwise a type that no node has is refused)",
  },
  { flags: "--name <name>", field: "name", description: "name of the workload (default: made from the command)" },
  { flags: "--team <team>", field: "team", description: "team whose quota the workload uses", complete: "team" },
  {
    flags: "--priority <priority>",
    field: "priority",
    description: "priority: low, normal, high or a whole number",
    complete: ["low", "normal", "high"],
  },
  {
    flags: "--walltime <duration>",
    field: "walltime",
    description: "longest run time, like 12h; the workload is stopped after it",
  },
  { flags: "--retries <count>", field: "retries.max", description: "number of restarts after failures" },
  {
    flags: "--notify <channel>",
    field: "notify",
    description: "channel of the operator that gets a message at the end, or NAME:start,end,nodeLoss,maintenance",
  },
  { flags: "--preemptible", field: "preemptible", description: "other work can preempt this workload" },
  {
    flags: "--no-preemptible",
    description:
      "no work can preempt this workload; above its team's guarantee it can use only what no other team's guarantee needs",
  },
  {
    flags: "--after <workload>",
    description: "start after another workload of the team: NAME (it succeeded) or NAME:ok|failed|any; can be repeated",
    repeatable: true,
    complete: "workload",
  },
  { flags: "--grace <duration>", field: "grace", description: "time between SIGTERM and SIGKILL" },
  {
    flags: "-e, --env <pair>",
    description: "NAME=VALUE for the environment of the command; can be repeated",
    repeatable: true,
  },
  {
    flags: "--model <name>",
    description:
      "model that the command trains, a preset or a config.json; the workload is checked against it before submission",
  },
  { flags: "--sequence <tokens>", description: "with --model: tokens per sequence (default: 4096)" },
  { flags: "--batch <sequences>", description: "with --model: sequences per optimizer step, over all workers" },
  { flags: "--force", description: "with --model: submit the workload even if the model does not fit" },
  { flags: "--dry-run", description: "show a forecast, without submitting the workload" },
  { flags: "-f, --follow", description: "print the workload's output until it ends" },
  {
    flags: "--timeout <duration>",
    description: "with --follow: stop watching after this time (the workload continues)",
  },
];

export const runCommand = defineCommand<RunCommandOptions>({
  name: "run",
  summary: "Submit one command line as a training run",
  details:
    "The command runs in the current directory, in every worker, with torchrun's variables set.\n" +
    "One word after -- is a shell command line; several words are a program and its arguments.\n" +
    "With --follow the exit code is 0 when the workload succeeded, 1 when it failed, 3 when --timeout passed or it can never start. Ctrl-C leaves the workload running.\n" +
    "Examples:\n  headroom run --gpus 1 -- python3 train.py\n  headroom run --workers 2 --follow -- 'echo $RANK of $WORLD_SIZE'\n" +
    "  headroom run --gpus 8 --type H100 --model llama-3-8b --batch 64 -- torchrun train.py",
  arguments: [{ syntax: "<command...>", description: "command to run (put -- before it)" }],
  takesRest: true,
  options: [...options, jsonOption],
  async run(context, { args, options: given }) {
    const { runDocument } = await import("../documents/run-document.ts");
    const { followWorkload, timeoutOf, warnIfNeverStarts } = await import("../follow.ts");
    const document = runDocument(args, { options, given }, context.terminal.workingDirectory);
    const timeoutMs = await timeoutOf(given.timeout);
    const client = await context.connect();
    const { checkModels, refuseImpossible, showModels, withThroughput } = await import("../size/submission-check.ts");
    const sizing = await checkModels(context, client, [document]);
    if (given.json !== true) await showModels(sizing, (line) => context.note(line), context);
    refuseImpossible(sizing, given.force === true);
    const spec = await withThroughput(document.spec, sizing);
    if (given.dryRun === true) {
      const forecast = await client.forecastWorkload(spec);
      const { canNeverStart } = await import("@headroom/protocol");
      const { forecastLines } = await import("../output/forecast-text.ts");
      context.print(...(given.json === true ? [JSON.stringify(forecast)] : forecastLines(forecast, context.paint)));
      return forecast.kind === "waits" && canNeverStart(forecast.verdict) ? exitCode.unsatisfied : exitCode.ok;
    }
    const { workloadId, notices } = await client.submitWorkload(spec);
    const { declareModels } = await import("../size/declare-models.ts");
    await declareModels(context, client, [{ ...document, workloadId }]);
    const told = { ...(sizing.length === 0 ? {} : { sizing }), ...(notices === undefined ? {} : { notices }) };
    if (given.json === true) context.print(JSON.stringify({ workloadId, name: spec.name, team: spec.team, ...told }));
    else context.note(`submitted ${spec.name} (${workloadId})`);
    const { noticeLines } = await import("../output/notice-lines.ts");
    if (given.json !== true) for (const line of noticeLines(notices)) context.note(line);
    if (given.follow === true) return followWorkload(context, client, workloadId, timeoutMs);
    if (given.json === true) return exitCode.ok;
    const neverStarts = await warnIfNeverStarts(context, client, workloadId);
    if (neverStarts)
      context.note(`The workload stays in the queue: headroom why ${spec.name} · headroom stop ${spec.name}`);
    else context.note(`headroom logs -f ${spec.name} · headroom why ${spec.name} · headroom stop ${spec.name}`);
    return exitCode.ok;
  },
});
