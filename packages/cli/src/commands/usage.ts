import { defineCommand, jsonOption } from "../command.ts";
import type { UsageCommandOptions } from "../usage/run-usage.ts";

export const usageCommand = defineCommand<UsageCommandOptions>({
  name: "usage",
  summary: "Add up accelerator time by team and period: used, idle, failed, evicted, lost",
  details: `Reads the journal of the state directory (--home), from its first event on. Periods are in UTC; weeks begin on Monday.
Time that nobody held has no team. Fractions and MIG slices count as their part of an accelerator.

Examples:
  headroom usage --by day
  headroom usage --team research --by month --group user,workload --csv
  headroom usage --rows > rows.csv`,
  options: [
    { flags: "--team <team>", description: "only this team, with the teams below it", complete: "team" },
    {
      flags: "--by <period>",
      description: "hour, day, week, month or all (default: month)",
      complete: ["hour", "day", "week", "month", "all"],
    },
    {
      flags: "--group <fields>",
      description:
        "with commas: team, user, workload, workloadId, workloadKind, site, pool, node, acceleratorType (default: team)",
    },
    {
      flags: "--since <time>",
      description: "from this day (UTC) or instant on: 2026-11-01 or 2026-11-01T12:00Z (default: none)",
    },
    { flags: "--until <time>", description: "up to this day (UTC) or instant (default: now)" },
    { flags: "--rows", description: "print the usage rows themselves, as CSV" },
    { flags: "--csv", description: "print comma-separated values" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runUsage } = await import("../usage/run-usage.ts");
    return runUsage(context, options);
  },
});
