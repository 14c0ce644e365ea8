import { defineCommand, jsonOption } from "../command.ts";
import type { DriftOptions } from "../health/run-drift.ts";

export const driftCommand = defineCommand<DriftOptions>({
  name: "drift",
  summary: "Find nodes that differ from their peers, and what slow nodes share",
  details: `FILE has a JSON object in each line: node, set (nodes that ought to be alike), facts (driver, firmware, libraries, settings, by
name) and, if it was measured, performance (more is better). docs/how-to/find-slow-nodes.md explains both answers.

Examples:
  headroom drift profiles.jsonl
  headroom drift profiles.jsonl --desired desired.json --json`,
  arguments: [
    { syntax: "<file>", description: "profiles of nodes as JSON lines; -: standard input", complete: "file" },
  ],
  options: [
    {
      flags: "--desired <file>",
      description: "JSON object: desired values of facts by name of the set, * for every set (default: none)",
      complete: "file",
    },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { runDrift } = await import("../health/run-drift.ts");
    return runDrift(context, args[0] ?? "", options);
  },
});
