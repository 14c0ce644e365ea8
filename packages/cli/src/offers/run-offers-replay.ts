/** `headroom offers replay`: runs a job with a deadline over recorded spot prices. */
import type { SpotAccount, SpotJob } from "@headroom/plan";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { pairLines } from "../output/table.ts";
import { duration } from "../simulate/amount-options.ts";
import { needed } from "../size/model-options.ts";
import { positive } from "../size/quantities.ts";
import { readSpotFile } from "./spot-file.ts";

export interface OffersReplayOptions {
  readonly hours?: string;
  readonly deadline?: string;
  readonly restart?: string;
  readonly checkpoint?: string;
  readonly notice?: string;
  readonly optimum?: true;
  readonly json?: true;
}

const MS_PER_HOUR = 3_600_000;

export async function runOffersReplay(
  context: CommandContext,
  file: string,
  options: OffersReplayOptions,
): Promise<ExitCode> {
  const job = jobOf(options);
  const { ExpectedCostPolicy, offlineOptimum, runSpotJob, spotSeries } = await import("@headroom/plan");
  const series = spotSeries(await readSpotFile(context, file));
  const account = runSpotJob(series, job, new ExpectedCostPolicy(series, job));
  const answer: ReplayAnswer = {
    account,
    onDemandUsd: job.workHours * (series.onDemand[0] ?? 0),
    optimumUsd: options.optimum === true ? offlineOptimum(series, job) : undefined,
  };
  if (options.json === true) context.print(JSON.stringify(answerJson(answer), null, 2));
  else context.print(...pairLines(answerPairs(answer, job), context.paint));
  return account.isMissed ? exitCode.failed : exitCode.ok;
}

interface ReplayAnswer {
  readonly account: SpotAccount;
  /** The cost of the work on demand from the first row on. */
  readonly onDemandUsd: number;
  readonly optimumUsd: number | undefined;
}

function jobOf(options: OffersReplayOptions): SpotJob {
  const hours = (text: string | undefined, usual: string, option: string): number =>
    duration(text ?? usual, option) / MS_PER_HOUR;
  const job: SpotJob = {
    workHours: positive(needed(options.hours, "--hours", "48"), "--hours"),
    deadlineHours: positive(needed(options.deadline, "--deadline", "60"), "--deadline"),
    restartHours: hours(options.restart, "5m", "--restart"),
    checkpointHours: hours(options.checkpoint, "10s", "--checkpoint"),
    noticeHours: hours(options.notice, "30s", "--notice"),
  };
  const shortest = job.workHours + job.restartHours;
  if (job.deadlineHours >= shortest) return job;
  throw new CliError(
    `--deadline ${job.deadlineHours} cannot be met: ${job.workHours} hours of work and one start take ${shortest.toFixed(2)} hours`,
    exitCode.usage,
  );
}

function answerJson({ account, onDemandUsd, optimumUsd }: ReplayAnswer): Readonly<Record<string, number | boolean>> {
  return {
    cost_usd: account.costUsd,
    on_demand_usd: onDemandUsd,
    is_missed: account.isMissed,
    ...(optimumUsd === undefined ? {} : { optimum_usd: optimumUsd }),
    finished_at_hours: account.finishedAtHours,
    spot_hours: account.spotHours,
    on_demand_hours: account.onDemandHours,
    waited_hours: account.waitedHours,
    lost_hours: account.lostHours,
    preemption_count: account.preemptionCount,
    start_count: account.restartCount,
  };
}

function answerPairs(
  { account, onDemandUsd, optimumUsd }: ReplayAnswer,
  job: SpotJob,
): readonly (readonly [string, string])[] {
  const saved = 1 - account.costUsd / onDemandUsd;
  return [
    ["cost", `${usd(account.costUsd)}, ${Math.round(saved * 100)}% below ${usd(onDemandUsd)} on demand`],
    ...(optimumUsd === undefined
      ? []
      : [
          [
            "foresight",
            `${usd(optimumUsd)}; this run costs ${(account.costUsd / optimumUsd).toFixed(2)} times that`,
          ] as const,
        ]),
    [
      "deadline",
      account.isMissed
        ? "missed"
        : `kept: done after ${hoursText(account.finishedAtHours)} of ${hoursText(job.deadlineHours)}`,
    ],
    ["spot", hoursText(account.spotHours)],
    ["on demand", hoursText(account.onDemandHours)],
    ["waited", hoursText(account.waitedHours)],
    [
      "starts",
      `${account.restartCount}, ${account.preemptionCount} of them after a preemption; ${hoursText(account.lostHours)} of work lost`,
    ],
  ];
}

function usd(amount: number): string {
  return `$${amount.toFixed(2)}`;
}

function hoursText(hours: number): string {
  return `${hours.toFixed(1)} h`;
}
