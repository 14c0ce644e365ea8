import { defineCommand, jsonOption } from "../command.ts";
import type { GatewayOptions } from "../gateway/run-gateway.ts";
import type { UsageOptions } from "../gateway/run-usage.ts";

const usageCommand = defineCommand<UsageOptions>({
  name: "usage",
  summary: "Add up what teams used, by team, key and model, from the usage files of gateways",
  details: `Examples:
  headroom gateway usage .headroom/gateway
  headroom gateway usage /var/lib/headroom/gateway --ledger billing.json
  headroom gateway usage --ledger billing.json --period 2026-11 --json
With --ledger each record settles once: the file holds the totals and the position in every gateway's files, and is
replaced as a whole. Run it as often as you like, also after it was killed. Gateways may run meanwhile.`,
  arguments: [
    {
      syntax: "[state]",
      description: "the folder that `state` in gateway.yaml names (default: .headroom/gateway)",
      complete: "file",
    },
  ],
  options: [
    {
      flags: "--ledger <file>",
      description: "settle into this file; without it everything is read",
      complete: "file",
    },
    { flags: "--period <date>", description: "print this UTC year, month or day alone: 2026-11" },
    {
      flags: "--over",
      description: "no gateway of the folder runs any more: settle streams that were in progress",
    },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runUsage } = await import("../gateway/run-usage.ts");
    return runUsage(context, args[0], options);
  },
});

export const gatewayCommand = defineCommand<GatewayOptions>({
  name: "gateway",
  summary: "Serve models: one endpoint with keys, limits and routing in front of inference servers",
  details: `Examples:
  headroom gateway --config gateway.yaml --check
  headroom gateway --config gateway.yaml
  headroom gateway --new-key
  headroom gateway --engines
  headroom gateway usage
Runs until Ctrl-C or SIGTERM, then lets streams end. Changes of the file apply at once.
SIGUSR1 opens the access log again after a rotation.
docs/reference/gateway.md explains the file.`,
  options: [
    { flags: "--config <file>", description: "the configuration", complete: "file" },
    { flags: "--check", description: "only check the configuration" },
    { flags: "--id <name>", description: "name of this process, where several use one configuration" },
    { flags: "--listen <address>", description: "listen there instead of the configured address" },
    { flags: "--admin <address>", description: "metrics and drain there instead of the configured address" },
    { flags: "--engines", description: "print how each inference engine is started, probed, drained and read" },
    jsonOption,
    { flags: "--new-key", description: "print a new API key and its hash for the configuration" },
  ],
  commands: [usageCommand],
  async run(context, { options }) {
    const { runGateway } = await import("../gateway/run-gateway.ts");
    return runGateway(context, options);
  },
});
