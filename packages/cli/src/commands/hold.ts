import { defineCommand, jsonOption } from "../command.ts";
import { forEachWorkload } from "../each-workload.ts";

interface HoldCommandOptions {
  readonly json?: boolean;
}

export const holdCommand = defineCommand<HoldCommandOptions>({
  name: "hold",
  summary: "Hold workloads: no further task starts until they are released; running tasks continue",
  arguments: [
    { syntax: "<workloads...>", description: "names, team/name or ids of the workloads", complete: "workload" },
  ],
  options: [jsonOption],
  run: (context, { args, options }) =>
    forEachWorkload(context, {
      names: args,
      json: options.json === true,
      word: "held",
      send: (client, id) => client.holdWorkload(id),
    }),
});
