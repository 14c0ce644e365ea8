import { defineCommand } from "../command.ts";
import type { UpOptions } from "../up/run-up.ts";

export const upCommand = defineCommand<UpOptions>({
  name: "up",
  summary: "Start the control plane here, with this machine as its fleet",
  details:
    "Runs until Ctrl-C, which stops the control plane and not the work. The next `up` on the same state directory finds\n" +
    "the work still running. One control plane runs on a state directory at a time.",
  options: [
    { flags: "--quickstart", description: "also apply examples/quickstart, which trains a small language model" },
    { flags: "--no-console", description: "neither build nor serve the console" },
    { flags: "--port <port>", description: "where to listen (default 7070; 0 takes any free one)" },
    { flags: "--host <address>", description: "on which address (default 127.0.0.1)" },
    {
      flags: "--host-name <name>",
      description: "a further host name, such as that of a proxy; repeatable",
      repeatable: true,
    },
    {
      flags: "--slots <count>",
      description: "accelerators to declare if none are found (default: the number of cores, at most 8)",
    },
    {
      flags: "--nodes <count>",
      description:
        "declare this machine as several nodes, each with --slots accelerators and a core for each, to try a fleet",
    },
    {
      flags: "--notify <file>",
      description: "send what happens by webhook or command (default: notify.yaml in the state directory)",
      complete: "file",
    },
    {
      flags: "--accept-journal-loss",
      description: "start although the journal lost its newest events, or its recorded inputs are damaged",
    },
  ],
  async run(context, { options }) {
    const { runUp } = await import("../up/run-up.ts");
    return runUp(context, options);
  },
});
