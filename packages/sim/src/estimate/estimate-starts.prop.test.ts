import { commandId, presetNames, presets, workloadId } from "@headroom/model";
import type { Input, WorkloadId } from "@headroom/model";
import { forkEngine, restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { sliceOf, someOf } from "../../../../tools/testing/rotating.ts";
import { topologyFreePool } from "../run/fleet-spec.ts";
import type { Simulation } from "../run/simulation.ts";
import { generateTrace } from "../trace/generate.ts";
import type { TraceJob } from "../trace/trace.ts";
import { estimateStarts, usualEstimateOptions, type StartEstimate } from "./estimate-starts.ts";
import { forwardStarts, type ForwardArrival } from "./forward-run.ts";
import { jobOf, specOf, traceStarts, type StartLedger } from "./trace-starts.ts";

const accelerators = 16;
const fleet = topologyFreePool(accelerators);

function jobsOf(rows: readonly (readonly [submittedS: number, durationS: number, size: number])[]): TraceJob[] {
  return rows.map(([submittedS, durationS, size], index) => ({
    id: `job-${index}`,
    submittedAtMs: submittedS * 1000,
    durationMs: durationS * 1000,
    accelerators: size,
    coresMilli: 0,
    memoryMib: 0,
    acceleratorTypes: [],
  }));
}

const busy = generateTrace({
  seed: 11,
  jobs: 250,
  accelerators,
  load: 1.3,
  gangs: [
    { accelerators: 1, weight: 4 },
    { accelerators: 4, weight: 2 },
    { accelerators: 12, weight: 1 },
  ],
  durationMinS: 60,
  durationMaxS: 20_000,
}).jobs;

function after(rounds: number, jobs: readonly TraceJob[], policy: string): Simulation<StartLedger> {
  const simulation = traceStarts({ jobs, fleet, policy: presets.get(policy)! });
  for (let round = 0; round < rounds && simulation.step(); round++);
  return simulation;
}

function estimates(engine: Engine, nowMs: number): readonly StartEstimate[] {
  return estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null });
}

const waitingIn = ({ engine }: Simulation<StartLedger>): WorkloadId[] =>
  [...engine.state.workloads.values()].filter(({ phase }) => phase === "pending").map(({ id }) => id);

/** Future jobs of the trace, as the input of a forward run. */
function* rest(simulation: Simulation<StartLedger>, jobs: readonly TraceJob[]): Generator<ForwardArrival> {
  for (let index = simulation.scriptedCount; index < jobs.length; index++) {
    yield {
      atMs: jobs[index]!.submittedAtMs,
      actor: "someone",
      spec: specOf(jobs[index]!, index),
      like: workloadId(`job ${index}`),
    };
  }
}

const upTo = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/** Rounds after which the forward run begins. */
const ROUNDS = [40, 150, 300, 450];

describe("a forward run that knows everything", () => {
  it.each(presetNames)("starts what waits exactly when the simulation does, under %s", (policy) => {
    let compared = 0;
    for (const rounds of someOf(ROUNDS, { parts: 4, suiteParts: 1 })) {
      const simulation = after(rounds, busy, policy);
      const { engine, nowMs } = simulation;
      const nameOf = new Map([...engine.state.workloads.values()].map(({ id, spec }) => [id, spec]));
      const job = (id: WorkloadId): number =>
        nameOf.has(id) ? jobOf({ spec: nameOf.get(id)! }) : Number(id.slice("job ".length));
      const targets = new Set(waitingIn(simulation));
      const [forked, restored] = [forkEngine(engine), restoreEngine(engine.snapshot())].map((future) =>
        forwardStarts({
          engine: future,
          nowMs,
          horizonMs: Number.MAX_SAFE_INTEGER - nowMs,
          grain: 0,
          stepsMax: 1_000_000,
          targets,
          scenario: { durationMs: (id) => busy[job(id)]!.durationMs, arrivals: rest(simulation, busy) },
        }),
      );
      // A restored engine with waiting work assumes that the last round was cut: it may begin with one more round.
      const { stepCount, ...play } = restored!;
      expect(forked).toEqual({ ...play, stepCount: expect.any(Number) });
      expect([0, targets.size > 0 ? 1 : 0]).toContain(stepCount - forked!.stepCount);
      while (simulation.step());
      for (const id of targets) {
        expect(forked!.starts.get(id)?.atMs ?? -1).toBe(simulation.observer.startedAtMs[job(id)]);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(sliceOf({ size: 4, parts: 4, suiteParts: 1 }).least(50));
  });
});

describe("start estimates", () => {
  it("know only finished work: neither what runs or waits really takes nor what is yet to come changes any", () => {
    for (const policy of ["default", "fifo"]) {
      const original = after(300, busy, policy);
      const { nowMs } = original;
      const { startedAtMs } = original.observer;
      const altered = busy.map((job, index) => {
        const startMs = startedAtMs[index]!;
        const hasEnded = startMs >= 0 && startMs + job.durationMs <= nowMs;
        const isToCome = index >= original.scriptedCount;
        if (hasEnded) return job;
        const durationMs = (startMs < 0 ? 0 : nowMs - startMs) + 1000 * (1 + ((index * 7919) % 40_000));
        return { ...job, durationMs, submittedAtMs: isToCome ? job.submittedAtMs + 5_000_000 : job.submittedAtMs };
      });
      const other = traceStarts({ jobs: altered, fleet, policy: presets.get(policy)! });
      other.advance({ untilMs: nowMs, maxRounds: 1_000_000 });
      expect(other.engine.digest()).toBe(original.engine.digest());
      const found = estimates(original.engine, nowMs);
      expect(found.length).toBeGreaterThan(10);
      expect(estimates(other.engine, nowMs)).toEqual(found);
    }
  });

  it("leave the live engine as it was, come out the same again, and lie in order from the present on", () => {
    const { engine, nowMs } = after(300, busy, "default");
    const before = engine.digest();
    const found = estimates(engine, nowMs);
    expect(engine.digest()).toBe(before);
    expect(estimates(engine, nowMs)).toEqual(found);
    for (const { p10AtMs, p50AtMs, p90AtMs } of found) {
      expect(p10AtMs).toBeGreaterThan(nowMs);
      expect(p50AtMs).toBeGreaterThanOrEqual(p10AtMs!);
      expect(p90AtMs ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(p50AtMs!);
    }
  });

  it("follow from a queue of known work by counting", () => {
    // One sweep of sixteen jobs that took 1,000 s each, then forty similar jobs. Together they need two and a half
    // times the pool.
    const known = Array.from({ length: 16 }, (): [number, number, number] => [0, 1000, 1]);
    const queued = Array.from({ length: 40 }, (_, index): [number, number, number] => [5000 + index, 1000, 1]);
    const simulation = traceStarts({ jobs: jobsOf([...known, ...queued]), fleet, policy: presets.get("fifo")! });
    simulation.advance({ untilMs: 5_100_000, maxRounds: 1000 });
    const found = estimates(simulation.engine, 5_100_000);
    expect(found.length).toBe(24);
    for (const [index, { p50AtMs, because }] of found.entries()) {
      const round = index < 16 ? 6_008_000 : 7_008_000;
      expect(Math.abs(p50AtMs! - round)).toBeLessThan(200_000);
      expect(because.startsBefore).toBe(index);
      expect(because.endsBefore).toBeGreaterThan(index);
      expect(because.arrivalsReplayed).toBe(false);
    }
  });

  it("say nothing of a time for what never starts", () => {
    const engine = after(1, jobsOf([[0, 100, 1]]), "default").engine;
    engine.receive(
      [
        {
          kind: "submitWorkload",
          commandId: "large" as never,
          actor: "test",
          idempotencyKey: null,
          spec: specOf(jobsOf([[0, 100, 99]])[0]!, 1),
        },
      ],
      1000,
    );
    engine.advance();
    const found = estimates(engine, 1000);
    expect(found.map(({ p10AtMs, p50AtMs, p90AtMs }) => [p10AtMs, p50AtMs, p90AtMs])).toEqual([[null, null, null]]);
    expect(found[0]!.because.startedCount).toBe(0);
  });

  it("count on more of the work that keeps passing what waits", () => {
    // For two days small jobs arrive as fast as others end. From time to time a job that needs the whole pool waits
    // behind them.
    const small = Array.from({ length: 1200 }, (_, index): [number, number, number] => [index * 150, 1800, 1]);
    const jobs = jobsOf([...small, [100_000, 500, 16] as const, [170_000, 500, 16] as const]).toSorted(
      (left, right) => left.submittedAtMs - right.submittedAtMs,
    );
    const simulation = traceStarts({ jobs, fleet, policy: presets.get("fifo-skip")! });
    simulation.advance({ untilMs: 170_000_000, maxRounds: 100_000 });
    const [large] = estimates(simulation.engine, 170_000_000).slice(-1);
    expect(large!.because.arrivalsReplayed).toBe(true);
    // Without further arrivals the large job would start when running work has ended, within 1,800 s.
    expect(large!.p50AtMs! - 170_000_000).toBeGreaterThan(2_000_000);
  });

  it("know work that a schedule submits meanwhile: it lasts as such work did, within its walltime", () => {
    const engine = after(1, jobsOf([[0, 100, 1]]), "fifo-skip").engine;
    const command = { commandId: "c" as never, actor: "test", idempotencyKey: null };
    const days = { daysOfMonth: upTo(1, 31), months: upTo(1, 12), daysOfWeek: upTo(0, 6) };
    const whole = { ...specOf(jobsOf([[0, 1, 16]])[0]!, 1), walltimeMs: 20 * 3_600_000 };
    const spec = { ...specOf(jobsOf([[0, 1, 1]])[0]!, 2), name: "nightly", walltimeMs: 1000 };
    const times = { minutes: upTo(0, 59), hours: upTo(0, 23), ...days };
    const schedules = [{ name: "nightly", spec, times, concurrency: "forbid" }] as const;
    const inputs: Input[] = [
      { ...command, kind: "apply", sites: [], pools: [], teams: [], workloads: [], schedules },
      ...[1, 2, 3].map((): Input => ({ ...command, kind: "submitWorkload", spec: whole })),
    ];
    engine.receive(inputs, 1000);
    engine.advance();
    const found = estimates(engine, 1000);
    expect(found).toHaveLength(3);
    for (const { because } of found) expect(because.startedCount).toBeGreaterThan(0);
    // Later runs of the schedule pass waiting work.
    expect(found[2]!.because.startsBefore).toBeGreaterThan(2);
    expect(estimates(engine, 1000)).toEqual(found);
    expect(found[2]!.p10AtMs!).toBeGreaterThan(found[0]!.p10AtMs!);
  });

  it("tell no instant of what lies behind more tasks than are played, but until when it does not start", () => {
    const engine = after(1, jobsOf([[0, 100, 1]]), "fifo").engine;
    const command = { actor: "test", idempotencyKey: null, kind: "submitWorkload" } as const;
    const base = { ...specOf(jobsOf([[0, 1, 1]])[0]!, 1), walltimeMs: 1000 };
    const array = { ...base, kind: "batch", taskCount: 1_000_000 } as const;
    const specs = [{ ...base, gang: { ...base.gang, accelerators: accelerators } }, array, base];
    engine.receive(
      specs.map((spec, index) => ({ ...command, commandId: commandId(`c${index}`), spec })),
      1000,
    );
    engine.advance();
    const options = { ...usualEstimateOptions, nowMs: 1000, calibration: null, stepsMax: 8000 };
    const [large, first, behind] = estimateStarts(engine, options);
    expect(large!.p90AtMs).toBeGreaterThan(1000);
    expect(first!.p90AtMs).toBeGreaterThan(1000);
    for (const known of [large!, first!]) expect(known).not.toHaveProperty("playedUntilMs");
    expect(behind).toMatchObject({ p10AtMs: null, p50AtMs: null, p90AtMs: null, because: { startedCount: 0 } });
    expect(behind!.playedUntilMs).toBeGreaterThan(1000);
    const further = estimateStarts(engine, { ...options, stepsMax: 16_000 })[2]!;
    expect(further.playedUntilMs).toBeGreaterThan(behind!.playedUntilMs!);
    expect(further.because.scenarioCount).toBe(8);
  });

  it("is the same on a fork that is told of what has ended", () => {
    const { engine, nowMs } = after(300, busy, "default");
    const options = { ...usualEstimateOptions, nowMs, calibration: null };
    const live = estimateStarts(engine, options);
    expect(live.length).toBeGreaterThan(3);
    expect(estimateStarts(forkEngine(engine), { ...options, past: engine.state })).toEqual(live);
    expect(estimateStarts(forkEngine(engine), options)).not.toEqual(live);
  });
});
