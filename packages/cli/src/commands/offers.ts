import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { OffersReplayOptions } from "../offers/run-offers-replay.ts";

const replayCommand = defineCommand<OffersReplayOptions>({
  name: "replay",
  summary: "Replay recorded spot prices: cost of a job with a deadline",
  details: `FILE is a CSV file with a row for each time and zone: time (ISO 8601), zone, spot_usd_per_hour, on_demand_usd_per_hour, is_available.
Prices hold until the zone's next row. The policy knows no row before its time comes, and moves to on-demand capacity before the deadline is at risk.

Examples:
  headroom offers replay prices.csv --hours 48 --deadline 60
  headroom offers replay prices.csv --hours 48 --deadline 60 --restart 5m --checkpoint 2m --notice 0s --optimum --json`,
  arguments: [{ syntax: "<file>", description: "CSV file with prices and availability", complete: "file" }],
  options: [
    { flags: "--hours <hours>", description: "work of the job, in hours of one running instance" },
    { flags: "--deadline <hours>", description: "hours after the first row by which the job must be done" },
    { flags: "--restart <duration>", description: "paid time without progress after each start (default: 5m)" },
    { flags: "--checkpoint <duration>", description: "paid time without progress for each checkpoint (default: 10s)" },
    {
      flags: "--notice <duration>",
      description:
        "time between notice and end of a spot instance; a checkpoint that fits into it loses no work (default: 30s)",
    },
    { flags: "--optimum", description: "also compute the cost with perfect foresight" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runOffersReplay } = await import("../offers/run-offers-replay.ts");
    return runOffersReplay(context, args[0] ?? "", options);
  },
});

export const offersCommand = defineCommand({
  name: "offers",
  summary: "Compare ways to buy capacity: spot and on-demand under a deadline",
  commands: [replayCommand],
  run() {
    return Promise.reject(new CliError("offers needs a command: headroom offers replay FILE", exitCode.usage));
  },
});
