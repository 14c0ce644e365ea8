import { expect, it } from "vitest";
import { SteadyClock } from "./steady-clock.ts";

function steppedClock(floorMs: number): { clock: SteadyClock; at(wallMs: number, monotonicMs: number): number } {
  const now = { wallMs: 0, monotonicMs: 0 };
  const clock = new SteadyClock({ wallMs: () => now.wallMs, monotonicMs: () => now.monotonicMs }, floorMs);
  return {
    clock,
    at: (wallMs, monotonicMs) => {
      now.wallMs = wallMs;
      now.monotonicMs = monotonicMs;
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
