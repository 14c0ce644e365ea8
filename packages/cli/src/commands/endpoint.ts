import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { EndpointCommandOptions } from "../endpoint/run-endpoint.ts";

const listCommand = defineCommand<EndpointCommandOptions>({
  name: "list",
  summary: "List the endpoints with their replicas and their load",
  details:
    "The load is what gateways report; - means that no gateway has reported since the start of the control plane.",
  options: [jsonOption],
  async run(context, { options }) {
    const { listEndpoints } = await import("../endpoint/run-endpoint.ts");
    return listEndpoints(context, options);
  },
});

const showEndpointCommand = defineCommand<EndpointCommandOptions>({
  name: "show",
  summary: "Show an endpoint: load, replicas, and why it has its number of replicas",
  details: `Examples:
  headroom endpoint show chat
  headroom endpoint show research/chat --json`,
  arguments: [{ syntax: "<endpoint>", description: "name, team/name or id of the endpoint", complete: "workload" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { showEndpoint } = await import("../endpoint/run-endpoint.ts");
    return showEndpoint(context, args[0] ?? "", options);
  },
});

export const endpointCommand = defineCommand({
  name: "endpoint",
  summary: "Endpoints: replicas, load and scaling",
  commands: [listCommand, showEndpointCommand],
  run() {
    return Promise.reject(
      new CliError("endpoint needs a command: headroom endpoint list, or show NAME", exitCode.usage),
    );
  },
});
