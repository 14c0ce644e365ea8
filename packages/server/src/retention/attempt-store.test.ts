import { attemptId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { AttemptStore } from "./attempt-store.ts";

function storeWith(ends: readonly number[], rules: { keptMax: number; keptMs: number }): AttemptStore {
  const store = new AttemptStore(rules);
  for (const [index, endedAtMs] of ends.entries()) store.ended(attemptId(`w${index + 1}.1`), endedAtMs);
  return store;
}

describe("ended attempts", () => {
  it("are kept up to the limit, the ones that ended last", () => {
    const store = storeWith([10, 20, 30, 40], { keptMax: 2, keptMs: 1_000 });
    expect(store.surplus(50, 10)).toEqual(["w1.1", "w2.1"]);
    expect(store.surplus(50, 1)).toEqual(["w1.1"]);
    store.removed(attemptId("w1.1"));
    expect(store.surplus(50, 10)).toEqual(["w2.1"]);
    store.removed(attemptId("w2.1"));
    expect(store.surplus(50, 10)).toEqual([]);
  });

  it("are kept up to the age, however few there are", () => {
    const store = storeWith([10, 20, 30], { keptMax: 100, keptMs: 1_000 });
    expect(store.surplus(1_010, 10)).toEqual([]);
    expect(store.surplus(1_011, 10)).toEqual(["w1.1"]);
    expect(store.surplus(5_000, 10)).toEqual(["w1.1", "w2.1", "w3.1"]);
  });

  it("are kept where no newer one was launched, since it tells how far the journal reached", () => {
    const store = storeWith([10, 20, 30], { keptMax: 0, keptMs: 0 });
    store.launched(attemptId("w2.1"), 7);
    store.launched(attemptId("w1.1"), 5);
    expect(store.surplus(100, 10)).toEqual(["w1.1", "w3.1"]);
    store.launched(attemptId("w9.1"), 8);
    expect(store.surplus(100, 10)).toEqual(["w1.1", "w2.1", "w3.1"]);
  });

  it("keep the time of their end when it is told again", () => {
    const store = storeWith([10], { keptMax: 100, keptMs: 1_000 });
    store.ended(attemptId("w1.1"), 900);
    expect(store.surplus(1_500, 10)).toEqual(["w1.1"]);
  });
});
