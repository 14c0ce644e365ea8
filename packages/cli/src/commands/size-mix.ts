import { defineCommand, jsonOption } from "../command.ts";
import type { MixOptions } from "../size/size-mix.ts";

export const mixCommand = defineCommand<MixOptions>({
  name: "mix",
  summary: "Choose unlike accelerators for an endpoint: the cheapest fleet that meets its objectives",
  details: `Fleets are tried in the order of their prices, each with a simulation of the requests. Each replica has one accelerator.

Example, short requests with a few long ones:
  headroom size mix --model llama-3-8b --offer L4=0.7 --offer A100=3.67 --traffic 15.2,300,180 --traffic 0.8,4500,280 --ttft 2s --tpot 120ms`,
  options: [
    { flags: "--model <name>", description: "preset of a model (required)" },
    {
      flags: "--offer <type=USD>",
      description: "accelerator with the price of one for an hour: L4=0.7; at most 6 (required)",
      repeatable: true,
    },
    {
      flags: "--traffic <requests,prompt,output>",
      description:
        "requests a second with their mean prompt and output tokens: 15,300,180, and with objectives of their own: 2,4500,280,15s,150ms; at most 6 (required)",
      repeatable: true,
    },
    { flags: "--ttft <time>", description: "objective for the time to the first token (default: 1s)" },
    { flags: "--tpot <time>", description: "objective for the time per output token (default: 50ms)" },
    { flags: "--share <share>", description: "share of the requests within both objectives (default: 99%)" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runSizeMix } = await import("../size/size-mix.ts");
    return runSizeMix(context, options);
  },
});
