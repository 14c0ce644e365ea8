import { setTimeout as delay } from "node:timers/promises";
import type { HeadroomClient, Replay, ReplayReport } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption, type CommandContext } from "../command.ts";

interface ReplayCommandOptions {
  readonly policy?: string;
  readonly teamChanges?: string;
  readonly since?: string;
  readonly cluster?: readonly string[];
  readonly timezone?: string;
  readonly anyType?: true;
  readonly json?: boolean;
}

const LOOK_EVERY_MS = 200;

export const replayCommand = defineCommand<ReplayCommandOptions>({
  name: "replay",
  summary: "Replay recorded work under another policy, or the history of Slurm clusters under one queue",
  details:
    "Recorded submissions and changes of nodes are scheduled again; work keeps its recorded run times. The column CONTROL is\n" +
    "a replay without a change: its distance from RECORDED is the error of the replay. Nothing is recorded.\n" +
    "With --cluster, the history of Slurm clusters is played under one queue, without a control plane: scontrol show node > nodes.txt;\n" +
    "sacct -a -X -P -S now-30days -o JobID,Account,Submit,Start,End,Timelimit,AllocTRES,State > jobs.txt\n" +
    "Examples:\n  headroom replay --policy fifo\n  headroom replay --cluster lab=nodes.txt,jobs.txt --cluster old=old-nodes.txt,old-jobs.txt\n  headroom replay --policy mine.yaml --since 30d\n  headroom replay --team-changes teams.yaml",
  options: [
    {
      flags: "--policy <preset|file>",
      description: "policy to use for the whole period (default: none)",
      complete: "preset",
    },
    {
      flags: "--team-changes <file>",
      description: "use the team definitions of this file (default: none)",
      complete: "file",
    },
    {
      flags: "--cluster <name=nodes,jobs>",
      description:
        "a Slurm cluster with files of its nodes and jobs, in any form that `headroom executor read` takes; can be repeated (default: none)",
      repeatable: true,
    },
    { flags: "--timezone <name>", description: "with --cluster: time zone of the clusters (default: UTC)" },
    {
      flags: "--any-type",
      description: "with --cluster: jobs may run on any accelerator type (default: those of their own cluster)",
    },
    { flags: "--since <duration>", description: "start of the period, as a time before now (default 7d)" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { cluster } = options;
    if (cluster !== undefined) {
      if (options.since !== undefined)
        throw new CliError("--since does not go with --cluster: the files say which period", exitCode.usage);
      const { runHistory } = await import("../history/run-history.ts");
      return runHistory(context, { ...options, cluster });
    }
    if (options.timezone !== undefined || options.anyType !== undefined)
      throw new CliError("--timezone and --any-type go with --cluster", exitCode.usage);
    if (options.policy === undefined && options.teamChanges === undefined)
      throw new CliError("nothing to compare: pass --policy or --team-changes", exitCode.usage);
    const [{ duration }, tried, { replayPeriodMs }] = await Promise.all([
      import("../simulate/amount-options.ts"),
      import("../tried-change.ts"),
      import("@headroom/protocol"),
    ]);
    const periodMs = duration(options.since ?? "7d", "--since");
    if (periodMs < replayPeriodMs.min)
      throw new CliError(
        `--since: expected a duration from 1m to 3650d, got ${JSON.stringify(options.since)}`,
        exitCode.usage,
      );
    const { terminal } = context;
    const client = await context.connect();
    const question = {
      periodMs,
      teams: options.teamChanges === undefined ? [] : await tried.triedTeams(options.teamChanges, terminal),
      ...(options.policy === undefined ? {} : { policy: await tried.triedPolicy(options.policy, client, terminal) }),
    };
    const { id } = await client.startReplay(question);
    const replay = await finished(context, client, id);
    if (replay === null) return exitCode.interrupted;
    if (replay.phase === "failed") throw new CliError(replay.detail, exitCode.failed);
    if (options.json === true) context.print(JSON.stringify(replay.report, null, 2));
    else await printReport(context, replay.report);
    return exitCode.ok;
  },
});

type Finished = Exclude<Replay, { readonly phase: "running" }>;

/** `null`: the user interrupted the command, which cancels the replay. */
async function finished({ terminal }: CommandContext, client: HeadroomClient, id: string): Promise<Finished | null> {
  const { ProgressLine } = await import("../simulate/progress-line.ts");
  const line = new ProgressLine(terminal.stderr);
  try {
    for (;;) {
      if (terminal.interrupted.aborted) {
        await client.cancelReplay(id);
        return null;
      }
      const replay = await client.replay(id);
      if (replay.phase !== "running") return replay;
      line.show(`replaying, ${Math.round(replay.progress * 100)}%`);
      await delay(LOOK_EVERY_MS);
    }
  } finally {
    line.clear();
  }
}

async function printReport({ print, paint, terminal }: CommandContext, report: ReplayReport): Promise<void> {
  const { replayTables } = await import("../output/replay-text.ts");
  print(...replayTables(report, terminal.stdout, paint));
}
