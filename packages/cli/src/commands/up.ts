import { defineCommand } from "../command.ts";
import type { UpOptions } from "../up/run-up.ts";
import { upOptions } from "../up/up-settings.ts";

export const upCommand = defineCommand<UpOptions>({
  name: "up",
  summary: "Start a control plane with this machine as its fleet",
  details:
    "It runs until Ctrl-C, which stops the control plane but not the work. The next `up` with the same state directory finds\n" +
    "the work still running. Only one control plane can use a state directory at a time.\n" +
    "Every option can be a field of the file of --config (docs/reference/headroom-yaml.md). Options override the file.",
  options: [
    {
      flags: "--config <file>",
      description: "file with settings, such as headroom.yaml (default: none)",
      complete: "file",
    },
    { flags: "--check-config", description: "only check the settings and the files that they name, and exit" },
    ...upOptions(),
  ],
  async run(context, { options }) {
    const { runUp } = await import("../up/run-up.ts");
    return runUp(context, options);
  },
});
