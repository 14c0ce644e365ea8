import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { PriceCheckOptions } from "../prices/run-price-check.ts";

const checkCommand = defineCommand<PriceCheckOptions>({
  name: "check",
  summary: "Find the prices of a feed that cannot be trusted",
  details: `FILE is CSV with a header. Columns are found by the names that feeds use: cloud, instance, gpu, gpus, region_or_zone,
on_demand_usd_h, spot_usd_h (of the whole instance), on_demand_per_gpu_h, spot_per_gpu_h, host_usd_h, unit, note, and a time such as updated_at.
Defects: missing, not-a-number, negative, zero, spot-equals-list, spot-above-list, stale, unit-error, host-price-missing, duplicate.
A price with a defect is "unpriced", and headroom offers compare does not choose it. The exit code is 3 if there is a defect.

Example:
  headroom price check feed.csv --stale-after 7d --json`,
  arguments: [{ syntax: "<file>", description: "CSV feed of prices", complete: "file" }],
  options: [
    { flags: "--stale-after <duration>", description: "age from which a price is stale (default: 30d)" },
    {
      flags: "--now <instant>",
      description: "instant that ages are counted from (default: the newest row of the feed)",
    },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runPriceCheck } = await import("../prices/run-price-check.ts");
    return runPriceCheck(context, args[0] ?? "", options);
  },
});

export const priceCommand = defineCommand({
  name: "price",
  summary: "Check feeds of prices",
  commands: [checkCommand],
  run() {
    return Promise.reject(new CliError("price needs a command: headroom price check FILE", exitCode.usage));
  },
});
