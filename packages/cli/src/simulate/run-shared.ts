/** `headroom simulate --trace … --endpoint …`: training and endpoints whose replicas follow traffic, on one fleet. */
import { setImmediate } from "node:timers/promises";
import type { SharedEndpoint, SharedFleetResult } from "@headroom/autoscale";
import type { Policy } from "@headroom/model";
import type { FleetSpec, Trace } from "@headroom/sim";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { servingVariant } from "../serving/serving-variants.ts";
import { loadTraffic } from "../serving/traffic-source.ts";
import { positiveDuration, significant } from "../size/quantities.ts";
import { settings, wholeNumber } from "./amount-options.ts";
import { ProgressLine } from "./progress-line.ts";

const keys = "name traffic model accelerator tp weights min max ttft tpot cold-start priority".split(" ");
const endpointsMax = 64;
const replicasMax = 1024;
/** Number of steps of 5 s between two checks of Ctrl-C. */
const stepsPerTurn = 200;

export interface SharedRun {
  readonly fleet: FleetSpec;
  readonly trace: Trace;
  readonly policy: Policy;
  readonly endpoints: readonly string[];
  readonly skipBroken: boolean;
}

/** JSON output of one policy. */
export interface SharedReport extends SharedFleetResult {
  readonly policy: string;
  readonly wall_s: number;
}

export async function runShared(context: CommandContext, run: SharedRun): Promise<SharedReport> {
  const { SharedFleetSimulation } = await import("@headroom/autoscale");
  const { terminal } = context;
  if (run.endpoints.length > endpointsMax) throw new CliError(`--endpoint: at most ${endpointsMax}`, exitCode.usage);
  const endpoints: SharedEndpoint[] = [];
  for (const text of run.endpoints) endpoints.push(await endpointOf(text, run, terminal.workingDirectory));
  const repeated = endpoints.find(({ name }, index) => endpoints.findIndex((each) => each.name === name) !== index);
  if (repeated !== undefined)
    throw new CliError(`--endpoint: ${repeated.name} is declared twice; give each a name=…`, exitCode.usage);
  const begin = run.trace.jobs[0]?.submittedAtMs ?? 0;
  const jobs = run.trace.jobs.map((job) => ({ ...job, submittedAtMs: job.submittedAtMs - begin }));
  const startedAtNs = process.hrtime.bigint();
  const simulation = new SharedFleetSimulation({ fleet: run.fleet, policy: run.policy, jobs, endpoints });
  const progress = new ProgressLine(terminal.stderr);
  while (!simulation.advance(stepsPerTurn)) {
    progress.show(`${run.policy.name}: ${Math.floor(simulation.progress * 100)}% of the time`);
    await setImmediate();
    if (terminal.interrupted.aborted) throw new CliError("interrupted", exitCode.interrupted);
  }
  progress.clear();
  const wallS = Number(process.hrtime.bigint() - startedAtNs) / 1e9;
  return { policy: run.policy.name, ...simulation.result(), wall_s: Math.round(wallS * 1000) / 1000 };
}

async function endpointOf(text: string, run: SharedRun, workingDirectory: string): Promise<SharedEndpoint> {
  const [perf, sim, { lengthProblem, tickTraffic }] = await Promise.all([
    import("@headroom/perf"),
    import("@headroom/sim"),
    import("@headroom/autoscale"),
  ]);
  const found = settings(text, "--endpoint", keys);
  const source = found.get("traffic");
  if (source === undefined) throw new CliError("--endpoint: traffic=FORMAT:FILE is missing", exitCode.usage);
  const { trace } = loadTraffic(sim, source, { workingDirectory, skipBroken: run.skipBroken });
  const tooLong = lengthProblem(trace);
  if (tooLong !== null) throw new CliError(`--endpoint: ${source}: ${tooLong}`);
  const slo = {
    ttftMs: positiveDuration(found.get("ttft") ?? "2s", "--endpoint: ttft"),
    tpotMs: positiveDuration(found.get("tpot") ?? "100ms", "--endpoint: tpot"),
  };
  const choices = {
    model: found.get("model") ?? "llama-3-8b",
    accelerator: found.get("accelerator") ?? "H100",
    replicas: "1",
    weights: found.get("weights") ?? "bf16",
    kv: "",
    tensor: found.get("tp") ?? "1",
    sequences: "256",
    stepTokens: "1024",
    router: "least-work",
    store: "",
    coldStart: "",
    loadTime: "0s",
  };
  const setting = { perf, trace, isImages: false, slo, seed: 1, frontEndMs: perf.frontEndMs };
  const { groups } = await servingVariant("endpoint", choices, setting);
  const [group] = groups;
  if (group === undefined) throw new RangeError("an endpoint has one group of replicas");
  const bounds = { min: 0, max: replicasMax };
  const min = wholeNumber(found.get("min") ?? "1", "--endpoint: min", bounds);
  const max = wholeNumber(found.get("max") ?? "64", "--endpoint: max", { ...bounds, min: Math.max(1, min) });
  return {
    name: found.get("name") ?? "endpoint",
    traffic: tickTraffic(trace),
    group,
    slo,
    bounds: { min, max },
    coldStartMs: positiveDuration(found.get("cold-start") ?? "60s", "--endpoint: cold-start"),
    priority: wholeNumber(found.get("priority") ?? "0", "--endpoint: priority", { min: 0, max: 1000 }),
  };
}

export function sharedLines({ terminal, paint }: CommandContext, reports: readonly SharedReport[]): string[] {
  return reports.flatMap((report) => {
    const rows = report.endpoints.map((each) => [
      each.endpoint,
      String(each.requests),
      `${each.attainment_pct.toFixed(2)}%`,
      significant(each.accelerator_hours),
      String(each.replicas_max),
      significant(each.missing_accelerator_hours),
    ]);
    const titles = ["endpoint", "requests", "in time", "accelerator-hours", "most replicas", "hours without a place"];
    return [
      `${report.policy}: ${report.utilization_pct.toFixed(1)}% of the fleet used`,
      ...tableLines(
        titles.map((title) => ({ title })),
        rows,
        terminal.stdout,
        paint,
      ),
      `training: ${report.jobs_started} of ${report.jobs} jobs started, ${report.jobs_ended} ended, mean wait ${significant(report.mean_wait_s)} s, ${significant(report.training_accelerator_hours)} accelerator-hours`,
    ];
  });
}
