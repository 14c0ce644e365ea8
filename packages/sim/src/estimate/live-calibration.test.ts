import { commandId, presets } from "@headroom/model";
import type { Input, WorkloadId } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { topologyFreePool } from "../run/fleet-spec.ts";
import { usualCalibrationRules } from "./calibration.ts";
import type { StartEstimate } from "./estimate-starts.ts";
import { LiveCalibration } from "./live-calibration.ts";
import { jobOfFour } from "./testing/job-of-four.ts";
import { specOf, traceStarts } from "./trace-starts.ts";

const minute = 60_000;
/** An engine with one pool of four, one running workload of four, and two that wait behind it. */
class Queue {
  readonly engine: Engine;
  readonly waiting: readonly WorkloadId[];
  #commands = 0;

  constructor() {
    this.engine = traceStarts({ jobs: [], fleet: topologyFreePool(4), policy: presets.get("fifo")! }).engine;
    for (const index of [0, 1, 2])
      this.give(0, { kind: "submitWorkload", spec: specOf(jobOfFour, index), ...this.#asking() });
    this.give(0, ...this.#running());
    this.waiting = [...this.engine.state.workloads.values()]
      .filter(({ phase }) => phase === "pending")
      .map(({ id }) => id);
  }

  #asking() {
    return { commandId: commandId(`c${this.#commands++}`), actor: "test", idempotencyKey: null };
  }

  #running(): Input[] {
    return [...this.engine.state.attempts.keys()].map((attemptId) => ({ kind: "attemptRunning", attemptId }));
  }

  give(atMs: number, ...inputs: readonly Input[]): void {
    this.engine.receive(inputs, atMs);
    this.engine.advance();
  }

  /** Ends the running workload; the next workload starts at once. */
  next(atMs: number): void {
    const [attemptId] = this.engine.state.attempts.keys();
    this.give(atMs, { kind: "attemptExited", attemptId: attemptId!, exits: [{ kind: "exited", worker: 0, code: 0 }] });
    this.give(atMs, ...this.#running());
  }

  command(atMs: number, kind: "holdWorkload" | "stopWorkload", workloadId: WorkloadId): void {
    this.give(atMs, { ...this.#asking(), kind, workloadId });
  }

  /** Estimates in which the first workload gets the range from 10 to 30 minutes. */
  estimates(change: Partial<StartEstimate> = {}): StartEstimate[] {
    const because = { endsBefore: 0, startsBefore: 0, startedCount: 8, scenarioCount: 8, arrivalsReplayed: false };
    const range = { p10AtMs: 10 * minute, p50AtMs: 20 * minute, p90AtMs: 30 * minute };
    return [{ workloadId: this.waiting[0]!, ...range, because, ...change }];
  }
}

const { firstStretch } = usualCalibrationRules;

describe("what is learned of a live engine", () => {
  it.each([
    ["held", 20, false, false],
    ["too late", 5, true, false],
    ["too early", 40, false, true],
  ])("is whether a range was %s", (_, startMinute, wasBefore, wasAfter) => {
    const queue = new Queue();
    const calibration = new LiveCalibration();
    calibration.recordRange(queue.engine.state, queue.estimates(), 0);
    calibration.learn(queue.engine.state, 4 * minute);
    expect(calibration.ranges.stretch).toEqual({ below: firstStretch, above: firstStretch });
    queue.next(startMinute * minute);
    calibration.learn(queue.engine.state, 300 * minute);
    const { below, above } = calibration.ranges.stretch;
    expect(below > firstStretch).toBe(wasBefore);
    expect(above > firstStretch).toBe(wasAfter);
    calibration.learn(queue.engine.state, 400 * minute);
    expect(calibration.ranges.stretch).toEqual({ below, above });
  });

  it("is a miss as soon as the range is over, though it still waits", () => {
    const queue = new Queue();
    const calibration = new LiveCalibration();
    calibration.recordRange(queue.engine.state, queue.estimates(), 0);
    calibration.learn(queue.engine.state, 31 * minute);
    expect(calibration.ranges.stretch.above).toBeGreaterThan(firstStretch);
  });

  it("is nothing where people hold it back or stop it", () => {
    for (const kind of ["holdWorkload", "stopWorkload"] as const) {
      const queue = new Queue();
      const calibration = new LiveCalibration();
      calibration.recordRange(queue.engine.state, queue.estimates(), 0);
      queue.command(minute, kind, queue.waiting[0]!);
      calibration.learn(queue.engine.state, 300 * minute);
      expect(calibration.ranges.stretch).toEqual({ below: firstStretch, above: firstStretch });
    }
  });

  it("is nothing of the next start of what has started before", () => {
    const queue = new Queue();
    const calibration = new LiveCalibration();
    const [running] = [...queue.engine.state.workloads.values()].filter(({ phase }) => phase === "running");
    calibration.recordRange(queue.engine.state, queue.estimates({ workloadId: running!.id }), 0);
    calibration.learn(queue.engine.state, 300 * minute);
    expect(calibration.ranges.stretch).toEqual({ below: firstStretch, above: firstStretch });
  });

  it.each<[string, Partial<StartEstimate>, number]>([
    ["no instant", { p50AtMs: null, p90AtMs: null }, 0],
    ["what was not played to its end", { p90AtMs: null, playedUntilMs: 25 * minute }, 0],
    ["work that has waited for long", {}, 11],
  ])("is nothing of %s", (_, change, atMinute) => {
    const queue = new Queue();
    const calibration = new LiveCalibration();
    calibration.recordRange(queue.engine.state, queue.estimates(change), atMinute * minute);
    queue.next(20 * minute);
    calibration.learn(queue.engine.state, 300 * minute);
    expect(calibration.ranges.stretch).toEqual({ below: firstStretch, above: firstStretch });
  });
});
