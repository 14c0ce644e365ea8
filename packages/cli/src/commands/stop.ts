import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { forEachWorkload } from "../each-workload.ts";
import { selectionOptions, type SelectionOptions } from "../listing-options.ts";

interface StopCommandOptions extends SelectionOptions {
  readonly all?: boolean;
  readonly phase?: readonly string[];
  readonly yes?: boolean;
  readonly json?: boolean;
}

export const stopCommand = defineCommand<StopCommandOptions>({
  name: "stop",
  summary: "Stop workloads with SIGTERM, and with SIGKILL after their grace period",
  details:
    "A stopped task of an array is not tried again, and the other tasks continue; it counts as unsuccessful.\n" +
    "A stopped replica of an endpoint starts again.\n" +
    "Examples:\n  headroom stop train-1f3a\n  headroom stop sweep.3\n  headroom stop --all --mine --phase pending",
  arguments: [
    {
      syntax: "[workloads...]",
      description: "names, team/name or ids of the workloads; NAME.N for task N of an array, or replica N",
      complete: "workload",
    },
  ],
  options: [
    {
      flags: "--all",
      description: "stop all unfinished workloads that --mine, --user, --team, --node, --phase and --search choose",
    },
    ...selectionOptions,
    {
      flags: "--phase <phases>",
      description: "with --all: only these phases: pending, running (default: both)",
      repeatable: true,
    },
    { flags: "-y, --yes", description: "with --all: stop workloads of other users without asking" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { chosenForStop } = await import("../stop-selection.ts");
    if (options.all !== true && args.length === 0)
      throw new CliError(
        "no workload is named: headroom stop WORKLOAD, or --all with --mine, --team or --node",
        exitCode.usage,
      );
    const names = options.all === true ? await chosenForStop(context, args, options) : args;
    return forEachWorkload(context, {
      names,
      json: options.json === true,
      word: "stopping",
      takesTasks: options.all !== true,
      send: (client, id, task) => client.stopWorkload(id, task === null ? {} : { task }),
    });
  },
});
