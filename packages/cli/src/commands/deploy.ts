import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { DeployOptions } from "../deploy/deploy-document.ts";

interface DeployCommandOptions extends DeployOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

export const deployCommand = defineCommand<DeployCommandOptions>({
  name: "deploy",
  summary: "Serve a model as an endpoint: write its document and apply it",
  details:
    "Writes NAME.yaml with the start command of the engine, and applies it as headroom apply does. The file is the endpoint's\n" +
    "document from then on: edit it and apply it again. An endpoint of this name that runs already is rolled out.\n" +
    "Examples:\n  headroom deploy model:chat@production --engine vllm --gpus 1 --replicas 0-4 --concurrency 16\n" +
    "  headroom deploy /models/qwen.gguf --engine llamacpp --dry-run\n" +
    "  headroom deploy model:quickstart --engine headroom --dir examples/serving --replicas 0-3",
  arguments: [
    {
      syntax: "<model>",
      description: "a registered model (model:chat@3), a path on the nodes, or a name that the engine downloads",
    },
  ],
  options: [
    {
      flags: "--engine <engine>",
      description: "vllm, sglang, llamacpp, trtllm or headroom (default vllm)",
    },
    { flags: "--name <name>", description: "name of the endpoint (default: made from the model)" },
    { flags: "--team <team>", description: "team of the endpoint (default: default)", complete: "team" },
    { flags: "--gpus <count>", description: "number of accelerators of each replica (default 1)" },
    { flags: "--type <type>", description: "accelerator type of the replicas (default: any)" },
    { flags: "--replicas <range>", description: "number of replicas, or its bounds such as 0-4 (default 1)" },
    {
      flags: "--concurrency <count>",
      description: "requests in progress for each replica by which it scales (default 16, with a range of replicas)",
    },
    {
      flags: "--idle-to-zero <time>",
      description: "time without requests after which no replica is left, like 15m (default: one stays)",
    },
    {
      flags: "--dir <path>",
      description: "working directory of the replicas (default: this directory)",
      complete: "file",
    },
    { flags: "--dry-run", description: "only print the document" },
    { flags: "-y, --yes", description: "apply the document without asking" },
    { flags: "--force", description: "replace a file NAME.yaml that says something else" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const [model] = args;
    if (model === undefined) throw new CliError("no model is given: headroom deploy MODEL", exitCode.usage);
    const { deploy } = await import("../deploy/run-deploy.ts");
    return deploy(context, model, options);
  },
});
