import type { Event, EventEnvelope } from "@headroom/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  emptyHistory,
  extend,
  firstSequenceToRead,
  metricNames,
  sequenceAt,
  seriesOf,
  EVENTS_MAX,
} from "./progress-history.ts";

const returned = (sequence: number, atMs: number): EventEnvelope => ({
  sequence,
  event: { kind: "nodeReturned", version: 1, atMs, nodeId: "n" },
});

/** A journal whose event at each sequence has the given time. */
const journal = (times: readonly number[]) => ({
  async *events({ from = 1 }: { from?: number | "next" } = {}): AsyncGenerator<EventEnvelope> {
    for (let sequence = Number(from); sequence <= times.length; sequence++)
      yield returned(sequence, times[sequence - 1] ?? 0);
  },
});

const report = (sequence: number, attemptId: string, step: number, loss: number): EventEnvelope => {
  const event: Event = {
    kind: "progressRecorded",
    version: 1,
    atMs: sequence,
    attemptId,
    step,
    totalSteps: 100,
    metrics: { loss },
  };
  return { sequence, event };
};

describe("finding the beginning", () => {
  it("halves to the first event that is not older", async () => {
    const ascending = fc
      .array(fc.nat(50), { minLength: 1, maxLength: 60 })
      .map((list) => list.toSorted((a, b) => a - b));
    await fc.assert(
      fc.asyncProperty(ascending, fc.nat(60), async (times, atMs) => {
        const expected = times.findIndex((time) => time >= atMs);
        const found = await sequenceAt(journal(times), atMs, times.length);
        expect(found).toBe(expected < 0 ? times.length + 1 : expected + 1);
      }),
    );
  });

  it("goes back a bounded way only, and says so", async () => {
    const times = Array.from({ length: EVENTS_MAX + 10 }, (_, index) => index);
    expect(await firstSequenceToRead(journal(times), { submittedAtMs: 3, head: times.length })).toEqual({
      from: 11,
      isCut: true,
    });
    expect(await firstSequenceToRead(journal(times), { submittedAtMs: 40, head: times.length })).toEqual({
      from: 41,
      isCut: false,
    });
  });
});

describe("a course", () => {
  it("holds the reports of its own attempts, the later one where a step was repeated", () => {
    const batch = [
      report(1, "a1", 10, 3),
      report(2, "b1", 10, 9),
      report(3, "a1", 20, 2.5),
      report(4, "a2", 20, 2.4),
      report(5, "a2", 30, 2),
    ];
    const history = extend(emptyHistory, batch, (attemptId) => attemptId.startsWith("a"));
    expect(seriesOf(history.points, "loss")).toEqual({ steps: [10, 20, 30], values: [3, 2.4, 2] });
    expect(metricNames(history.points)).toEqual(["loss"]);
  });

  it("stays bounded", () => {
    let history = emptyHistory;
    for (let step = 0; step < 10_000; step++) history = extend(history, [report(step + 1, "a1", step, 1)], () => true);
    expect(history.points.length).toBeLessThanOrEqual(4_001);
    expect(history.points.at(-1)?.step).toBe(9_999);
  });

  it("is the same object when nothing concerned it", () => {
    expect(extend(emptyHistory, [returned(1, 5)], () => true)).toBe(emptyHistory);
  });
});
