import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { endedPhases, limitOption, selectionOptions, type SelectionOptions } from "../listing-options.ts";

export interface HistoryCommandOptions extends SelectionOptions {
  readonly state?: readonly string[];
  readonly since?: string;
  readonly format?: string;
  readonly csv?: boolean;
  readonly limit?: string;
  readonly json?: boolean;
}

export const historyCommand = defineCommand<HistoryCommandOptions>({
  name: "history",
  summary: "List ended work with its run time, exit code and accelerator-hours, or show the events of a workload",
  details:
    "Without a workload: ended work, the last submitted first, with the sum of its accelerator-hours, as sacct does.\n" +
    "With a workload: placements, starts and ends; by what right it was evicted, or others for it, with the standing of their teams;\n" +
    "also nominations, and how elastic gangs grew and shrank. For sweep.3 only what concerns task 3. For one attempt: headroom why WORKLOAD --attempt N\n" +
    "Accelerator-hours cover the last 16 ended attempts of a workload.\n" +
    "Examples:\n  headroom history --mine --since monday\n  headroom history --state failed --csv",
  arguments: [
    {
      syntax: "[workload]",
      description: "name, team/name or id of the workload; sweep.3 is task 3 of an array",
      complete: "workload",
    },
  ],
  options: [
    ...selectionOptions,
    {
      flags: "-S, --since <time>",
      description: "only work that ended since then: 2d, today, monday, or 2026-07-01 (default: today)",
    },
    {
      flags: "--state <phases>",
      description: `only these phases, with commas: ${endedPhases.join(", ")} (default: all)`,
      complete: endedPhases,
      repeatable: true,
    },
    {
      flags: "-o, --format <fields>",
      description:
        "fields with commas, as in headroom list (default id,name,user,phase,exit,nodes,ended,elapsed,hours)",
    },
    { flags: "--csv", description: "print comma-separated values: seconds, hours and instants without units" },
    limitOption,
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { historyOf, listEnded } = await import("../ended-work.ts");
    const [workload] = args;
    if (workload === undefined) return listEnded(context, options);
    await historyOf(context, workload, options.json === true);
    return exitCode.ok;
  },
});
