import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EVENTS_SEARCHED_MAX, firstSequenceToRead, sequenceAt } from "./event-search.ts";
import type { EventEnvelope } from "./event.ts";

const returned = (sequence: number, atMs: number): EventEnvelope => ({
  sequence,
  event: { kind: "nodeReturned", version: 1, atMs, nodeId: "n" },
});

/** A journal in which the event at each sequence has the given time. */
const journal = (times: readonly number[]) => ({
  async *events({ from = 1 }: { from?: number | "next" | undefined } = {}): AsyncGenerator<EventEnvelope> {
    for (let sequence = Number(from); sequence <= times.length; sequence++)
      yield returned(sequence, times[sequence - 1] ?? 0);
  },
});

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
    const times = Array.from({ length: EVENTS_SEARCHED_MAX + 10 }, (_, index) => index);
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
