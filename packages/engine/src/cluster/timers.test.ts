import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { workloadId } from "@headroom/model";
import { Timers } from "./timers.ts";

describe("Timers", () => {
  it("come due in the order of their instants, whatever order they were set in", () => {
    const step = fc.tuple(fc.array(fc.nat({ max: 50 }), { maxLength: 8 }), fc.nat({ max: 50 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const timers = new Timers();
        let waiting: number[] = [];
        for (const [added, nowMs] of steps) {
          for (const atMs of added) timers.add({ kind: "retry", atMs, workloadId: workloadId(`w${atMs}`) });
          waiting = [...waiting, ...added].toSorted((left, right) => left - right);
          expect(timers.nextAtMs()).toBe(waiting[0] ?? null);
          const due = waiting.filter((atMs) => atMs <= nowMs);
          waiting = waiting.slice(due.length);
          const taken: number[] = [];
          for (let timer = timers.takeDue(nowMs); timer !== null; timer = timers.takeDue(nowMs)) taken.push(timer.atMs);
          expect(taken).toEqual(due);
          expect(timers.nextAtMs()).toBe(waiting[0] ?? null);
        }
      }),
    );
  });
});
