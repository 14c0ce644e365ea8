/**
 * How long start estimates for all of 10,000 pending workloads take, on 1,000 nodes of eight accelerators with 1,000 ended
 * workloads to learn from: the live engine's snapshot, the forks and the forward runs included. Prints JSON.
 */
import { availableParallelism, cpus, loadavg } from "node:os";
import { presets, type Engine } from "@headroom/engine";
import {
  estimateStarts,
  generateTrace,
  traceStarts,
  uniformFleet,
  usualEstimateOptions,
  type TraceJob,
} from "@headroom/sim";

const pendingCount = 10_000;
const [roundsArgument = "5"] = process.argv.slice(2);
const rounds = Number(roundsArgument);
const nodeCount = 1000;
const acceleratorsPerNode = 8;
const accelerators = nodeCount * acceleratorsPerNode;

function work(seed: number, jobs: number, load: number): readonly TraceJob[] {
  const gangs = [
    { accelerators: 1, weight: 55 },
    { accelerators: 2, weight: 15 },
    { accelerators: 4, weight: 15 },
    { accelerators: 8, weight: 15 },
  ];
  return generateTrace({ seed, jobs, accelerators, load, gangs, durationMinS: 600, durationMaxS: 100_000 }).jobs;
}

/** A thousand that came and went, then at one instant more than the fleet holds by `pendingCount`. */
function liveState(policy: string): { readonly engine: Engine; readonly nowMs: number } {
  const past = work(1, 1000, 0.5);
  const atMs = past.reduce((end, job) => Math.max(end, job.submittedAtMs + job.durationMs), 0) + 1000;
  const burst = work(2, 2 * pendingCount, 0.5).map((job) => ({ ...job, submittedAtMs: atMs }));
  const running = burst.findIndex((_, index) => heldBy(burst.slice(0, index + 1)) > accelerators);
  const jobs = [...past, ...burst.slice(0, running + pendingCount)];
  const fleet = uniformFleet({ nodeCount, acceleratorsPerNode });
  const simulation = traceStarts({ jobs, fleet, policy: presets.get(policy)! });
  simulation.advance({ untilMs: atMs, maxRounds: 1_000_000 });
  return { engine: simulation.engine, nowMs: atMs };
}

function heldBy(jobs: readonly TraceJob[]): number {
  return jobs.reduce((sum, job) => sum + job.accelerators, 0);
}

function bench(policy: string): Record<string, unknown> {
  const { engine, nowMs } = liveState(policy);
  const times: number[] = [];
  let estimates = estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null });
  for (let round = 0; round < rounds; round++) {
    const startedAt = process.hrtime.bigint();
    const cpu = process.cpuUsage();
    estimates = estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null });
    const { user, system } = process.cpuUsage(cpu);
    times.push((user + system) / 1e6, Number(process.hrtime.bigint() - startedAt) / 1e9);
  }
  const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
  const because = estimates[0]?.because;
  return {
    policy,
    pending: estimates.length,
    running: engine.state.attempts.size,
    estimated: estimates.filter(({ p50AtMs }) => p50AtMs !== null).length,
    scenarios: because?.scenarioCount,
    arrivals_replayed: because?.arrivalsReplayed,
    seconds: median(times.filter((_, index) => index % 2 === 1)),
    cpu_seconds: median(times.filter((_, index) => index % 2 === 0)),
    rounds,
  };
}

const results = ["default", "fifo"].map(bench);
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism(), load: loadavg() };
process.stdout.write(`${JSON.stringify({ machine, results }, null, 2)}\n`);
