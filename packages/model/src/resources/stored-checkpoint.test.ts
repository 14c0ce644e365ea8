import { describe, expect, it } from "vitest";
import type { ArtifactVersion } from "./artifact.ts";
import { attemptId, teamName, workloadId } from "./ids.ts";
import { bestOf, checkpointArtifact, keptCheckpoints } from "./stored-checkpoint.ts";

const producer = { workloadId: workloadId("w1"), workload: "ft", attemptId: attemptId("w1.1"), task: 0 };

/** Versions from `STEP` or `STEP:LOSS`. */
const versions = (...steps: readonly string[]): readonly ArtifactVersion[] =>
  steps.map((text, index) => {
    const [step, loss] = text.split(":");
    return {
      ...checkpointArtifact({ name: "ft", team: teamName("lab") }),
      id: `checkpoint:lab/ft@${index + 1}`,
      number: index + 1,
      digest: null,
      bytes: null,
      places: [],
      inputs: [],
      registeredAtMs: 0,
      actor: "ada",
      producer: { ...producer, step: Number(step) },
      ...(loss === undefined ? {} : { metrics: { loss: Number(loss) } }),
    };
  });

describe("the rule of stored checkpoints", () => {
  const of = (list: readonly ArtifactVersion[], rule: Parameters<typeof keptCheckpoints>[1]) =>
    [...keptCheckpoints(list, rule)].toSorted((left, right) => left - right);
  const run = versions("10:3", "20:1", "30:2", "40:1", "50:4", "60");

  it.each([
    [{}, [4, 5, 6]],
    [{ checkpointKeep: 1 }, [6]],
    [{ checkpointKeep: 1, checkpointKeepEvery: 20 }, [2, 4, 6]],
    // The first of equal ones, and never one without the metric.
    [{ checkpointKeep: 1, checkpointKeepBest: "min loss" }, [2, 6]],
    [{ checkpointKeep: 1, checkpointKeepBest: "max loss" }, [5, 6]],
    [{ checkpointKeep: 1, checkpointKeepBest: "max score" }, [6]],
  ])("%j keeps %j", (rule, kept) => expect(of(run, rule)).toEqual(kept));

  it("keeps the newest of a run that went back to an earlier step", () => {
    expect(of(versions("10", "20", "5"), { checkpointKeep: 1 })).toEqual([3]);
  });
});

it("derives a name that artifacts can have", () => {
  const name = (text: string) => checkpointArtifact({ name: text, team: teamName("lab") }).name;
  expect(["llama-ft", "p12.train.0", "7b", "a".repeat(80)].map(name)).toEqual([
    "llama-ft",
    "p12-train-0",
    "w-7b",
    "a".repeat(63),
  ]);
});

it("reads which metric is best", () => {
  expect(["min loss", "max eval score", "loss", "min "].map(bestOf)).toEqual([
    { goal: "min", metric: "loss" },
    { goal: "max", metric: "eval score" },
    null,
    null,
  ]);
});
