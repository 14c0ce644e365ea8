/** `headroom size failures`: failure rate of a job, checkpoint interval, effective training time, spares. */
import type { FailureReport, FailureSizing } from "@headroom/perf";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { shortDuration } from "../output/amounts.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { rate, wholeNumber } from "../simulate/amount-options.ts";
import { given, percentText, positive, positiveDuration, significant } from "./quantities.ts";

export interface FailureOptions {
  readonly nodes?: string;
  readonly gpusPerNode?: string;
  readonly record?: string;
  readonly rate?: string;
  readonly other?: string;
  readonly restart?: string;
  readonly stall?: string;
  readonly every?: string;
  readonly stragglers?: string;
  readonly repair?: string;
  readonly coverage?: string;
  readonly burstiness?: string;
  readonly fleet?: string;
  readonly scattered?: true;
  readonly domain?: readonly string[];
  readonly json?: true;
}

const nodesMax = 10_000_000;

export async function runSizeFailures(context: CommandContext, options: FailureOptions): Promise<ExitCode> {
  const perf = await import("@headroom/perf");
  const report = perf.sizeFailures(await sizingOf(options));
  if (options.json === true) context.print(JSON.stringify(report, null, 2));
  else context.print(...failureLines(report, context));
  return exitCode.ok;
}

async function sizingOf(options: FailureOptions): Promise<FailureSizing> {
  if (options.nodes === undefined) throw new CliError("--nodes says how many nodes the job has", exitCode.usage);
  const count = (text: string, what: string): number => wholeNumber(text, what, { min: 1, max: nodesMax });
  const seconds = (text: string | undefined, what: string, otherwise: number): number =>
    given(text, (value) => positiveDuration(value, what) / 1000, otherwise);
  const nodeCount = count(options.nodes, "--nodes");
  const acceleratorsPerNode = given(options.gpusPerNode, (text) => count(text, "--gpus-per-node"), 8);
  return {
    nodeCount,
    acceleratorsPerNode,
    perThousandNodeDays: await failureRate(options, acceleratorsPerNode),
    otherPerDay: given(options.other, (text) => positive(text, "--other"), 0),
    restartSeconds: seconds(options.restart, "--restart", 300),
    stallSeconds: seconds(options.stall, "--stall", 10),
    intervalSeconds: given(options.every, (text) => positiveDuration(text, "--every") / 1000, undefined),
    stragglerShare: given(options.stragglers, (text) => rate(text, "--stragglers") / 10_000, 0),
    repairHours: seconds(options.repair, "--repair", 86_400) / 3600,
    spareCoverage: given(options.coverage, (text) => rate(text, "--coverage") / 10_000, 0.99),
    burstiness: given(options.burstiness, (text) => positive(text, "--burstiness"), 1),
    fleet: {
      nodeCount: given(options.fleet, (text) => fleetSize(text, nodeCount), nodeCount),
      placement: options.scattered === true ? "scattered" : "packed",
    },
    domains: (options.domain ?? ["node=1"]).map((text) => {
      const [name = "", size = "", ...rest] = text.split("=");
      if (name === "" || rest.length > 0)
        throw new CliError("--domain: expected NAME=NODES, as rack=8", exitCode.usage);
      return { name, nodeCount: count(size, "--domain") };
    }),
  };
}

function fleetSize(text: string, nodeCount: number): number {
  const size = wholeNumber(text, "--fleet", { min: 1, max: nodesMax });
  if (size >= nodeCount) return size;
  throw new CliError(`--fleet: the job has ${nodeCount} nodes, a fleet of ${size} does not hold it`, exitCode.usage);
}

async function failureRate(options: FailureOptions, acceleratorsPerNode: number): Promise<number> {
  if (options.rate !== undefined) return positive(options.rate, "--rate");
  const perf = await import("@headroom/perf");
  const record = perf.findFailureRecord(options.record ?? "llama3-h100");
  if (record !== undefined) return perf.scaledToNode(record, acceleratorsPerNode);
  const known = perf.failureRecords.map(({ name }) => name).join(", ");
  throw new CliError(`--record: expected ${known}; or state --rate`, exitCode.usage);
}

function failureLines(report: FailureReport, context: CommandContext): string[] {
  const { chosen, intervals, spares } = report;
  const interval = (seconds: number): string => shortDuration(seconds * 1000);
  const pairs = pairLines(
    [
      ["fails every", `${interval(report.mttfSeconds)} (${significant(report.failuresPerDay)} times a day)`],
      [
        "save every",
        `${interval(chosen.intervalSeconds)} (Young ${interval(intervals.young)}, Daly ${interval(intervals.daly)}, ` +
          `availability ${interval(intervals.availability)}, best ${interval(intervals.best)})`,
      ],
      ["progress", `${percentText(chosen.ettr)} of the time (linear form: ${percentText(report.ettrLinear)})`],
      [
        "lost to",
        `checkpoints ${percentText(chosen.lost.checkpoints)}, restarts ${percentText(chosen.lost.restarts)}, ` +
          `repeated work ${percentText(chosen.lost.repeatedWork)}`,
      ],
      ["goodput", percentText(report.goodputShare)],
      [
        "spares",
        `${spares.spareCount} nodes cover ${percentText(spares.coverage)} of the time ` +
          `(${significant(spares.meanAwayCount)} in repair on average)`,
      ],
    ],
    context.paint,
  );
  const columns = [
    { title: "DOMAIN" },
    { title: "JOBS STOPPED", align: "right" as const },
    { title: "GPU-HOURS LOST" },
  ];
  const rows = report.domainLosses.map(({ domain, jobsStopped, acceleratorHours }) => [
    domain,
    significant(jobsStopped),
    significant(acceleratorHours),
  ]);
  return [...pairs, ...tableLines(columns, rows, context.terminal.stdout, context.paint)];
}
