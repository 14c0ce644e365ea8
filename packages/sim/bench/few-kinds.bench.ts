/**
 * Checks that the default policy places work at least as well as the packing policy when there are few kinds of
 * requests. Generated traces of 4,000 jobs, with one core for each accelerator, run on 16 nodes of eight accelerators
 * under both policies. Prints one JSON line for each mix and load, with mean waits over three seeds.
 */
import { presets } from "@headroom/model";
import type { Policy } from "@headroom/model";
import { generateTrace, simulate, uniformFleet } from "@headroom/sim";
import type { FleetSpec, Trace } from "@headroom/sim";

/** Weights of jobs by their number of accelerators. */
const mixes: Readonly<Record<string, Readonly<Record<number, number>>>> = {
  "95% single, 5% of eight": { 1: 95, 8: 5 },
  "ones to eights": { 1: 55, 2: 12, 4: 12, 8: 14 },
  "ones to fours": { 1: 60, 2: 20, 4: 20 },
  "fours and eights": { 4: 80, 8: 20 },
};
const loads = [0.7, 0.85];
const seeds = [1, 2, 3];
const balanced = presets.get("default") as Policy;
const policies = { balanced, pack: { ...balanced, placement: "pack" } } as const;

const plain = uniformFleet({ nodeCount: 16, acceleratorsPerNode: 8 });
const fleet: FleetSpec = { ...plain, nodes: plain.nodes.map((node) => ({ ...node, coresMilli: 96_000 })) };

function traceOf(mix: Readonly<Record<number, number>>, load: number, seed: number): Trace {
  const gangs = Object.entries(mix).map(([accelerators, weight]) => ({ accelerators: Number(accelerators), weight }));
  const options = { jobs: 4000, accelerators: 128, durationMinS: 600, durationMaxS: 40_000 };
  const trace = generateTrace({ seed, load, gangs, ...options });
  return { ...trace, jobs: trace.jobs.map((job) => ({ ...job, coresMilli: 1000 * job.accelerators })) };
}

function meanWaitS(policy: Policy, traces: readonly Trace[]): number {
  const waits = traces.map((trace) => simulate({ trace, fleet, policy, faults: null, startupMs: 0 }).mean_wait_s);
  return Math.round(waits.reduce((sum, wait) => sum + wait, 0) / waits.length);
}

for (const [mix, weights] of Object.entries(mixes))
  for (const load of loads) {
    const traces = seeds.map((seed) => traceOf(weights, load, seed));
    const waits = { balanced: meanWaitS(policies.balanced, traces), pack: meanWaitS(policies.pack, traces) };
    process.stdout.write(`${JSON.stringify({ mix, load, mean_wait_s: waits })}\n`);
  }
