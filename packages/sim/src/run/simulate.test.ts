import { presets } from "@headroom/model";
import { describe, expect, it } from "vitest";
import type { FaultOptions } from "../faults/fault-plan.ts";
import type { SimulationResult } from "../metrics/result.ts";
import { generateTrace, usualGangs } from "../trace/generate.ts";
import type { Trace } from "../trace/trace.ts";
import { topologyFreePool, uniformFleet, type FleetSpec } from "./fleet-spec.ts";
import { simulate, TraceSimulation, type TraceSimulationOptions, type TraceWalltimes } from "./simulate.ts";

function trace(rows: readonly (readonly [submittedS: number, durationS: number, accelerators: number])[]): Trace {
  const jobs = rows.map(([submittedS, durationS, accelerators], index) => ({
    id: `job-${index}`,
    submittedAtMs: submittedS * 1000,
    durationMs: durationS * 1000,
    accelerators,
    coresMilli: 0,
    memoryMib: 0,
    acceleratorTypes: [],
  }));
  return { jobs, fleet: null };
}

function run(of: Trace, change: Partial<TraceSimulationOptions> = {}): SimulationResult {
  const fleet = topologyFreePool(4);
  return simulate({ trace: of, fleet, policy: presets.get("fifo")!, faults: null, startupMs: 0, ...change });
}

const busy = generateTrace({
  seed: 3,
  jobs: 300,
  accelerators: 32,
  load: 0.8,
  gangs: usualGangs.slice(0, 4),
  durationMinS: 60,
  durationMaxS: 5000,
});
const nodes: FleetSpec = uniformFleet({ nodeCount: 4, acceleratorsPerNode: 8 });
const faults: FaultOptions = {
  seed: 5,
  nodeMeanUpMs: 3_600_000,
  nodeMeanDownMs: 600_000,
  attemptFailuresPer10000: 1000,
};

describe("a simulated trace", () => {
  it("gives waits, completions and utilisation by hand", () => {
    // The pool has 4 GPUs. The first job uses 3 of them until 10, the second (2 GPUs) waits for it, and the third (1
    // GPU) waits behind the second.
    const result = run(
      trace([
        [0, 10, 3],
        [2, 5, 2],
        [3, 7, 1],
      ]),
    );
    expect([result.jobs, result.max_wait_s, result.makespan_s]).toEqual([3, 8, 17]);
    expect(result.mean_wait_s).toBe(5);
    expect(result.mean_completion_s).toBe(12.3);
    expect(result.utilisation).toBe(0.6912);
    expect(result.wait_by_gang.map(({ gpus, mean_wait_s }) => [gpus, mean_wait_s])).toEqual([
      [1, 7],
      [2, 8],
      [3, 0],
    ]);
  });

  it("counts the startup as waiting and keeps walltimes from cutting jobs short", () => {
    const result = run(
      trace([
        [0, 10, 4],
        [0, 10, 4],
      ]),
      { startupMs: 2000 },
    );
    expect([result.max_wait_s, result.mean_completion_s, result.failed_jobs]).toEqual([14, 18, 0]);
  });

  it("takes work to say that it runs as long as it does, as the trace states, or so many times as long; nothing is cut short", () => {
    const policy = presets.get("easy")!;
    // The second job starts at 10. The third can run before that if its stated run time is 6.
    const rows = trace([
      [0, 10, 3],
      [1, 10, 4],
      [2, 6, 1],
    ]);
    const saying = (...walltimesS: readonly number[]): Trace => ({
      ...rows,
      jobs: rows.jobs.map((job, index) => ({ ...job, walltimeMs: (walltimesS[index] ?? 0) * 1000 })),
    });
    const waits = (of: Trace, walltimes: TraceWalltimes): number => run(of, { policy, walltimes }).mean_wait_s;
    const stated = { kind: "stated" } as const;
    expect(waits(saying(10, 10, 60), { kind: "actual" })).toBe(3);
    expect(waits(saying(10, 10, 60), stated)).toBe(9);
    expect(waits(saying(5, 5, 5), stated)).toBe(3);
    // All stated walltimes are too long. They delay the protected start by more than the third job's stated run time,
    // so the third job fits before it.
    expect(waits(rows, { kind: "times", factor: 5 })).toBe(3);
    // Without walltimes all jobs are assumed to run for a day, so the third job would delay the protected start.
    expect(waits(rows, stated)).toBe(9);
  });

  it("predicts by what ran before, where walltimes are too long", () => {
    const easy = presets.get("easy")!;
    const policy = { ...easy, backfill: { ...easy.backfill!, predictFrom: 2 } };
    // Two jobs of one accelerator ran for 6 before the other jobs arrive, so 6 is the prediction for jobs of one
    // accelerator, and the last job fits before the fourth.
    const rows = trace([
      [0, 6, 1],
      [0, 6, 1],
      [20, 10, 3],
      [20, 10, 4],
      [20, 6, 1],
    ]);
    const jobs = rows.jobs.map((job) => ({ ...job, walltimeMs: job.accelerators === 1 ? 60_000 : job.durationMs }));
    const said = { jobs, fleet: null };
    const walltimes = { kind: "stated" } as const;
    expect(run(said, { policy: easy, walltimes }).max_wait_s).toBe(20);
    expect(run(said, { policy, walltimes }).max_wait_s).toBe(10);
  });

  it("refuses what is larger than the pool and goes on without it", () => {
    const result = run(
      trace([
        [0, 10, 5],
        [1, 10, 4],
      ]),
    );
    expect([result.rejected_larger_than_pool, result.jobs, result.makespan_s]).toEqual([1, 1, 10]);
  });

  it("keeps a bounded series however long the run is", () => {
    const { series } = run(busy, { fleet: nodes });
    expect(series.utilisation.length).toBeLessThanOrEqual(512);
    expect(series.utilisation.length).toBe(series.waiting.length);
    expect(Math.max(...series.utilisation)).toBeLessThanOrEqual(1);
  });
});

describe("a simulated trace under faults", () => {
  it("loses attempts and finishes all the same", () => {
    const calm = run(busy, { fleet: nodes });
    const troubled = run(busy, { fleet: nodes, faults });
    expect(calm.attempts).toBe(300);
    expect(troubled.attempts).toBeGreaterThan(330);
    expect(troubled.jobs + troubled.failed_jobs).toBe(300);
    expect(troubled.mean_completion_s).toBeGreaterThan(calm.mean_completion_s);
  });

  it("comes out the same every time, and otherwise with another seed", () => {
    expect(run(busy, { fleet: nodes, faults })).toEqual(run(busy, { fleet: nodes, faults }));
    const other = run(busy, { fleet: nodes, faults: { ...faults, seed: 6 } });
    expect(other.chain).not.toBe(run(busy, { fleet: nodes, faults }).chain);
  });

  it("loses less work where it is told beforehand which nodes go", () => {
    const frail = { ...faults, nodeMeanUpMs: 4_000_000, attemptFailuresPer10000: 0 };
    const options = { fleet: nodes, policy: presets.get("default")! };
    const surprised = run(busy, { ...options, faults: frail });
    const told = run(busy, { ...options, faults: { ...frail, nodeNoticeMs: 3_600_000 } });
    expect(told.jobs).toBe(surprised.jobs);
    expect(told.attempts).toBeLessThan(surprised.attempts);
  });

  it("ends although nodes would fail for ever, with what never fits counted", () => {
    const result = run(
      trace([
        [0, 100, 4],
        [0, 100, 5],
      ]),
      { faults: { ...faults, attemptFailuresPer10000: 0 } },
    );
    expect([result.jobs, result.rejected_larger_than_pool, result.unfinished_jobs]).toEqual([1, 1, 0]);
  });
});

describe("a fork", () => {
  it("ends as its origin does, wherever it is taken", () => {
    const options = { trace: busy, fleet: nodes, policy: presets.get("default")!, faults, startupMs: 1500 };
    const whole = simulate(options);
    for (const rounds of [0, 1, 57, 300, 999]) {
      const origin = new TraceSimulation(options);
      origin.advance(rounds);
      const fork = origin.fork();
      while (!fork.advance(100));
      expect({ ...fork.result(), rounds: 0 }).toEqual({ ...whole, rounds: 0 });
      while (!origin.advance(100));
      expect(origin.result()).toEqual(whole);
    }
  });
});
