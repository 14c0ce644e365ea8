/** Random graphs with faults: every step runs once for each needed version, after its inputs exist, and ends as an oracle says. */
import { describe, expect, it } from "vitest";
import { sliceOf } from "../../../tools/testing/rotating.ts";
import { graphProblems } from "../src/index.ts";
import { Dice, PlayedRun, randomFate, randomPipeline } from "./random-pipelines.ts";
import { TopologicalOracle } from "./topological-oracle.ts";
import type { Ends } from "./topological-oracle.ts";

const RUNS = 10_000;

/** The faults of one random pipeline: a run, and its retries until it succeeds. */
function faultsOf(seed: number): readonly string[] {
  const dice = new Dice(seed);
  const pipeline = randomPipeline(dice);
  const problems = graphProblems(pipeline);
  if (problems.length > 0) return problems.map(({ message }) => message);
  const fate = randomFate(seed);
  const cache = new Map();
  const first = new PlayedRun(pipeline, { id: "p1", fate, dice, cache });
  first.play();
  const oracle = new TopologicalOracle(pipeline, fate);
  const faults = [...differences(first, oracle.play())];
  for (let retry = 1; retry <= 3 && first.run.phase === "failed"; retry++) {
    first.retry();
    faults.push(...differences(first, oracle.play()).map((fault) => `retry ${retry}: ${fault}`));
  }
  const seen = new Set(first.submitted.map(({ key, retryCount }) => `${key} ${retryCount}`));
  if (seen.size < first.submitted.length) faults.push("a step was submitted twice in one try");
  return [...faults, ...first.faults];
}

function differences({ run }: PlayedRun, ends: Ends): readonly string[] {
  const found = new Map([...run.steps].map(([key, { phase }]) => [key, phase === "cached" ? "succeeded" : phase]));
  const keys = new Set([...found.keys(), ...ends.keys()]);
  return [...keys].flatMap((key) =>
    found.get(key) === ends.get(key) ? [] : [`${key} is ${found.get(key)}, and should be ${ends.get(key)}`],
  );
}

describe("random pipelines", () => {
  it("run every step once for each needed version, after its inputs exist", () => {
    for (const seed of sliceOf({ size: RUNS }).seeds) {
      const faults = faultsOf(seed);
      expect(faults, `seed ${seed}`).toEqual([]);
    }
  });
});
