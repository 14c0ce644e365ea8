/**
 * Measures the time of start estimates for 10,000 pending workloads on 1,000 nodes of eight accelerators, with 1,000
 * ended workloads to learn from. The time includes the live engine's snapshot, the forks and the forward runs. A second
 * case has arrays of many tasks, with work behind them. Prints JSON.
 */
import { availableParallelism, cpus, loadavg } from "node:os";
import { commandId, presets } from "@headroom/model";
import type { Input, WorkloadSpec } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import {
  estimateStarts,
  generateTrace,
  specOf,
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

/**
 * A state with a thousand ended workloads, and with `pendingCount` more workloads than the fleet holds, all submitted
 * at one instant.
 */
function burst(policy: string): Live {
  const past = work(1, 1000, 0.5);
  const atMs = past.reduce((end, job) => Math.max(end, job.submittedAtMs + job.durationMs), 0) + 1000;
  const queued = work(2, 2 * pendingCount, 0.5).map((job) => ({ ...job, submittedAtMs: atMs }));
  const running = queued.findIndex((_, index) => heldBy(queued.slice(0, index + 1)) > accelerators);
  const jobs = [...past, ...queued.slice(0, running + pendingCount)];
  const fleet = uniformFleet({ nodeCount, acceleratorsPerNode });
  const simulation = traceStarts({ jobs, fleet, policy: presets.get(policy)! });
  simulation.advance({ untilMs: atMs, maxRounds: 1_000_000 });
  return { engine: simulation.engine, nowMs: atMs };
}

function heldBy(jobs: readonly TraceJob[]): number {
  return jobs.reduce((sum, job) => sum + job.accelerators, 0);
}

interface Live {
  readonly engine: Engine;
  readonly nowMs: number;
}

/** A state in which the tasks of the first array fill the fleet; further arrays and ten single workloads wait. */
function arrays(policy: string, taskCounts: readonly number[]): Live {
  const fleet = uniformFleet({ nodeCount, acceleratorsPerNode });
  const { engine, nowMs } = traceStarts({ jobs: [], fleet, policy: presets.get(policy)! });
  const [job] = work(1, 1, 0.5);
  const base = specOf({ ...job!, accelerators: 1 }, 0);
  const give = (inputs: readonly Input[]): void => {
    engine.receive(inputs, nowMs);
    engine.advance();
  };
  const specs = [
    ...taskCounts.map((taskCount): WorkloadSpec => ({ ...base, kind: "batch", taskCount })),
    ...Array.from({ length: 10 }, () => base),
  ];
  give(
    specs.map((spec, index) => ({
      kind: "submitWorkload",
      commandId: commandId(`c${index}`),
      actor: "bench",
      idempotencyKey: null,
      spec,
    })),
  );
  give([...engine.state.attempts.keys()].map((attemptId) => ({ kind: "attemptRunning", attemptId })));
  return { engine, nowMs };
}

function bench(name: string, policy: string, { engine, nowMs }: Live): Record<string, unknown> {
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
    name,
    policy,
    pending: estimates.length,
    running: engine.state.attempts.size,
    cut: estimates.filter(({ playedUntilMs }) => playedUntilMs !== undefined).length,
    estimated: estimates.filter(({ p50AtMs }) => p50AtMs !== null).length,
    scenarios: because?.scenarioCount,
    arrivals_replayed: because?.arrivalsReplayed,
    seconds: median(times.filter((_, index) => index % 2 === 1)),
    cpu_seconds: median(times.filter((_, index) => index % 2 === 0)),
    rounds,
  };
}

const manyTasks = [acceleratorsPerNode * nodeCount, 10_000, 10_000, 10_000, 10_000];
const results = ["default", "fifo"].flatMap((policy) => [
  bench("10,000 workloads", policy, burst(policy)),
  bench("40,000 tasks", policy, arrays(policy, manyTasks)),
  bench("1,000,000 tasks", policy, arrays(policy, [1_000_000 + acceleratorsPerNode * nodeCount])),
]);
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism(), load: loadavg() };
process.stdout.write(`${JSON.stringify({ machine, results }, null, 2)}\n`);
