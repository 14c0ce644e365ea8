import { expect, it } from "vitest";
import { asSample, differenceOf } from "./shown-output.ts";

it.each([
  [["a b", "c"], "a   b\n\nc\n", null],
  [["id …, … ms"], "id w1, 12 ms\n", null],
  [["first", "…", "last"], "first\nsecond\nthird\nlast\n", null],
  [["first", "…"], "first\n", null],
  [[], "", null],
  [["a.c"], "abc\n", "the page shows: a.c"],
  [["a", "b"], "a\nc\n", "the page shows: b"],
  [["a"], "a\nmore\n", "the page ends earlier"],
] as const)("%j and %j", (shown, output, difference) => {
  const found = differenceOf(shown, output);
  expect(found?.split("\n")[0] ?? null).toBe(difference);
});

it.each([
  ["w1  echo-d079  step 140/900, loss 2.507  3m55s", "w3 echo-00f4 step 2/900, loss 11 9s"],
  ["created w1", "\u2819\u001B[1G\u001B[0K\u001B[32mcreated w22\u001B[0m"],
])("%j is a sample of %j", (shown, output) => {
  expect(differenceOf([asSample(shown)], asSample(output))).toBe(null);
});

it("sees words that differ from a sample", () => {
  expect(differenceOf([asSample("2 workers failed")], asSample("3 workers ended"))).toContain("N workers failed");
});
