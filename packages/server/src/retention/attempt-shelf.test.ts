import { attemptId } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { AttemptShelf } from "./attempt-shelf.ts";

function shelfWith(ends: readonly number[], rules: { keptMax: number; keptMs: number }): AttemptShelf {
  const shelf = new AttemptShelf(rules);
  for (const [index, endedAtMs] of ends.entries()) shelf.ended(attemptId(`w${index + 1}.1`), endedAtMs);
  return shelf;
}

describe("ended attempts", () => {
  it("are kept up to the limit, the ones that ended last", () => {
    const shelf = shelfWith([10, 20, 30, 40], { keptMax: 2, keptMs: 1_000 });
    expect(shelf.surplus(50, 10)).toEqual(["w1.1", "w2.1"]);
    expect(shelf.surplus(50, 1)).toEqual(["w1.1"]);
    shelf.removed(attemptId("w1.1"));
    expect(shelf.surplus(50, 10)).toEqual(["w2.1"]);
    shelf.removed(attemptId("w2.1"));
    expect(shelf.surplus(50, 10)).toEqual([]);
  });

  it("are kept up to the age, however few there are", () => {
    const shelf = shelfWith([10, 20, 30], { keptMax: 100, keptMs: 1_000 });
    expect(shelf.surplus(1_010, 10)).toEqual([]);
    expect(shelf.surplus(1_011, 10)).toEqual(["w1.1"]);
    expect(shelf.surplus(5_000, 10)).toEqual(["w1.1", "w2.1", "w3.1"]);
  });

  it("are kept where no newer one was launched, since it tells how far the journal reached", () => {
    const shelf = shelfWith([10, 20, 30], { keptMax: 0, keptMs: 0 });
    shelf.launched(attemptId("w2.1"), 7);
    shelf.launched(attemptId("w1.1"), 5);
    expect(shelf.surplus(100, 10)).toEqual(["w1.1", "w3.1"]);
    shelf.launched(attemptId("w9.1"), 8);
    expect(shelf.surplus(100, 10)).toEqual(["w1.1", "w2.1", "w3.1"]);
  });

  it("keep the time of their end when it is told again", () => {
    const shelf = shelfWith([10], { keptMax: 100, keptMs: 1_000 });
    shelf.ended(attemptId("w1.1"), 900);
    expect(shelf.surplus(1_500, 10)).toEqual(["w1.1"]);
  });
});
