import { describe, expect, it } from "vitest";
import { Throttle, type ThrottleTimers } from "./throttle.ts";

/** A clock that the test moves. */
function virtualTimers(): ThrottleTimers & { advance(byMs: number): Promise<void> } {
  let nowMs = 0;
  const due: { atMs: number; run: () => void }[] = [];
  return {
    nowMs: () => nowMs,
    after(delayMs, run) {
      const entry = { atMs: nowMs + delayMs, run };
      due.push(entry);
      return () => due.splice(due.indexOf(entry), 1);
    },
    async advance(byMs) {
      const untilMs = nowMs + byMs;
      for (;;) {
        const next = due.toSorted((a, b) => a.atMs - b.atMs)[0];
        if (next === undefined || next.atMs > untilMs) break;
        due.splice(due.indexOf(next), 1);
        nowMs = next.atMs;
        next.run();
        for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      }
      nowMs = untilMs;
    },
  };
}

describe("the throttle", () => {
  it("answers the first change at once and then keeps its distance", async () => {
    const timers = virtualTimers();
    const startsAtMs: number[] = [];
    const throttle = new Throttle(1000, () => Promise.resolve(startsAtMs.push(timers.nowMs())), timers);
    throttle.touch();
    throttle.touch();
    await timers.advance(500);
    throttle.touch();
    throttle.touch();
    await timers.advance(3000);
    expect(startsAtMs).toEqual([80, 1080]);
  });

  it("asks less often when asking is slow, and remembers what came meanwhile", async () => {
    const timers = virtualTimers();
    const startsAtMs: number[] = [];
    const slow = (): Promise<void> => {
      startsAtMs.push(timers.nowMs());
      return new Promise((resolve) => void timers.after(400, resolve));
    };
    const throttle = new Throttle(1000, slow, timers);
    throttle.touch();
    await timers.advance(200);
    throttle.touch();
    await timers.advance(10_000);
    expect(startsAtMs).toEqual([80, 4080]);
  });

  it("stops when closed, and survives a failure", async () => {
    const timers = virtualTimers();
    let starts = 0;
    const throttle = new Throttle(10, () => (starts++, Promise.reject(new Error("down"))), timers);
    throttle.touch();
    await timers.advance(100);
    throttle.touch();
    await timers.advance(100);
    expect(starts).toBe(2);
    throttle.touch();
    throttle.close();
    await timers.advance(1000);
    expect(starts).toBe(2);
  });
});
