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
