import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { EndpointBenchOptions } from "../endpoint/run-endpoint-bench.ts";
import type { TryEndpointOptions } from "../endpoint/run-endpoint-try.ts";
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

const benchEndpointCommand = defineCommand<EndpointBenchOptions>({
  name: "bench",
  summary: "Load an endpoint through its gateway, and propose targets for its scaling",
  details:
    "Sends streams at 1, 2, 4 and more requests in progress for each ready replica, until an objective is missed or more give hardly\n" +
    "more tokens, and prints the change of the document. The load is real: it costs what requests cost. The key of the gateway is in HEADROOM_KEY.\n" +
    "Exit code 3: no level is within the objectives.\n" +
    "Examples:\n  headroom endpoint bench chat --ttft 2s --tpot 100ms\n  headroom endpoint bench chat --gateway https://gw:8443 --prompt 1000 --output 200",
  arguments: [{ syntax: "<endpoint>", description: "name, team/name or id of the endpoint", complete: "workload" }],
  options: [
    { flags: "--gateway <url>", description: "address of the gateway (default: http://127.0.0.1:8080)" },
    { flags: "--prompt <words>", description: "length of the prompts in words (default 200)" },
    { flags: "--output <tokens>", description: "most output tokens of a request (default 64)" },
    { flags: "--seconds <count>", description: "duration of each level in seconds (default 10)" },
    { flags: "--max <count>", description: "most requests in progress for each replica (default 64)" },
    { flags: "--ttft <time>", description: "objective: p95 of the time to the first token (default: none)" },
    { flags: "--tpot <time>", description: "objective: p95 of the time per further token (default: none)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { benchEndpoint } = await import("../endpoint/run-endpoint-bench.ts");
    return benchEndpoint(context, args[0] ?? "", options);
  },
});

const tryEndpointCommand = defineCommand<TryEndpointOptions>({
  name: "try",
  summary: "Send one request to an endpoint through its gateway, and print the answer with its times",
  details:
    "The control plane asks the gateway that it was started with (--gateway). The request counts to the limits of the endpoint's team, and starts a\n" +
    "first replica if there is none.\n" +
    "Examples:\n  headroom endpoint try chat 'Name three colours'\n  headroom endpoint try quickstart --completion 'import {' --max-tokens 60",
  arguments: [
    { syntax: "<endpoint>", description: "name, team/name or id of the endpoint", complete: "workload" },
    { syntax: "<prompt>", description: "text of the request" },
  ],
  options: [
    { flags: "--completion", description: "let the model continue the text, instead of answering a message" },
    { flags: "--max-tokens <count>", description: "most tokens of the answer (default 128)" },
    { flags: "--temperature <value>", description: "temperature from 0 to 2 (default: that of the model server)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { tryEndpoint } = await import("../endpoint/run-endpoint-try.ts");
    return tryEndpoint(context, { endpoint: args[0] ?? "", prompt: args[1] ?? "", options });
  },
});

export const endpointCommand = defineCommand({
  name: "endpoint",
  summary: "Endpoints: replicas, load and scaling",
  commands: [listCommand, showEndpointCommand, tryEndpointCommand, benchEndpointCommand],
  run() {
    return Promise.reject(
      new CliError(
        "endpoint needs a command: headroom endpoint list, or show or bench with an endpoint",
        exitCode.usage,
      ),
    );
  },
});
