import { commandId, presets } from "@headroom/model";
import type { Input, WorkloadSpec } from "@headroom/model";
import { forkEngine, restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { topologyFreePool } from "../run/fleet-spec.ts";
import { forwardStarts, type ForwardArrival } from "./forward-run.ts";
import { jobOfFour } from "./testing/job-of-four.ts";
import { specOf, traceStarts } from "./trace-starts.ts";

/**
 * An engine with one pool of four accelerators. One workload of four runs, and further workloads of four wait behind
 * it.
 */
function queueOf(...specs: readonly Partial<WorkloadSpec>[]): Engine {
  const { engine } = traceStarts({ jobs: [], fleet: topologyFreePool(4), policy: presets.get("default")! });
  for (const [index, change] of specs.entries()) {
    const spec = { ...specOf(jobOfFour, index), ...change } as WorkloadSpec;
    give(engine, [
      { kind: "submitWorkload", commandId: commandId(`c${index}`), actor: "test", idempotencyKey: null, spec },
    ]);
  }
  give(
    engine,
    [...engine.state.attempts.keys()].map((attemptId) => ({ kind: "attemptRunning", attemptId })),
  );
  return engine;
}

function give(engine: Engine, inputs: readonly Input[]): void {
  engine.receive(inputs, 0);
  engine.advance();
}

function startsOf(
  engine: Engine,
  durationMs: number,
  arrivals: readonly ForwardArrival[] = [],
): (number | undefined)[] {
  const waiting = [...engine.state.workloads.values()].filter(({ phase }) => phase === "pending").map(({ id }) => id);
  const { starts } = forwardStarts({
    engine: restoreEngine(engine.snapshot()),
    nowMs: 0,
    horizonMs: 1_000_000,
    grain: 0,
    stepsMax: 1000,
    targets: new Set(waiting),
    scenario: { durationMs: () => durationMs, arrivals: arrivals.values() },
  });
  return waiting.map((id) => starts.get(id)?.atMs);
}

describe("a forward run", () => {
  it("ends attempts as the scenario says, one after the other", () => {
    expect(startsOf(queueOf({}, {}, {}), 5000)).toEqual([5000, 10_000]);
  });

  it("leaves out what starts beyond the horizon", () => {
    expect(startsOf(queueOf({}, {}, {}), 600_000)).toEqual([600_000, undefined]);
  });

  it("lets the engine stop what exceeds its walltime, which then uses up its grace period", () => {
    expect(startsOf(queueOf({ walltimeMs: 3000, graceTimeoutMs: 700 }, {}), 50_000)).toEqual([3700]);
  });

  it("takes what is being stopped at the present to be gone after its grace period", () => {
    const engine = queueOf({ graceTimeoutMs: 900 }, {});
    const [first] = engine.state.workloads.keys();
    give(engine, [
      { kind: "stopWorkload", commandId: commandId("stop"), actor: "test", idempotencyKey: null, workloadId: first! },
    ]);
    expect(startsOf(engine, 50_000)).toEqual([900]);
  });

  it("lets arrivals of a higher priority pass", () => {
    const engine = queueOf({}, {});
    const [like] = engine.state.workloads.keys();
    const urgent = { ...specOf(jobOfFour, 9), priority: 5 };
    expect(startsOf(engine, 5000, [{ atMs: 2000, actor: "ann", spec: urgent, like: like! }])).toEqual([10_000]);
  });

  it("lets arrivals pass whose user may still have more", () => {
    const of = (accelerators: number): Partial<WorkloadSpec> => ({
      gang: { ...specOf(jobOfFour, 0).gang, workers: 1, accelerators },
    });
    const engine = queueOf(of(2), of(3));
    const [like] = engine.state.workloads.keys();
    const teams = [...engine.state.teams.values()].map((team) => ({ ...team, userLimit: { accelerators: 3 } }));
    const command = { actor: "test", idempotencyKey: null };
    give(engine, [
      { kind: "setPolicy", commandId: commandId("policy"), ...command, policy: presets.get("fifo-skip")! },
      { kind: "apply", commandId: commandId("team"), ...command, sites: [], pools: [], teams, workloads: [] },
    ]);
    const arrival = { atMs: 2000, spec: { ...specOf(jobOfFour, 9), ...of(2) } as WorkloadSpec, like: like! };
    // Running and waiting work belong to the same user.
    expect(startsOf(engine, 5000, [{ ...arrival, actor: "someone else" }])).toEqual([7000]);
    expect(startsOf(engine, 5000, [{ ...arrival, actor: "test" }])).toEqual([5000]);
  });

  it("that is cut says until when it was played: nothing else starts by then", () => {
    const engine = queueOf({}, {}, {}, {}, {});
    const waiting = [...engine.state.workloads.values()].filter(({ phase }) => phase === "pending").map(({ id }) => id);
    const play = (stepsMax: number): { readonly started: number; readonly playedUntilMs: number } => {
      const { starts, playedUntilMs } = forwardStarts({
        engine: forkEngine(engine),
        nowMs: 0,
        horizonMs: 1_000_000,
        grain: 0,
        stepsMax,
        targets: new Set(waiting),
        scenario: { durationMs: () => 5000, arrivals: [].values() },
      });
      return { started: starts.size, playedUntilMs };
    };
    // The steps are the running workload, each start, the round of a start, and the round in which a workload reports
    // that it runs.
    expect(play(4)).toEqual({ started: 1, playedUntilMs: 5000 });
    expect(play(7)).toEqual({ started: 2, playedUntilMs: 10_000 });
    expect(play(1000)).toEqual({ started: 4, playedUntilMs: 20_000 });
  });
});
