import { setTimeout as delay } from "node:timers/promises";
import type { HeadroomClient } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, type CommandContext } from "../command.ts";
import { candidates, shells, shellScripts, type Candidate } from "../completion.ts";

export const completionCommand = defineCommand<object>({
  name: "completion",
  summary: "Print the completion script for your shell",
  details:
    'Examples:\n  eval "$(headroom completion bash)"          in ~/.bashrc\n  headroom completion fish | source           in config.fish',
  arguments: [{ syntax: "<shell>", description: shells.join(", "), complete: shells }],
  run(context, { args }) {
    const shell = shells.find((each) => each === args[0]);
    if (shell === undefined)
      throw new CliError(`the shell must be ${shells.join(", ")}, got ${args[0] ?? ""}`, exitCode.usage);
    context.print(shellScripts[shell]);
    return Promise.resolve(exitCode.ok);
  },
});

/**
 * Longest wait in ms for names from the control plane: for a user who pressed Tab, a longer wait is worse than no
 * candidates.
 */
const NAMES_PATIENCE_MS = 800;
const NAMES_MAX = 200;

/** The command that the shells call. It prints one candidate on each line: value, tab, description. */
export const completeCommand = defineCommand<object>({
  name: "__complete",
  summary: "Print the completions of a command line (shells call this command)",
  hidden: true,
  takesRest: true,
  arguments: [{ syntax: "[words...]", description: "the words of the command line; the last one is to be completed" }],
  async run(context, { args }) {
    const found = await candidates(context.shape(), args, (kind) => {
      return Promise.race([namesOf(context, kind), delay(NAMES_PATIENCE_MS, [], { ref: false })]).catch(() => []);
    });
    for (const { value, description } of found) context.print(`${value}\t${description}`);
    return exitCode.ok;
  },
});

async function namesOf(context: CommandContext, kind: "workload" | "node" | "team" | "preset"): Promise<Candidate[]> {
  const client: HeadroomClient = await context.connect();
  switch (kind) {
    case "workload": {
      const { items } = await client.listWorkloads({ limit: NAMES_MAX });
      return items.map(({ name, phase, team }) => ({ value: name, description: `${phase}, team ${team}` }));
    }
    case "node": {
      const { items } = await client.listNodes({ limit: NAMES_MAX });
      return items.map(({ id, health }) => ({ value: id, description: health }));
    }
    case "team": {
      const { items } = await client.teams({ limit: NAMES_MAX });
      return items.map(({ name }) => ({ value: name, description: "" }));
    }
    case "preset": {
      const { items } = await client.presets();
      return items.map(({ name, order }) => ({ value: name, description: order.join(", ") }));
    }
  }
}
