import { commandId, presets } from "@headroom/model";
import type { Input, WorkloadId } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { expect, it } from "vitest";
import { topologyFreePool } from "../run/fleet-spec.ts";
import { estimateStarts, usualEstimateOptions, type StartEstimate } from "./estimate-starts.ts";
import { LiveCalibration } from "./live-calibration.ts";
import { jobOfFour } from "./testing/job-of-four.ts";
import { specOf, traceStarts } from "./trace-starts.ts";

const MINUTE_MS = 60_000;

/** One workload of four accelerators runs since 0, and another waits behind it. */
function queueOfTwo(): {
  readonly engine: Engine;
  readonly waiting: WorkloadId;
  give(atMs: number, input: Input): void;
} {
  const { engine } = traceStarts({ jobs: [], fleet: topologyFreePool(4), policy: presets.get("fifo")! });
  const give = (atMs: number, input: Input): void => {
    engine.receive([input], atMs);
    engine.advance();
  };
  for (const index of [0, 1])
    give(0, {
      kind: "submitWorkload",
      commandId: commandId(`c${index}`),
      actor: "ann",
      idempotencyKey: null,
      spec: specOf(jobOfFour, index),
    });
  give(0, { kind: "attemptRunning", attemptId: [...engine.state.attempts.keys()][0]! });
  return { engine, waiting: [...engine.state.workloads.keys()][1]!, give };
}

function forecastOf(engine: Engine, nowMs: number): StartEstimate {
  return estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null })[0]!;
}

it("takes running work to end at the pace of its reported steps", () => {
  const { engine, give } = queueOfTwo();
  const blind = forecastOf(engine, 10 * MINUTE_MS);
  expect(blind.because.history).toMatchObject({ runningCount: 1, byProgressCount: 0, unknownCount: 1 });
  const [attemptId] = engine.state.attempts.keys();
  // One fifth of the steps took ten minutes, so the other four fifths take forty minutes.
  give(10 * MINUTE_MS, { kind: "progressReported", attemptId: attemptId!, step: 200, totalSteps: 1000, metrics: {} });
  const told = forecastOf(engine, 10 * MINUTE_MS);
  expect(told.because.history).toMatchObject({ runningCount: 1, byProgressCount: 1, unknownCount: 0 });
  for (const atMs of [told.p10AtMs, told.p50AtMs, told.p90AtMs]) {
    expect(atMs).toBeGreaterThan(45 * MINUTE_MS);
    expect(atMs).toBeLessThan(55 * MINUTE_MS);
  }
  expect(told.p90AtMs! - told.p10AtMs!).toBeLessThan(blind.p90AtMs! - blind.p10AtMs!);
});

it("uses the pace of reported steps many hours ahead of the end", () => {
  const { engine, give } = queueOfTwo();
  const [attemptId] = engine.state.attempts.keys();
  const report = (atMs: number, step: number): void =>
    give(atMs, { kind: "progressReported", attemptId: attemptId!, step, totalSteps: 1200, metrics: {} });
  const forecastHours = (nowMs: number): number => forecastOf(engine, nowMs).p50AtMs! / (60 * MINUTE_MS);
  // 1 of 1200 steps a minute: the end is 20 hours after the start.
  report(10 * MINUTE_MS, 10);
  const told = forecastOf(engine, 10 * MINUTE_MS);
  expect(told.because.history).toMatchObject({ byProgressCount: 1, unknownCount: 0 });
  expect(told.p50AtMs! / (60 * MINUTE_MS)).toBeCloseTo(20, 0);
  expect(told.p10AtMs!).toBeGreaterThan(17 * 60 * MINUTE_MS);
  expect(told.p90AtMs!).toBeLessThan(23 * 60 * MINUTE_MS);
  // The pace has halved: the next forecast has it, still a day ahead.
  report(240 * MINUTE_MS, 120);
  expect(forecastHours(240 * MINUTE_MS)).toBeCloseTo(40, -0.5);
  const recorded = engine.state.attempts.get(attemptId!)?.progress;
  report(241 * MINUTE_MS, 121);
  expect(engine.state.attempts.get(attemptId!)?.progress).toBe(recorded);
});

it("keeps how far forecasts were from the starts that came", () => {
  const { engine, waiting, give } = queueOfTwo();
  const calibration = new LiveCalibration();
  expect(calibration.accuracy).toBeNull();
  const told = forecastOf(engine, 0);
  calibration.recordRange(engine.state, [told], 0);
  const [attemptId] = engine.state.attempts.keys();
  const endMs = told.p50AtMs! + 5 * MINUTE_MS;
  give(endMs, { kind: "attemptExited", attemptId: attemptId!, exits: [{ kind: "exited", worker: 0, code: 0 }] });
  give(endMs, { kind: "attemptRunning", attemptId: [...engine.state.attempts.keys()][0]! });
  expect(engine.state.workloads.get(waiting)?.firstStartedAtMs).toBe(endMs);
  calibration.learn(engine.state, endMs);
  expect(calibration.accuracy).toEqual({ startCount: 1, medianErrorMs: 5 * MINUTE_MS });
});
