import { defineCommand } from "../command.ts";
import type { ShellOptions } from "../exec/run-shell.ts";
import { runOptions } from "../run/run-options.ts";

/** Options of `run` without a meaning for an allocation that a user sits in. */
const notHere: ReadonlySet<string> = new Set([
  "--array <indexes>",
  "--retries <count>",
  "--model <name>",
  "--sequence <tokens>",
  "--batch <sequences>",
  "--force",
  "--dry-run",
  "-f, --follow",
  "--timeout <duration>",
]);
const ownDescriptions: Readonly<Record<string, string>> = {
  "--name <name>": "name of the workload (default: shell- and four letters)",
  "--walltime <duration>": "longest time, like 2h; the shell is ended after it (default: 8h)",
};

export const shellCommand = defineCommand<ShellOptions>({
  name: "shell",
  summary: "Open a shell in an allocation of its own, like srun --pty bash",
  details:
    "The allocation waits in the queue like other work, with the reason shown; Ctrl-C withdraws it. The shell opens on its first worker when it runs, and the allocation ends with the shell, also if your connection is lost.\n" +
    "After -- stands a command to run instead of your shell.\n" +
    "Examples:\n  headroom shell --gpus 1\n  headroom shell --gpus 8 --type H100 --walltime 2h\n  headroom shell --gpus 1 -- python3",
  arguments: [{ syntax: "[command...]", description: "program and its arguments, after -- (default: your shell)" }],
  options: [
    ...runOptions
      .filter(({ flags }) => !notHere.has(flags))
      .map((option) => ({ ...option, description: ownDescriptions[option.flags] ?? option.description })),
    {
      flags: "--no-tty",
      description: "give the command pipes, not a terminal (default: a terminal if stdin and stdout are terminals)",
    },
  ],
  async run(context, invocation) {
    const { runShell } = await import("../exec/run-shell.ts");
    return runShell(context, invocation);
  },
});
