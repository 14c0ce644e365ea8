import { artifactCommands } from "./artifact.ts";
import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { ModelInspectOptions } from "../model-files/run-model-inspect.ts";

const inspectCommand = defineCommand<ModelInspectOptions>({
  name: "inspect",
  summary: "Read parameters, precision and context length from a model file",
  details: `FILE is a safetensors, GGUF or ONNX file. Only its header is read, and no code in it runs. A damaged or hostile header is refused
with the place. Architecture and context length of safetensors files come from config.json beside them.

Examples:
  headroom model inspect model.safetensors
  headroom model inspect model-q4_k_m.gguf --json`,
  arguments: [{ syntax: "<file>", description: "model file", complete: "file" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { runModelInspect } = await import("../model-files/run-model-inspect.ts");
    return runModelInspect(context, args[0] ?? "", options);
  },
});

export const modelCommand = defineCommand({
  name: "model",
  summary: "Models of the registry, and what model files state",
  commands: [inspectCommand, ...artifactCommands("model")],
  run() {
    return Promise.reject(
      new CliError("model needs a command: headroom model list, or headroom model inspect FILE", exitCode.usage),
    );
  },
});
