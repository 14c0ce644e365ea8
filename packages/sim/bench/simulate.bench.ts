/**
 * Measures the speed of the simulator, engine, hash chain and digest included. Generated traces of 100,000 and 200,000
 * jobs run on 512 accelerators at an offered load of 1.2, under each preset of the reference. Both sizes alternate in
 * one process, so that they run on the machine in the same condition; the median counts. Prints JSON:
 * `journal_events_per_s` and the ratio of the two rates.
 */
import { availableParallelism, cpus, loadavg } from "node:os";
import { presets } from "@headroom/model";
import {
  generateTrace,
  simulate,
  topologyFreePool,
  usualDurations,
  usualGangs,
  type SimulationResult,
  type Trace,
} from "@headroom/sim";

const accelerators = 512;
const load = 1.2;
const [jobsArgument = "100000", roundsArgument = "5"] = process.argv.slice(2);
const jobs = Number(jobsArgument);
const rounds = Number(roundsArgument);

const traces = [jobs, 2 * jobs].map((count) =>
  generateTrace({ seed: 1, jobs: count, accelerators, load, gangs: usualGangs, ...usualDurations }),
);

interface Measured {
  readonly result: SimulationResult;
  readonly eventsPerSecond: number;
  /**
   * Events per second of CPU time, garbage collection included. CPU time does not depend on other load on the machine.
   */
  readonly eventsPerCpuSecond: number;
}

function measure(trace: Trace, policy: string): Measured {
  const startedAt = process.hrtime.bigint();
  const cpuBefore = process.cpuUsage();
  const result = simulate({
    trace,
    fleet: topologyFreePool(accelerators),
    policy: presets.get(policy)!,
    faults: null,
    startupMs: 0,
  });
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
  const cpu = process.cpuUsage(cpuBefore);
  const cpuSeconds = (cpu.user + cpu.system) / 1e6;
  const events = result.journal_events;
  return { result, eventsPerSecond: events / seconds, eventsPerCpuSecond: events / cpuSeconds };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

function bench(policy: string): Record<string, unknown> {
  const measured: [Measured[], Measured[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    for (const size of [0, 1] as const) {
      const run = measure(traces[size]!, policy);
      // The first round only warms up the compiler and is not counted.
      if (round > 0) measured[size].push(run);
    }
  }
  const rates = measured.map((runs) => runs.map((run) => run.eventsPerSecond));
  const [single, double] = rates.map(median) as [number, number];
  const first = measured[0][0]!.result;
  return {
    policy,
    jobs,
    journal_events: first.journal_events,
    journal_events_per_s: Math.round(single),
    journal_events_per_s_at_twice_the_jobs: Math.round(double),
    journal_events_per_cpu_s: measured.map((runs) => Math.round(median(runs.map((run) => run.eventsPerCpuSecond)))),
    rate_ratio: Math.round((double / single) * 1000) / 1000,
    spread: rates.map((all) => [Math.round(Math.min(...all)), Math.round(Math.max(...all))]),
    mean_wait_s: first.mean_wait_s,
    utilisation: first.utilisation,
    digest: first.digest,
  };
}

const results = ["fifo", "fifo-skip", "sjf"].map(bench);
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism(), load: loadavg() };
process.stdout.write(`${JSON.stringify({ machine, accelerators, offered_load: load, rounds, results }, null, 2)}\n`);
