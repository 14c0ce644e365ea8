import { attemptId, workloadId } from "@headroom/model";
import type { Attempt, AttemptId, Signal, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SignalGate, newestOnly } from "./signal-gate.ts";

const MINUTE_MS = 60_000;
const id = attemptId("w1.1");

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A gate for an engine with one attempt that started at 0, and the signals that the gate has passed on. */
function opened(attempt: Partial<Attempt> = {}) {
  const running = { id, workloadId: workloadId("w1"), number: 1, startedAtMs: 0, placedAtMs: 0, progress: null };
  const workload = { spec: { walltimeMs: null }, checkpoint: null };
  const state = {
    attempts: new Map([[id, { ...running, ...attempt } as Attempt]]),
    workloads: new Map([[workloadId("w1"), workload as Workload]]),
  } as unknown as ReadonlyState;
  const told: Signal[] = [];
  let nowMs = 0;
  const gate = new SignalGate({
    sink: newestOnly(),
    state: () => state,
    nowMs: () => nowMs,
    tell: (signal) => told.push(signal),
  });
  const at = (atMs: number, signal: Signal): boolean => {
    nowMs = atMs;
    const isTaken = gate.takes(signal);
    vi.runAllTimers();
    return isTaken;
  };
  return { at, told, gate, attempts: state.attempts as Map<AttemptId, Attempt> };
}

const progress = (step: number, totalSteps = 100): Signal => ({
  kind: "progressReported",
  attemptId: id,
  step,
  totalSteps,
  metrics: {},
});
const use = (busyAccelerators: number): Signal => ({
  kind: "utilizationReported",
  attemptId: id,
  accelerators: 8,
  busyAccelerators,
  busyMilli: 0,
  peakMemoryMib: null,
  capacityMib: null,
});

it("tells the engine of an end many hours ahead, which forecasts read, once while the run keeps its pace", () => {
  const { at, told } = opened();
  expect(at(MINUTE_MS, progress(1, 600))).toBe(true);
  expect(told).toEqual([{ kind: "estimatesReported", estimates: [[id, 1, 600]] }]);
  const known = opened({ progress: { atMs: MINUTE_MS, step: 1, totalSteps: 600, metrics: {} } });
  for (let minute = 2; minute <= 40; minute++) known.at(minute * MINUTE_MS, progress(minute, 600));
  expect(known.told).toEqual([]);
  // Ten hours at the recorded pace, nine hours at that of the report.
  known.at(41 * MINUTE_MS, progress(46, 600));
  expect(known.told).toHaveLength(1);
});

it("tells the engine the first expected end, and not again while the run keeps its pace", () => {
  const { at, told } = opened();
  at(50 * MINUTE_MS, progress(50));
  expect(told).toEqual([{ kind: "estimatesReported", estimates: [[id, 50, 100]] }]);
  const known = opened({ progress: { atMs: 50 * MINUTE_MS, step: 50, totalSteps: 100, metrics: {} } });
  known.at(70 * MINUTE_MS, progress(70));
  expect(known.told).toEqual([]);
  // By the recorded estimate 20 minutes remain; at the present speed 41 minutes remain.
  known.at(80 * MINUTE_MS, progress(66));
  expect(known.told).toHaveLength(1);
});

it("waits until the start-up of a run weighs little", () => {
  const { at, told } = opened();
  at(59_000, progress(50));
  expect(told).toEqual([]);
});

it("tells that accelerators are idle after five minutes, and busy at once", () => {
  const { at, told } = opened();
  at(MINUTE_MS, use(8));
  at(2 * MINUTE_MS, use(0));
  expect(told).toEqual([]);
  at(6 * MINUTE_MS, use(0));
  expect(told).toEqual([{ kind: "idleChangesReported", changes: [[id, MINUTE_MS]] }]);
  const idle = opened({ idleSinceMs: MINUTE_MS });
  idle.at(7 * MINUTE_MS, use(1));
  expect(idle.told).toEqual([{ kind: "idleChangesReported", changes: [[id, null]] }]);
});

it("passes facts on, reports of checkpoints within bounds, and takes in reports of attempts that ended", () => {
  const { at, told } = opened();
  expect(at(0, { kind: "attemptRunning", attemptId: id } as unknown as Signal)).toBe(false);
  const checkpoint = { kind: "checkpointReported", attemptId: id, step: 1, path: "p" } as const;
  expect(at(0, checkpoint)).toBe(true);
  expect(told).toEqual([checkpoint]);
  expect(at(0, { ...progress(1), attemptId: attemptId("w9.1") } as Signal)).toBe(true);
});

it("compares the ranks of attempts until they end, also if the engine ends them by itself", () => {
  const { gate, attempts } = opened({ workers: [] });
  gate.takes({ kind: "stepTimesReported", attemptId: id, times: [[1, 0, 1]] });
  vi.advanceTimersByTime(10 * MINUTE_MS);
  expect(vi.getTimerCount()).toBe(1);
  attempts.delete(id);
  vi.advanceTimersByTime(2 * MINUTE_MS);
  expect(vi.getTimerCount()).toBe(0);
});
