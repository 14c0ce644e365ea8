import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { RolloutCommandOptions } from "../rollout/run-rollout.ts";

const endpointArgument = {
  syntax: "<endpoint>",
  description: "name, team/name or id of the endpoint",
  complete: "workload",
} as const;

const listCommand = defineCommand<RolloutCommandOptions>({
  name: "list",
  summary: "List rollouts in progress",
  options: [jsonOption],
  async run(context, { options }) {
    const { listRollouts } = await import("../rollout/run-rollout.ts");
    return listRollouts(context, options);
  },
});

const showRolloutCommand = defineCommand<RolloutCommandOptions>({
  name: "show",
  summary: "Show the rollout of an endpoint: step, replicas, readings and verdict",
  arguments: [endpointArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { showRollout } = await import("../rollout/run-rollout.ts");
    return showRollout(context, args[0] ?? "", options);
  },
});

const steering = [
  ["advance", "advance", "Take the next step of a rollout now", "Took the next step of the rollout"],
  ["promote", "promote", "Give the new revision all requests, whatever the verdict", "Promoted the new revision"],
  ["pause", "pause", "Stay at the step; a verdict or the deadline still rolls back", "Paused the rollout"],
  ["resume", "resume", "Go on with a paused rollout", "Resumed the rollout"],
  ["abort", "rollBack", "Roll back to the present revision at once", "Rolled back the new revision"],
] as const;

const steeringCommands = steering.map(([name, action, summary, done]) =>
  defineCommand({
    name,
    summary,
    arguments: [endpointArgument],
    async run(context, { args }) {
      const { steerRollout } = await import("../rollout/run-rollout.ts");
      return steerRollout(context, args[0] ?? "", { action, done });
    },
  }),
);

export const rolloutCommand = defineCommand({
  name: "rollout",
  summary: "Rollouts of endpoints: steps, verdict, rollback",
  commands: [listCommand, showRolloutCommand, ...steeringCommands],
  run() {
    return Promise.reject(
      new CliError(
        "rollout needs a command: headroom rollout list, or show, promote, pause or abort with an endpoint",
        exitCode.usage,
      ),
    );
  },
});
