import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventQueue, ranks } from "./event-queue.ts";

interface Entry {
  readonly atMs: number;
  readonly rank: number;
  readonly payload: number;
  readonly sequence: number;
}

function drain(queue: EventQueue): Entry[] {
  const drained: Entry[] = [];
  while (queue.size > 0) {
    drained.push({ atMs: queue.nextAtMs, rank: -1, payload: queue.nextPayload, sequence: queue.nextKey });
    queue.drop();
  }
  return drained;
}

const entries = fc.array(
  fc.record({ atMs: fc.integer({ min: 0, max: 20 }), rank: fc.constantFrom(...Object.values(ranks)) }),
  { maxLength: 200 },
);

describe("the event queue", () => {
  it("hands out entries by (atMs, rank, sequence)", () => {
    fc.assert(
      fc.property(entries, (list) => {
        const queue = new EventQueue(1);
        const pushed = list.map((entry, payload) => ({
          ...entry,
          payload,
          sequence: queue.push(entry.atMs, entry.rank, payload),
        }));
        const expected = pushed.toSorted((a, b) => a.atMs - b.atMs || a.rank - b.rank || a.sequence - b.sequence);
        expect(drain(queue).map((entry) => entry.sequence)).toEqual(expected.map((entry) => entry.sequence));
      }),
    );
  });

  it("forks into two queues that do not feel each other", () => {
    fc.assert(
      fc.property(entries, entries, (before, after) => {
        const queue = new EventQueue(1);
        before.forEach((entry, index) => queue.push(entry.atMs, entry.rank, index));
        const fork = queue.fork();
        after.forEach((entry, index) => queue.push(entry.atMs, entry.rank, 1000 + index));
        expect(fork.size).toBe(before.length);
        after.forEach((entry, index) => fork.push(entry.atMs, entry.rank, 1000 + index));
        expect(drain(fork)).toEqual(drain(queue));
      }),
    );
  });

  it("says Infinity when it is empty", () => {
    expect(new EventQueue().nextAtMs).toBe(Number.POSITIVE_INFINITY);
  });
});
