import { defineCommand, jsonOption } from "../command.ts";
import { forEachWorkload } from "../each-workload.ts";

interface RerunCommandOptions {
  readonly json?: boolean;
}

export const rerunCommand = defineCommand<RerunCommandOptions>({
  name: "rerun",
  summary: "Run ended workloads again: the tasks that did not succeed, from their last checkpoint",
  details:
    "The workload keeps its id, its checkpoint and its earlier attempts. Quotas and checks apply as at a submission.\n" +
    "Example:\n  headroom rerun train-7b",
  arguments: [
    { syntax: "<workloads...>", description: "names, team/name or ids of the workloads", complete: "workload" },
  ],
  options: [jsonOption],
  run: (context, { args, options }) =>
    forEachWorkload(context, {
      names: args,
      json: options.json === true,
      word: "runs again:",
      send: (client, id) => client.rerunWorkload(id),
    }),
});
