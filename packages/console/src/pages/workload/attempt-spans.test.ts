import type { Attempt } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { attemptLines } from "./attempt-spans.ts";

const common = { workloadId: "w", acceleratorType: "A", workers: [] };
const lost: Attempt = {
  ...common,
  phase: "ended",
  id: "a1",
  task: 0,
  number: 1,
  placedAtMs: 100,
  startedAtMs: 110,
  endedAtMs: 200,
  outcome: "lost",
  exit: null,
  detail: "",
  stopReason: "nodeLost",
};
const running: Attempt = {
  ...common,
  phase: "running",
  id: "a2",
  task: 0,
  number: 2,
  placedAtMs: 260,
  startedAtMs: 270,
  progress: null,
  stop: null,
};

describe("the timeline of attempts", () => {
  it("counts the waiting of a retry from the end of the attempt before", () => {
    const lines = attemptLines({ submittedAtMs: 40, attempts: [lost, running] }, 300);
    expect(lines.map(({ spans }) => spans)).toEqual([
      [
        { kind: "waiting", fromMs: 40, toMs: 100 },
        { kind: "launching", fromMs: 100, toMs: 110 },
        { kind: "running", fromMs: 110, toMs: 200 },
      ],
      [
        { kind: "waiting", fromMs: 200, toMs: 260 },
        { kind: "launching", fromMs: 260, toMs: 270 },
        { kind: "running", fromMs: 270, toMs: 300 },
      ],
    ]);
    expect(lines.map(({ word }) => word)).toEqual(["A node was lost", "Running"]);
  });

  it("keeps the tasks of an array apart", () => {
    const other: Attempt = { ...running, id: "b1", task: 7, number: 1, placedAtMs: 50, startedAtMs: null };
    const [, line] = attemptLines({ submittedAtMs: 40, attempts: [lost, other] }, 90);
    expect(line?.spans).toEqual([
      { kind: "waiting", fromMs: 40, toMs: 50 },
      { kind: "launching", fromMs: 50, toMs: 90 },
    ]);
  });
});
