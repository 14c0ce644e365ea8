/**
 * `headroom simulate --demand`: the share of a fleet that a policy allocates when randomly drawn work arrives and never
 * ends, over several seeds.
 */
import { setImmediate } from "node:timers/promises";
import type { Policy } from "@headroom/model";
import type { SettingResult, Trace } from "@headroom/sim";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines, type Column } from "../output/table.ts";
import type { LoadedTrace } from "./trace-source.ts";
import { ProgressLine } from "./progress-line.ts";

/**
 * JSON output for one policy (for several policies, a list of these). Shares are parts of the fleet's accelerators,
 * from 0 to 1.
 */
export interface DemandReport {
  readonly trace: string;
  readonly policy: string;
  readonly gpus: number;
  readonly demand: number;
  readonly seeds: readonly number[];
  /** Mean allocated share at this demand, over the seeds. `sd`: sample standard deviation; 0 for one seed. */
  readonly allocated: readonly { readonly asked: number; readonly mean: number; readonly sd: number }[];
  readonly runs: readonly DemandRun[];
  readonly broken_rows: number;
  readonly wall_s: number;
  /** Wall time of a submission: decision, journal text, and the removal of dropped work. */
  readonly us_per_submission: number;
}

export interface DemandRun {
  readonly seed: number;
  readonly submitted: number;
  readonly dropped: number;
  /** Allocated shares in the same order as `DemandReport.allocated`. */
  readonly allocated: readonly number[];
}

export interface DemandRequest {
  readonly name: string;
  readonly loaded: LoadedTrace;
  readonly policies: readonly Policy[];
  readonly demandMilli: number;
  readonly seeds: readonly number[];
}

/** Number of jobs that arrive between two checks of the clock and of Ctrl-C. */
const jobsPerTurn = 200;

export async function runDemand(context: CommandContext, request: DemandRequest): Promise<DemandReport[]> {
  const progress = new ProgressLine(context.terminal.stderr);
  const reports: DemandReport[] = [];
  for (const policy of request.policies) {
    const startedAtNs = process.hrtime.bigint();
    const results: SettingResult[] = [];
    for (const seed of request.seeds) results.push(await runOnce(context, progress, { request, policy, seed }));
    const wallS = Number(process.hrtime.bigint() - startedAtNs) / 1e9;
    reports.push(reportOf(request, policy, { results, wallS }));
  }
  progress.clear();
  return reports;
}

interface Once {
  readonly request: DemandRequest;
  readonly policy: Policy;
  readonly seed: number;
}

async function runOnce(
  context: CommandContext,
  progress: ProgressLine,
  { request, policy, seed }: Once,
): Promise<SettingResult> {
  const { SettingRun } = await import("@headroom/sim");
  const { jobs, fleet } = fleetOf(request.loaded.trace);
  const run = new SettingRun({ population: jobs, fleet, policy, demandMilli: request.demandMilli, seed });
  while (!run.advance(jobsPerTurn)) {
    progress.show(`${policy.name}, seed ${seed}: ${Math.floor(run.progress * 100)}% of the demand has arrived`);
    await setImmediate();
    if (context.terminal.interrupted.aborted) throw new CliError("interrupted", exitCode.interrupted);
  }
  return run.result();
}

function fleetOf({ jobs, fleet }: Trace) {
  if (fleet === null) throw new CliError("--demand needs a trace that says what it ran on", exitCode.usage);
  return { jobs, fleet };
}

function reportOf(
  { name, loaded, demandMilli, seeds }: DemandRequest,
  policy: Policy,
  { results, wallS }: { readonly results: readonly SettingResult[]; readonly wallS: number },
): DemandReport {
  const runs = results.map(({ submittedCount, droppedCount, marks }, index) => ({
    seed: seeds[index]!,
    submitted: submittedCount,
    dropped: droppedCount,
    allocated: marks.map(({ allocatedMilli }) => rounded(allocatedMilli / 1000)),
  }));
  const marks = results[0]?.marks ?? [];
  const submitted = runs.reduce((sum, run) => sum + run.submitted, 0);
  return {
    trace: name,
    policy: policy.name,
    gpus: fleetOf(loaded.trace).fleet.nodes.reduce((sum, node) => sum + node.acceleratorCount, 0),
    demand: demandMilli / 1000,
    seeds,
    allocated: marks.map(({ askedMilli }, index) => ({
      asked: askedMilli / 1000,
      ...spreadOf(results.map((result) => result.marks[index]!.allocatedMilli / 1000)),
    })),
    runs,
    broken_rows: loaded.report?.brokenCount ?? 0,
    wall_s: Math.round(wallS * 1000) / 1000,
    us_per_submission: submitted === 0 ? 0 : Math.round((wallS * 1e6) / submitted),
  };
}

function spreadOf(values: readonly number[]): { readonly mean: number; readonly sd: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean: rounded(mean), sd: values.length === 1 ? 0 : rounded(Math.sqrt(squares / (values.length - 1))) };
}

/** Shares are rounded to 0.00001, because published shares have three decimals of a percent. */
const rounded = (share: number): number => Math.round(share * 100_000) / 100_000;

export function demandLines(context: CommandContext, reports: readonly DemandReport[]): string[] {
  const [first] = reports;
  if (first === undefined) return [];
  const percent = (share: number, decimals: number): string => `${(share * 100).toFixed(decimals)}%`;
  const columns: readonly Column[] = [
    { title: "POLICY" },
    ...first.allocated.map(({ asked }): Column => ({ title: `${percent(asked, 0)} ASKED`, align: "right" })),
    { title: "SD", align: "right" },
    { title: "DROPPED", align: "right" },
  ];
  const rows = reports.map(({ policy, allocated, runs }) => [
    policy,
    ...allocated.map(({ mean }) => percent(mean, 2)),
    percent(allocated.at(-1)?.sd ?? 0, 2),
    String(runs.reduce((sum, run) => sum + run.dropped, 0)),
  ]);
  const { terminal, paint } = context;
  const seeds = first.seeds.length === 1 ? `seed ${first.seeds[0]}` : `mean over ${first.seeds.length} seeds`;
  return [
    `${first.trace} on ${first.gpus} accelerators, ${seeds}; share of the accelerators allocated once requests reached the share in the column title:`,
    ...(first.broken_rows > 0 ? [paint("dim", `left out: ${first.broken_rows} broken`)] : []),
    "",
    ...tableLines(columns, rows, terminal.stdout, paint),
    "",
    ...reports.map(({ policy, us_per_submission, wall_s }) =>
      paint("dim", `${policy}: ${wall_s.toFixed(1)} s, ${us_per_submission} µs a submission`),
    ),
  ];
}
