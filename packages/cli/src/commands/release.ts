import { defineCommand, jsonOption } from "../command.ts";
import { forEachWorkload } from "../each-workload.ts";

interface ReleaseCommandOptions {
  readonly json?: boolean;
}

export const releaseCommand = defineCommand<ReleaseCommandOptions>({
  name: "release",
  summary: "Release held workloads",
  arguments: [
    { syntax: "<workloads...>", description: "names, team/name or ids of the workloads", complete: "workload" },
  ],
  options: [jsonOption],
  run: (context, { args, options }) =>
    forEachWorkload(context, {
      names: args,
      json: options.json === true,
      word: "released",
      send: (client, id) => client.releaseWorkload(id),
    }),
});
