import { defineCommand, jsonOption } from "../command.ts";
import type { GatewayOptions } from "../gateway/run-gateway.ts";

export const gatewayCommand = defineCommand<GatewayOptions>({
  name: "gateway",
  summary: "Serve models: one endpoint with keys, limits and routing in front of inference servers",
  details: `Examples:
  headroom gateway --config gateway.yaml --check
  headroom gateway --config gateway.yaml
  headroom gateway --new-key
  headroom gateway --engines
Runs until Ctrl-C or SIGTERM, then lets streams end. Changes of the file apply at once.
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
  async run(context, { options }) {
    const { runGateway } = await import("../gateway/run-gateway.ts");
    return runGateway(context, options);
  },
});
