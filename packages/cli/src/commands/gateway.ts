import { defineCommand, jsonOption } from "../command.ts";
import type { GatewayOptions } from "../gateway/run-gateway.ts";
import type { ExplainOptions } from "../gateway/run-explain.ts";
import type { UsageOptions } from "../gateway/run-usage.ts";

const usageCommand = defineCommand<UsageOptions>({
  name: "usage",
  summary: "Add up the usage of teams, by team, key and model, from the usage files of gateways",
  details: `Examples:
  headroom gateway usage .headroom/gateway
  headroom gateway usage /var/lib/headroom/gateway --ledger billing.json
  headroom gateway usage --ledger billing.json --period 2026-11 --csv
With --ledger each usage record is counted once. The ledger file contains the totals and the position in every gateway's files, and is replaced as a whole. You can run the command at any time: while gateways run, and again after it was killed.`,
  arguments: [
    {
      syntax: "[state]",
      description: "the folder named by `state` in gateway.yaml (default: .headroom/gateway)",
      complete: "file",
    },
  ],
  options: [
    {
      flags: "--ledger <file>",
      description: "ledger file that keeps the totals; without it all usage files are read (default: none)",
      complete: "file",
    },
    { flags: "--period <date>", description: "print only this UTC year, month or day: 2026-11 (default: none)" },
    {
      flags: "--over",
      description: "also count streams that were in progress; only when no gateway of the folder runs any more",
    },
    { flags: "--csv", description: "print CSV, one row for each day, team, key and model" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runUsage } = await import("../gateway/run-usage.ts");
    return runUsage(context, args[0], options);
  },
});

const explainCommand = defineCommand<ExplainOptions>({
  name: "explain",
  summary: "State what happened to one request: attempts, choice of replicas, limits, usage, cost",
  details: `The id is the header x-request-id of the response. A running gateway has its last 5000 requests in memory; for older ones the command reads the usage files.`,
  arguments: [{ syntax: "<request>", description: "the id of the request" }],
  options: [
    { flags: "--config <file>", description: "the gateway's configuration (default: gateway.yaml)", complete: "file" },
    {
      flags: "--admin <url>",
      description: "admin address of a running gateway, instead of the configured one (default: none)",
    },
    {
      flags: "--admin-token <file>",
      description: "file with the token of --admin (default: $HEADROOM_GATEWAY_TOKEN)",
      complete: "file",
    },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runExplain } = await import("../gateway/run-explain.ts");
    return runExplain(context, args[0] ?? "", options);
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
The gateway runs until Ctrl-C or SIGTERM. Then it waits for running streams to end. Changes of the configuration file apply at once. SIGUSR1 opens the access log again after a rotation. docs/reference/gateway.md explains the configuration file.`,
  options: [
    {
      flags: "--config <file>",
      description: "the configuration; needed to serve or check (default: none)",
      complete: "file",
    },
    { flags: "--check", description: "only check the configuration, and exit" },
    { flags: "--id <name>", description: "name of this process, if several use one configuration (default: none)" },
    { flags: "--listen <address>", description: "address to listen on, instead of the configured one (default: none)" },
    {
      flags: "--admin <address>",
      description: "address for metrics and drain, instead of the configured one (default: none)",
    },
    { flags: "--insecure", description: "accept addresses that other machines reach without TLS" },
    { flags: "--engines", description: "print how the gateway starts, probes, drains and reads each inference engine" },
    jsonOption,
    { flags: "--new-key", description: "print a new API key, and its hash for the configuration" },
  ],
  commands: [usageCommand, explainCommand],
  async run(context, { options }) {
    const { runGateway } = await import("../gateway/run-gateway.ts");
    return runGateway(context, options);
  },
});
