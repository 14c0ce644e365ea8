import { expect, it } from "vitest";
import { JUMP_MS_MAX, SteadyClock } from "./steady-clock.ts";

interface SteppedClock {
  readonly clock: SteadyClock;
  at(wallMs: number, monotonicMs: number, sleptMs?: number): number;
}

function steppedClock(floorMs: number): SteppedClock {
  const now = { wallMs: 0, monotonicMs: 0, bootMs: 0 };
  const clock = new SteadyClock(
    { wallMs: () => now.wallMs, monotonicMs: () => now.monotonicMs, bootMs: () => now.bootMs },
    floorMs,
  );
  return {
    clock,
    at: (wallMs, monotonicMs, sleptMs = 0) => {
      Object.assign(now, { wallMs, monotonicMs, bootMs: monotonicMs + sleptMs });
      return clock.nowMs();
    },
  };
}

it("follows the wall clock", () => {
  const { at } = steppedClock(0);
  expect([at(1000, 1), at(1005.9, 7), at(9000, 8)]).toEqual([1000, 1005, 9000]);
});

it("goes on at the pace of the monotonic clock when the wall clock is set back, until that has caught up", () => {
  const { at } = steppedClock(0);
  expect([at(10_000, 0), at(4_000, 10), at(4_001, 10.5), at(4_002, 11.2), at(20_000, 12)]).toEqual([
    10_000, 10_010, 10_010, 10_011, 20_000,
  ]);
});

it("starts no earlier than what was recorded, and time passes even so", () => {
  const { at } = steppedClock(50_000);
  expect([at(1_000, 0), at(1_030, 30)]).toEqual([50_000, 50_030]);
});

it("loses no time to rounding", () => {
  const { at } = steppedClock(1_000);
  let last = 0;
  for (let step = 1; step <= 1000; step++) last = at(0, step * 0.7);
  expect(last).toBe(1_700);
});

const YEAR_MS = 365 * 24 * 3_600_000;

it("does not follow a jump of a year, says by how much, and follows again once the clock is corrected", () => {
  const { clock, at } = steppedClock(0);
  at(1_000, 0);
  expect(at(YEAR_MS, 50)).toBe(1_050);
  expect(clock.jumpMs).toBe(YEAR_MS - 1_050);
  expect(at(YEAR_MS + 10, 60)).toBe(1_060);
  expect([at(1_075, 70), clock.jumpMs]).toEqual([1_075, null]);
});

it("follows a step that a time server may make, and any time after a start", () => {
  const { clock, at } = steppedClock(0);
  expect([at(YEAR_MS, 0), clock.jumpMs]).toEqual([YEAR_MS, null]);
  expect([at(YEAR_MS + JUMP_MS_MAX, 0), clock.jumpMs]).toEqual([YEAR_MS + JUMP_MS_MAX, null]);
});

it("follows the clock of a machine that slept, once for each sleep", () => {
  const { clock, at } = steppedClock(0);
  const week = 7 * 24 * 3_600_000;
  at(1_000, 0);
  expect([at(week, 10, week), clock.jumpMs]).toEqual([week, null]);
  expect(at(2 * week, 20, week)).toBe(week + 10);
  expect(clock.jumpMs).toBe(week - 10);
});
