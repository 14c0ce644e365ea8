import { expect, it } from "vitest";
import { scalingSentence } from "./scale-text.ts";

it.each([
  [0, 0, "No requests in progress."],
  [0, 1_000, "One replica is enough."],
  [2_000, 1_000, "The gateway holds 2 requests for a first replica."],
])("names %d held requests in thousandths with a need of %d", (measuredMilli, neededMilli, sentence) => {
  const ground = { kind: "load", cause: "held", measuredMilli, targetMilli: 0, neededMilli, aheadMs: 0 } as const;
  expect(scalingSentence({ ground, kept: "enough", silentAfterMs: 20_000, refusal: null })).toBe(sentence);
});

it("names the rule that the traffic chose", () => {
  const ground = {
    kind: "load",
    cause: "ttft",
    measuredMilli: 400_000,
    targetMilli: 2_000_000,
    neededMilli: 3_000,
    aheadMs: 60_000,
  } as const;
  const rule = "at least 3: the cheapest rule that had at most the allowed late requests (0.20%)";
  expect(scalingSentence({ ground, kept: "enough", silentAfterMs: 20_000, refusal: null, rule })).toBe(
    `Time to the first token 400 ms, target 2000 ms, so 3 replicas. Rule: ${rule}.`,
  );
});

it("says that an idle endpoint made room for another one", () => {
  const ground = { kind: "load", cause: "idle", targetMilli: 300_000_000, neededMilli: 0, aheadMs: 0 } as const;
  const at = (idleMs: number): string =>
    scalingSentence({
      ground: { ...ground, measuredMilli: 1_000 * idleMs },
      kept: null,
      silentAfterMs: 20_000,
      refusal: null,
    });
  expect(at(300_000)).toBe("No requests for 5 min.");
  expect(at(60_000)).toBe("No requests for 1 min, and another endpoint waited for a place.");
});

it("names the value of a metric source, and why it is not known", () => {
  const ground = {
    kind: "load",
    cause: "metric",
    metric: "jobsQueued",
    measuredMilli: 30_000,
    targetMilli: 20_000,
    neededMilli: 1_500,
    aheadMs: 0,
  } as const;
  const sentence = (gap: "late" | null): string => {
    const metric = { name: "jobsQueued", source: null, kind: "perReplica", target: 20, value: null, gap } as const;
    const kept = gap === null ? "enough" : "metric";
    return scalingSentence({ ground, kept, silentAfterMs: 20_000, refusal: null, metrics: [metric] });
  };
  expect(sentence(null)).toBe("The value of jobsQueued is 30, target 20, so 1.5 replicas.");
  expect(sentence("late")).toContain("no replica is stopped. The last value of jobsQueued is older");
});
