import { presets } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { generateTrace } from "../trace/generate.ts";
import { uniformFleet } from "./fleet-spec.ts";
import { simulate, TraceSimulation } from "./simulate.ts";
import type { TraceInputs } from "./trace-inputs.ts";

const trace = generateTrace({
  seed: 1,
  jobs: 5_000,
  accelerators: 512,
  load: 0.7,
  gangs: [
    { accelerators: 1, weight: 60 },
    { accelerators: 2, weight: 20 },
    { accelerators: 4, weight: 10 },
    { accelerators: 8, weight: 10 },
  ],
  durationMinS: 600,
  durationMaxS: 20_000,
});
const fleet = uniformFleet({ nodeCount: 64, acceleratorsPerNode: 8 });
const inputs: TraceInputs = {
  seed: 1,
  datasetCount: 60,
  datasetMib: 40 * 1024,
  nodeCacheMib: 200 * 1024,
  mibPerSecond: 2048,
  isReported: true,
};
const options = { trace, fleet, policy: presets.get("default")!, faults: null, startupMs: 0 };

describe("simulated jobs that read data sets", () => {
  it("need at most half of the transfers if placement knows the caches, and wait no longer", () => {
    const known = simulate({ ...options, inputs });
    const blind = simulate({ ...options, inputs: { ...inputs, isReported: false } });
    expect(blind.staging?.transfers).toBeGreaterThan(1_000);
    expect((known.staging?.transfers ?? 0) * 2).toBeLessThanOrEqual(blind.staging?.transfers ?? 0);
    expect(known.mean_wait_s).toBeLessThanOrEqual(blind.mean_wait_s);
    expect([known.jobs, blind.jobs]).toEqual([5_000, 5_000]);
  });

  it("wait for the bytes that their node lacks, and a fork continues like the original", () => {
    const one = { ...trace, jobs: trace.jobs.slice(0, 1) };
    expect(simulate({ ...options, trace: one, inputs }).mean_wait_s).toBe(20);
    const run = new TraceSimulation({ ...options, trace: { ...trace, jobs: trace.jobs.slice(0, 300) }, inputs });
    run.advance(200);
    const fork = run.fork();
    while (!fork.advance(10_000));
    while (!run.advance(10_000));
    expect(fork.result()).toEqual(run.result());
  });
});
