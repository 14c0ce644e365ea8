import { defineCommand } from "../command.ts";
import type { UpOptions } from "../up/run-up.ts";

export const upCommand = defineCommand<UpOptions>({
  name: "up",
  summary: "Start a control plane with this machine as its fleet",
  details:
    "It runs until Ctrl-C, which stops the control plane but not the work. The next `up` with the same state directory finds\n" +
    "the work still running. Only one control plane can use a state directory at a time.",
  options: [
    { flags: "--quickstart", description: "also apply examples/quickstart, which trains a small language model" },
    { flags: "--no-console", description: "do not build and serve the console" },
    { flags: "--port <port>", description: "port to listen on (default 7070; 0 takes any free port)" },
    { flags: "--host <address>", description: "address to listen on (default 127.0.0.1)" },
    {
      flags: "--host-name <name>",
      description: "another host name under which clients reach the server, such as that of a proxy; can be repeated",
      repeatable: true,
    },
    {
      flags: "--slots <count>",
      description: "number of accelerators to declare if none are found (default: the number of cores, at most 8)",
    },
    {
      flags: "--nodes <count>",
      description:
        "to try a fleet: declare this machine as several nodes, each with --slots accelerators and as many cores",
    },
    {
      flags: "--notify <file>",
      description:
        "file with notification rules: which events are sent, by webhook or command (default: notify.yaml in the state directory)",
      complete: "file",
    },
    {
      flags: "--accept-journal-loss",
      description: "start even if the journal has lost its newest events or its recorded inputs are damaged",
    },
  ],
  async run(context, { options }) {
    const { runUp } = await import("../up/run-up.ts");
    return runUp(context, options);
  },
});
