import { expect, it } from "vitest";
import { differenceOf } from "./shown-output.ts";

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
