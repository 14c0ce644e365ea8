import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { CommandDefinition } from "../command.ts";
import { limitOption } from "../listing-options.ts";
import type {
  BackfillOptions,
  DecideStepOptions,
  JsonOption,
  PipelineListOptions,
  PipelineRunListOptions,
  PipelineShowOptions,
  RetryOptions,
  StartRunOptions,
} from "../pipeline/pipeline-options.ts";

const nameArgument = { syntax: "<name>", description: "name of the pipeline" };
const runArgument = { syntax: "<run>", description: "id of the run, like p12" };
const runPhases = ["waiting", "running", "succeeded", "failed", "cancelled"];
const startOptions = [
  { flags: "--param <name=value>", description: "value of a parameter (default: as declared)", repeatable: true },
  { flags: "--force", description: "run every step, without the cache" },
  { flags: "--dry-run", description: "show the steps with expected times and cost, without recording anything" },
];

const listSubcommand = defineCommand<PipelineListOptions>({
  name: "list",
  summary: "List pipelines with their next and newest runs",
  options: [
    { flags: "--team <team>", description: "only pipelines of this team (default: all)", complete: "team" },
    limitOption,
    jsonOption,
  ],
  async run(context, { options }) {
    const { listPipelines } = await import("../pipeline/list-pipelines.ts");
    return listPipelines(context, options);
  },
});

const runsSubcommand = defineCommand<PipelineRunListOptions>({
  name: "runs",
  summary: "List runs, newest first",
  arguments: [{ syntax: "[name]", description: "name of a pipeline (default: all)" }],
  options: [
    { flags: "--phase <phase>", description: `only runs that are ${runPhases.join(", ")}`, complete: runPhases },
    limitOption,
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { listRuns } = await import("../pipeline/list-pipelines.ts");
    return listRuns(context, args[0], options);
  },
});

const showSubcommand = defineCommand<PipelineShowOptions>({
  name: "show",
  summary: "Show a run with its steps and their reasons, or a pipeline with its definition",
  arguments: [{ syntax: "<run or name>", description: "id of a run, like p12, or name of a pipeline" }],
  options: [
    { flags: "--step <step>", description: "of a run: only this step, with its items (default: all)" },
    limitOption,
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { showPipeline } = await import("../pipeline/show-run.ts");
    return showPipeline(context, args[0] ?? "", options);
  },
});

const runSubcommand = defineCommand<StartRunOptions>({
  name: "run",
  summary: "Start a run, or show its plan with --dry-run",
  details: `Examples:
  headroom pipeline run retrain --param rows=1000
  headroom pipeline run retrain --dry-run`,
  arguments: [nameArgument],
  options: [...startOptions, jsonOption],
  async run(context, { args, options }) {
    const { startRun } = await import("../pipeline/start-run.ts");
    return startRun(context, args[0] ?? "", options);
  },
});

const backfillSubcommand = defineCommand<BackfillOptions>({
  name: "backfill",
  summary: "Start one run for each day, or each hour, of a span, in the parameter date",
  details: `At most 1,000 runs. A day of 23 or 25 hours is one day, with 23 or 25 hours.

Example:
  headroom pipeline backfill daily-report --from 2026-03-01 --to 2026-03-31 --time-zone Europe/Oslo`,
  arguments: [nameArgument],
  options: [
    { flags: "--from <day>", description: "first day, like 2026-03-01 (required)" },
    { flags: "--to <day>", description: "last day (default: the first day)" },
    { flags: "--every <unit>", description: "day or hour (default: day)", complete: ["day", "hour"] },
    { flags: "--time-zone <zone>", description: "time zone of the days, like Europe/Oslo (default: UTC)" },
    ...startOptions,
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { backfill } = await import("../pipeline/start-run.ts");
    return backfill(context, args[0] ?? "", options);
  },
});

const cancelSubcommand = defineCommand<JsonOption>({
  name: "cancel",
  summary: "Cancel a run: its workloads are stopped, and no further step starts",
  arguments: [runArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { cancelRun } = await import("../pipeline/change-run.ts");
    return cancelRun(context, args[0] ?? "", options);
  },
});

const retrySubcommand = defineCommand<RetryOptions>({
  name: "retry",
  summary: "Run the steps of an ended run again that did not succeed, with all steps after them",
  arguments: [runArgument],
  options: [
    { flags: "--from <step>", description: "a step that runs again even if it succeeded (default: none)" },
    { flags: "--force", description: "run these steps without the cache" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { retryRun } = await import("../pipeline/change-run.ts");
    return retryRun(context, args[0] ?? "", options);
  },
});

const decision = (name: "approve" | "reject", summary: string): CommandDefinition =>
  defineCommand<DecideStepOptions>({
    name,
    summary,
    arguments: [
      runArgument,
      { syntax: "[step]", description: "the step that waits for approval (default: the only one that does)" },
    ],
    options: [{ flags: "--reason <text>", description: "reason, which is recorded (default: none)" }, jsonOption],
    async run(context, { args, options }) {
      const { decideStep } = await import("../pipeline/change-run.ts");
      return decideStep(context, { run: args[0] ?? "", step: args[1], isApproved: name === "approve" }, options);
    },
  });

const removeSubcommand = defineCommand<JsonOption>({
  name: "remove",
  summary: "Remove a pipeline; its runs continue",
  arguments: [nameArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { removePipeline } = await import("../pipeline/change-run.ts");
    return removePipeline(context, args[0] ?? "", options);
  },
});

export const pipelineCommand = defineCommand({
  name: "pipeline",
  summary: "Run pipelines of steps: runs, their plans and steps, retries, approvals, backfills",
  details: "Declare a pipeline with kind: pipeline in a file, and headroom apply -f FILE.",
  commands: [
    listSubcommand,
    showSubcommand,
    runSubcommand,
    runsSubcommand,
    cancelSubcommand,
    retrySubcommand,
    decision("approve", "Approve a step that waits for approval"),
    decision("reject", "Reject a step that waits for approval: it fails"),
    backfillSubcommand,
    removeSubcommand,
  ],
  run() {
    return Promise.reject(new CliError("pipeline needs a command: headroom pipeline list", exitCode.usage));
  },
});
