import type { EventPage } from "@headroom/journal";
import { describe, expect, it } from "vitest";
import { EventPages } from "./event-pages.ts";

/** A page of ten events whose number is the tens of the sequence. */
const pageOf = (sequence: number): EventPage => ({
  firstSequence: sequence - (sequence % 10),
  bytes: new Uint8Array(10),
  ends: Uint32Array.from({ length: 10 }, (_, index) => index + 1),
});

function setUp() {
  let [running, most, loadCount] = [0, 0, 0];
  const pages = new EventPages(async (sequence) => {
    loadCount++;
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    if (sequence === 666) throw new Error("unreadable");
    return pageOf(sequence);
  });
  return { pages, most: () => most, loadCount: () => loadCount };
}

describe("pages of events", () => {
  it.for([1, 4, 5, 64, 256, 1_000])(
    "are read at most four at a time for %i readers at different places",
    async (count) => {
      const { pages, most } = setUp();
      const places = Array.from({ length: count }, (_, index) => 10 * index + 3);
      const loaded = await Promise.all(places.map((place) => pages.load(place, "ndjson")));
      expect(loaded.map(({ firstSequence }) => firstSequence)).toEqual(places.map((place) => place - 3));
      expect(most()).toBe(Math.min(4, count));
    },
  );

  it("are read once for readers at the same place or on the same page", async () => {
    const { pages, loadCount } = setUp();
    await Promise.all([...Array(200).keys()].map((index) => pages.load(10 * (index % 10) + (index % 7), "ndjson")));
    expect(loadCount()).toBeLessThanOrEqual(14);
  });

  it("are read on after a failure", async () => {
    const { pages } = setUp();
    const outcomes = await Promise.allSettled([
      ...[...Array(8).keys()].map(() => pages.load(666, "ndjson")),
      ...[...Array(20).keys()].map((index) => pages.load(1_000 + 10 * index, "sse")),
    ]);
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(8);
    expect(await pages.load(5_000, "ndjson")).toMatchObject({ firstSequence: 5_000 });
  });
});
