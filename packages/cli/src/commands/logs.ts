import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { LogSearchOptions } from "../output/log-search.ts";
import { writeLogs } from "../output/log-lines.ts";
import { attemptOf, leftOut } from "../task-output.ts";
import { resolveTask } from "../resolve-workload.ts";

interface LogsCommandOptions {
  readonly follow?: boolean;
  readonly worker?: string;
  readonly attempt?: string;
  readonly stream?: string;
  readonly tail?: string;
  readonly since?: string;
  readonly grep?: string;
  readonly timestamps?: boolean;
  readonly raw?: boolean;
  readonly json?: boolean;
}

interface SearchCommandOptions extends LogSearchOptions {
  readonly json?: boolean;
  readonly csv?: boolean;
}

const searchCommand = defineCommand<SearchCommandOptions>({
  name: "search",
  summary: "Search the output of all attempts that you may read",
  details:
    "The newest attempts come first, each from its oldest line on. The search goes on until the limit of matches is reached;\n" +
    "Ctrl-C ends it. The last line on stderr states what was searched, and the --cursor that goes on from there.\n" +
    "Attempts whose output is removed or cannot be read are named.\n" +
    "  headroom logs search 'NCCL WARN' --since 24h --context 2\n" +
    "  headroom logs search 'loss[:=] *nan' --regex --ignore-case --team research",
  arguments: [{ syntax: "<text>", description: "text of a line, of at most 200 characters" }],
  options: [
    { flags: "--regex", description: "the text is a regular expression of JavaScript" },
    { flags: "-i, --ignore-case", description: "small and capital letters are equal" },
    { flags: "--team <team>", description: "only workloads of this team and the teams below it", complete: "team" },
    {
      flags: "-w, --workload <workload>",
      description: "only attempts of this workload: its name, team/name or id",
      complete: "workload",
    },
    {
      flags: "--since <time>",
      description: "only lines written since then: a duration like 2h, or 2026-07-01T12:00Z (default: 24h)",
    },
    {
      flags: "-C, --context <lines>",
      description: "print this number of lines before and after, 0 to 10 (default: 0)",
    },
    { flags: "-n, --limit <count>", description: "maximum number of matches (default 50)" },
    { flags: "--cursor <cursor>", description: "go on where an earlier search ended (default: from the beginning)" },
    jsonOption,
    { flags: "--csv", description: "print comma-separated values for spreadsheets" },
  ],
  async run(context, { args, options }) {
    const { searchLogs } = await import("../output/log-search.ts");
    return searchLogs(context, args[0] ?? "", options);
  },
});

export const logsCommand = defineCommand<LogsCommandOptions>({
  name: "logs",
  summary: "Print the output of a workload's processes",
  details:
    "With several workers, each line starts with the worker's rank, and lines come in the order in which they were written. The workers' stderr is printed to stderr.\n" +
    "For an array, the newest attempt is printed; WORKLOAD.N prints task N, numbered as in `headroom why`.\n" +
    "Output is found of running attempts and of the last 16 ended attempts of a workload, also for --attempt and WORKLOAD.N.\n" +
    "Ctrl-C ends the printing, not the workload.\n" +
    "A workload with the name `search` is printed by its id, or as TEAM/search.",
  commands: [searchCommand],
  arguments: [
    {
      syntax: "<workload>",
      description: "name, team/name or id of the workload; NAME.N for task N of an array",
      complete: "workload",
    },
  ],
  options: [
    { flags: "-f, --follow", description: "follow new output until the workload ends" },
    { flags: "--worker <rank>", description: "only output of the worker with this rank" },
    { flags: "--attempt <number or id>", description: "only output of this attempt (default: the newest)" },
    { flags: "--stream <stream>", description: "only stdout or only stderr", complete: ["stdout", "stderr"] },
    {
      flags: "-n, --tail <lines>",
      description: "only the newest lines of each worker's stdout and of its stderr (default: all)",
    },
    {
      flags: "--since <time>",
      description: "only lines written since then: a duration like 10m, or 2026-07-01T12:00Z",
    },
    {
      flags: "--grep <pattern>",
      description:
        "of the lines that --tail and --since select, print only those that match this regular expression (default: none)",
    },
    { flags: "-t, --timestamps", description: "start each line with the time at which it was written" },
    {
      flags: "--raw",
      description: "print escape sequences as they were written (a terminal always shows colours)",
    },
    { flags: "--json", description: "print one JSON object for each piece of output, as it comes" },
  ],
  async run(context, { args, options }) {
    const { stream } = options;
    if (stream !== undefined && stream !== "stdout" && stream !== "stderr") {
      throw new CliError(`--stream must be stdout or stderr, got ${stream}`, exitCode.usage);
    }
    const worker = wholeNumber("--worker", options.worker, 0);
    const tailLines = wholeNumber("--tail", options.tail, 1);
    const sinceMs = await instantBefore(options.since);
    const grep = patternOf(options.grep);
    const client = await context.connect();
    const { workload, task } = await resolveTask(client, args[0] ?? "");
    const attempt = await attemptOf(client, workload, { task, text: options.attempt });
    const { interrupted } = context.terminal;
    const follow = options.follow === true;
    const chunks = client.logs(workload.id, {
      worker,
      attempt,
      stream,
      tailLines,
      sinceMs,
      follow,
      signal: interrupted,
    });
    if (options.json !== true && workload.tasks.total > 1 && attempt === undefined && !follow) {
      const line = await leftOut(client, workload);
      if (line !== null) context.note(line);
    }
    const isTagged = workload.gang.workers > 1 && worker === undefined;
    const count = await writeLogs(context.terminal, chunks, {
      isTagged,
      grep,
      json: options.json === true,
      timestamps: options.timestamps === true,
      raw: options.raw === true,
    });
    if (count === 0 && !follow) {
      const filters = selecting.filter((name) => options[name] !== undefined);
      context.note(`${workload.name} ${noOutputText(workload.endedAtMs !== null, filters)}.`);
    }
    return exitCode.ok;
  },
});

/** Options with which the control plane selects a part of the output. */
const selecting = ["worker", "attempt", "stream", "since"] as const;

function noOutputText(hasEnded: boolean, filters: readonly string[]): string {
  if (filters.length > 0) return `has no output that ${filters.map((name) => `--${name}`).join(" and ")} would show`;
  return hasEnded ? "left no output, or its output was removed" : "has no output yet";
}

function wholeNumber(flag: string, text: string | undefined, min: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,6}$/.test(text) || Number(text) < min) {
    throw new CliError(`${flag} must be a whole number from ${min} on, got ${text}`, exitCode.usage);
  }
  return Number(text);
}

/** The instant that an option states. A duration counts back from now. */
async function instantBefore(text: string | undefined): Promise<number | undefined> {
  if (text === undefined) return undefined;
  const { DURATION_MS_MAX, readDuration } = await import("@headroom/protocol");
  const duration = readDuration(text, { min: 0, max: DURATION_MS_MAX });
  if (duration.ok) return Math.max(0, Date.now() - duration.value);
  const instant = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(instant)) return instant;
  throw new CliError(
    `--since must be a duration like 10m or a time like 2026-07-01T12:00Z, got ${text}`,
    exitCode.usage,
  );
}

function patternOf(text: string | undefined): RegExp | null {
  if (text === undefined) return null;
  try {
    return new RegExp(text, "u");
  } catch (error) {
    throw new CliError(`--grep: ${(error as Error).message}`, exitCode.usage);
  }
}
