import { defineCommand, jsonOption } from "../command.ts";
import { forEachWorkload } from "../each-workload.ts";

interface StopCommandOptions {
  readonly json?: boolean;
}

export const stopCommand = defineCommand<StopCommandOptions>({
  name: "stop",
  summary: "Stop workloads with SIGTERM, and with SIGKILL after their grace period",
  arguments: [
    { syntax: "<workloads...>", description: "names, team/name or ids of the workloads", complete: "workload" },
  ],
  options: [jsonOption],
  run: (context, { args, options }) =>
    forEachWorkload(context, {
      names: args,
      json: options.json === true,
      word: "stopping",
      send: (client, id) => client.stopWorkload(id),
    }),
});
