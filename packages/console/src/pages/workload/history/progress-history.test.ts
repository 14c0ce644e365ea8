import type { Event, EventEnvelope } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { Story } from "@headroom/views";
import { emptyHistory, extend, metricNames, seriesOf } from "./progress-history.ts";

const returned = (sequence: number, atMs: number): EventEnvelope => ({
  sequence,
  event: { kind: "nodeReturned", version: 1, atMs, nodeId: "n" },
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

/** History of a workload with the attempts `a1` and `a2`. */
function story(): Story {
  const told = new Story("a");
  for (const number of [1, 2]) told.learn({ id: `a${number}`, task: 0, number });
  return told;
}

describe("a course", () => {
  it("holds the reports of its own attempts, the later one where a step was repeated", () => {
    const batch = [
      report(1, "a1", 10, 3),
      report(2, "b1", 10, 9),
      report(3, "a1", 20, 2.5),
      report(4, "a2", 20, 2.4),
      report(5, "a2", 30, 2),
    ];
    const history = extend(emptyHistory, batch, story());
    expect(seriesOf(history.points, "loss")).toEqual({ steps: [10, 20, 30], values: [3, 2.4, 2] });
    expect(metricNames(history.points)).toEqual(["loss"]);
  });

  it("stays bounded", () => {
    let history = emptyHistory;
    const told = story();
    for (let step = 0; step < 10_000; step++) history = extend(history, [report(step + 1, "a1", step, 1)], told);
    expect(history.points.length).toBeLessThanOrEqual(4_001);
    expect(history.points.at(-1)?.step).toBe(9_999);
  });

  it("tells what happened to it, and counts no report twice", () => {
    const ended: Event = {
      kind: "attemptEnded",
      version: 1,
      atMs: 7,
      attemptId: "a1",
      outcome: "lost",
      exit: null,
      detail: "",
      retryAtMs: null,
    };
    const batch = [
      report(1, "a1", 10, 3),
      { sequence: 2, event: ended },
      { sequence: 3, event: { ...ended, attemptId: "b1" } },
    ];
    const history = extend(emptyHistory, batch, story());
    expect(history.story).toEqual([{ sequence: 2, atMs: 7, sentence: "Attempt 1 ended: lost.", attemptIds: ["a1"] }]);
    expect(history.points).toHaveLength(1);
  });

  it("is the same object when nothing concerned it", () => {
    expect(extend(emptyHistory, [returned(1, 5)], story())).toBe(emptyHistory);
  });
});
