import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { OffersCompareOptions } from "../offers/run-offers-compare.ts";
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
    { flags: "--hours <hours>", description: "work of the job, in hours of one running instance (required)" },
    { flags: "--deadline <hours>", description: "hours after the first row by which the job must be done (required)" },
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

const compareCommand = defineCommand<OffersCompareOptions>({
  name: "compare",
  summary: "Order the offers of price feeds by the price of a useful hour",
  details: `FILE is a feed as headroom price check reads it. Without it, the control plane compares the feeds in offers/ of its state directory. Prices with a defect are left out, never chosen.
A useful hour counts interruptions, checkpoints at Young's interval, restarts, egress and the measured speed of a supplier.

Examples:
  headroom offers compare --accelerator H100
  headroom offers compare feed.csv --accelerator H100 --hazard 0.05 --egress 400 --speed Alpha=0.95`,
  arguments: [
    { syntax: "[file]", description: "CSV feed of prices (default: those of the control plane)", complete: "file" },
  ],
  options: [
    { flags: "--accelerator <name>", description: "only accelerators whose name contains this" },
    { flags: "--accelerators <count>", description: "number of accelerators that the work uses (default: 8)" },
    { flags: "--hours <hours>", description: "useful hours over which egress is spread (default: 100)" },
    { flags: "--hazard <rate>", description: "interruptions of spot capacity per hour (default: 0.1)" },
    { flags: "--checkpoint <duration>", description: "time of one checkpoint (default: 2m)" },
    { flags: "--restart <duration>", description: "time of one restart (default: 10m)" },
    { flags: "--egress <usd>", description: "dollars to move the data there (default: 0)" },
    {
      flags: "--speed <speeds>",
      description: "measured speed by provider, relative: Alpha=0.95,Beta=1.1 (default: 1 for each)",
    },
    { flags: "--limit <count>", description: "number of offers (default: 20)" },
    { flags: "--stale-after <duration>", description: "age from which a price is stale (default: 30d)" },
    { flags: "--now <instant>", description: "instant that ages are counted from (default: the newest row)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runOffersCompare } = await import("../offers/run-offers-compare.ts");
    return runOffersCompare(context, args[0], options);
  },
});

export const offersCommand = defineCommand({
  name: "offers",
  summary: "Compare ways to buy capacity: offers by useful hour, spot and on-demand under a deadline",
  commands: [compareCommand, replayCommand],
  run() {
    return Promise.reject(
      new CliError("offers needs a command: headroom offers compare or headroom offers replay FILE", exitCode.usage),
    );
  },
});
