import { describe, expect, it } from "vitest";
import { Clock } from "./clock.ts";

describe("the clock", () => {
  it("goes on at the rate of the last reading", () => {
    let localMs = 100;
    const clock = new Clock({ nowMs: 1_000_000, rate: 60 }, () => localMs);
    localMs = 150;
    expect(clock.nowMs()).toBe(1_003_000);
    clock.set({ nowMs: 2_000_000, rate: 0 });
    localMs = 900;
    expect(clock.nowMs()).toBe(2_000_000);
  });

  it("tells subscribers about readings until they leave", () => {
    const clock = new Clock({ nowMs: 0, rate: 1 }, () => 0);
    let calls = 0;
    const leave = clock.subscribe(() => calls++);
    clock.set({ nowMs: 5, rate: 1 });
    leave();
    clock.set({ nowMs: 6, rate: 1 });
    expect(calls).toBe(1);
  });
});
