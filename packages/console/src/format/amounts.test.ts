import { describe, expect, it } from "vitest";
import { gangSentence, gangText, percentText, spanText, workerNeedText } from "./amounts.ts";

describe("amounts", () => {
  it("reads as people say it", () => {
    expect(gangText({ workers: 4, accelerators: 8, coresMilli: 0, memoryMib: 0 })).toBe("4 × 8");
    expect(gangText({ workers: 1200, accelerators: 0, coresMilli: 0, memoryMib: 0 })).toBe("1,200 × CPU");
    expect(workerNeedText({ workers: 1, accelerators: 1, coresMilli: 1500, memoryMib: 2048 })).toBe(
      "1 accelerator, 1.5 cores, 2 GiB",
    );
    const elastic = { workers: 8, minWorkers: 2, accelerators: 1, shareMilli: 500, coresMilli: 0, memoryMib: 0 };
    expect(gangText(elastic)).toBe("2–8 × 0.5");
    expect(gangSentence(elastic)).toBe("2 to 8 workers with 0.5 of an accelerator each");
    expect(spanText(-20)).toBe("0 s");
    expect(spanText(3_725_900)).toBe("1 h 2 min");
  });

  it("names the groups of a gang one by one", () => {
    const shape = { coresMilli: 0, memoryMib: 0 };
    const groups = [
      { name: "trainer", workers: 2, accelerators: 8, ...shape },
      { name: "rollout", workers: 4, minWorkers: 1, accelerators: 0, ...shape },
    ];
    const gang = { workers: 6, minWorkers: 3, accelerators: 8, taskGroups: groups, ...shape };
    expect(gangText(gang)).toBe("2 × 8 + 1–4 × CPU");
    expect(gangSentence(gang)).toBe(
      "trainer: 2 workers with 8 accelerators each; rollout: 1 to 4 workers with no accelerators",
    );
  });

  it("says 100% only of the whole", () => {
    expect(percentText(999, 1000)).toBe("99%");
    expect(percentText(1000, 1000)).toBe("100%");
    expect(percentText(0, 0)).toBe("–");
  });
});
