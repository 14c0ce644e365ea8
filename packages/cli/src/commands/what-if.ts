import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";

interface WhatIfCommandOptions {
  readonly lose?: readonly string[];
  readonly add?: readonly string[];
  readonly policy?: string;
  readonly file?: string;
  readonly hours?: string;
  readonly json?: boolean;
}

const HOUR_MS = 3_600_000;

export const whatIfCommand = defineCommand<WhatIfCommandOptions>({
  name: "what-if",
  summary: "Forecast the next hours with a change",
  details:
    "Simulates the scheduler twice from its present state, without and with the change; nothing is recorded.\n" +
    "Examples:\n  headroom what-if --lose n1 --lose n2\n  headroom what-if --add n1:4 --hours 24\n  headroom what-if --policy fifo\n" +
    "  headroom what-if -f teams.yaml",
  options: [
    { flags: "--lose <node>", description: "without this node; repeatable", repeatable: true },
    {
      flags: "--add <node:count>",
      description: "with further nodes like this one; repeatable, adds up",
      repeatable: true,
    },
    {
      flags: "--policy <preset or file>",
      description: "under another policy: a preset, or FILE.yaml",
      complete: "preset",
    },
    { flags: "-f, --file <file>", description: "with the team definitions of a file" },
    { flags: "--hours <count>", description: "how far to look ahead (default 12, at most 168)" },
    jsonOption,
  ],
  async run(context, { options }) {
    const horizonMs = Math.round(Number(options.hours ?? "12") * HOUR_MS);
    const { whatIfHorizonMs } = await import("@headroom/protocol");
    if (!(horizonMs >= whatIfHorizonMs.min && horizonMs <= whatIfHorizonMs.max))
      throw new CliError(
        `--hours: expected a number of hours from a minute (0.017) to ${whatIfHorizonMs.max / HOUR_MS}, got ${JSON.stringify(options.hours)}`,
        exitCode.usage,
      );
    const loseNodes = [...(options.lose ?? [])];
    const addNodes = (options.add ?? []).map(addition);
    const { triedPolicy, triedTeams } = await import("../tried-change.ts");
    const { terminal } = context;
    const teams = options.file === undefined ? [] : await triedTeams(options.file, terminal);
    if (loseNodes.length + addNodes.length + teams.length === 0 && options.policy === undefined)
      throw new CliError("nothing to compare: pass --lose, --add, --policy or -f teams.yaml", exitCode.usage);
    const client = await context.connect();
    const answer = await client.whatIf({
      teams,
      horizonMs,
      loseNodes,
      addNodes,
      ...(options.policy === undefined ? {} : { policy: await triedPolicy(options.policy, client, terminal) }),
    });
    if (options.json === true) {
      context.print(JSON.stringify(answer, null, 2));
      return exitCode.ok;
    }
    const { whatIfTables } = await import("../output/what-if-text.ts");
    context.print(...whatIfTables(answer, terminal.stdout, context.paint));
    return exitCode.ok;
  },
});

function addition(text: string): { readonly like: string; readonly count: number } {
  const at = text.lastIndexOf(":");
  const count = at < 0 ? 1 : Number(text.slice(at + 1));
  if (!Number.isSafeInteger(count) || count < 1)
    throw new CliError(`--add ${text}: write NODE:COUNT, like n1:4`, exitCode.usage);
  return { like: at < 0 ? text : text.slice(0, at), count };
}
