import type { Event, EventEnvelope } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { Story } from "@headroom/views";
import { emptyHistory, extend, metricNames, seriesOf, type ProgressPoint } from "./progress-history.ts";

const returned = (sequence: number, atMs: number): EventEnvelope => ({
  sequence,
  event: { kind: "nodeReturned", version: 1, atMs, nodeId: "n" },
});

const report = (step: number, loss: number): ProgressPoint => ({ atMs: step, step, metrics: { loss } });

const checkpoint = (sequence: number, attemptId: string): EventEnvelope => ({
  sequence,
  event: { kind: "checkpointRecorded", version: 1, atMs: sequence, attemptId, step: 10, path: "p" },
});

/** History of a workload with the attempts `a1` and `a2`. */
function story(): Story {
  const told = new Story("a");
  for (const number of [1, 2]) told.learn({ id: `a${number}`, task: 0, number });
  return told;
}

describe("a course", () => {
  it("takes the later report where a step was repeated", () => {
    const points = [report(10, 3), report(20, 2.5), report(20, 2.4), report(30, 2)];
    expect(seriesOf(points, "loss")).toEqual({ steps: [10, 20, 30], values: [3, 2.4, 2] });
    expect(metricNames(points)).toEqual(["loss"]);
  });

  it("holds the checkpoints of its own attempts", () => {
    const history = extend(emptyHistory, [checkpoint(1, "a1"), checkpoint(2, "b1")], story());
    expect(history.checkpoints).toEqual([{ atMs: 1, step: 10, attemptId: "a1" }]);
  });

  it("tells what happened to it alone", () => {
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
      { sequence: 2, event: ended },
      { sequence: 3, event: { ...ended, attemptId: "b1" } },
    ];
    const history = extend(emptyHistory, batch, story());
    expect(history.story).toEqual([{ sequence: 2, atMs: 7, sentence: "Attempt 1 ended: lost.", attemptIds: ["a1"] }]);
  });

  it("is the same object when nothing concerned it", () => {
    expect(extend(emptyHistory, [returned(1, 5)], story())).toBe(emptyHistory);
  });
});
