import { describe, expect, it } from "vitest";
import type { ReadonlyState } from "@headroom/engine";
import { checkpointFindings } from "./checkpoint-findings.ts";

/** Running tasks of 64 nodes with eight accelerators each, and an interval of some minutes. */
function stateWith(checkpointEvery: number | "auto", tasks = 1): ReadonlyState {
  const workers = Array.from({ length: 64 }, (_, index) => ({ node: `n${index}`, accelerators: "0-7" }));
  const spec = { kind: "train", name: "llm", team: "research", checkpointEvery, checkpointCostMs: 60_000 };
  return {
    nowMs: 0,
    workloads: new Map([["w1", { id: "w1", spec, endedAttempts: [] }]]),
    attempts: new Map(
      Array.from({ length: tasks }, (_, task) => {
        const id = `w1.${task + 1}`;
        return [id, { id, workloadId: "w1", workers, startedAtMs: task }];
      }),
    ),
  } as unknown as ReadonlyState;
}

describe("intervals between checkpoints", () => {
  it("that cost far more than the best one are found, with the accelerator-hours that this costs", () => {
    const [finding] = checkpointFindings(stateWith(5 * 60_000));
    expect(finding).toMatchObject({
      kind: "checkpoint",
      team: "research",
      reason: "llm saves a checkpoint every 5 min",
      change: { kind: "advice", about: "checkpoints of llm (w1)", text: "set checkpoint.every to 120m, or to auto" },
    });
    const saved = finding?.ground.find(({ measure }) => measure === "accelerator-hours saved")?.valueMilli ?? 0;
    // A checkpoint of a minute every five minutes costs a fifth of 512 accelerators.
    expect(saved / 1_000).toBeGreaterThan(0.15 * 512 * 24);
    expect(saved / 1_000).toBeLessThan(0.2 * 512 * 24);
    expect(checkpointFindings(stateWith(24 * 3_600_000))).toHaveLength(1);
  });

  it("are one finding of an array, with the sum of its tasks", () => {
    const savedOf = (tasks: number) => {
      const found = checkpointFindings(stateWith(5 * 60_000, tasks));
      expect(found.map(({ id, sinceMs }) => ({ id, sinceMs }))).toEqual([{ id: "checkpoint:w1:7200000", sinceMs: 0 }]);
      return found[0]?.ground.find(({ measure }) => measure === "accelerator-hours saved")?.valueMilli ?? 0;
    };
    expect(savedOf(60) / savedOf(1)).toBeCloseTo(60, 3);
  });

  it("that are about as good, or chosen by the fleet, are not", () => {
    expect(checkpointFindings(stateWith(90 * 60_000))).toEqual([]);
    expect(checkpointFindings(stateWith("auto"))).toEqual([]);
  });
});
