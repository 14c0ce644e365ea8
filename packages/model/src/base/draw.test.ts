import { describe, expect, it } from "vitest";
import { draw } from "./draw.ts";

/** Chi-square of counts that should be equal. */
function chiSquare(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

function countsOf(values: Iterable<number>, buckets: number): number[] {
  const counts = Array.from({ length: buckets }, () => 0);
  for (const value of values) counts[value] = (counts[value] as number) + 1;
  return counts;
}

const sequences = Array.from({ length: 20_000 }, (_, index) => index);

/** With 63 degrees of freedom, a fair source exceeds 117 once in 20,000 runs. The drawn numbers are always the same. */
const LIMIT = 117;

describe("draw", () => {
  it("is the same number for ever", () => {
    expect([draw(1, 1, "fault"), draw(1, 2, "fault"), draw(2, 1, "fault"), draw(1, 1, "size")]).toEqual([
      3121080803, 1792084062, 3732966782, 3088336489,
    ]);
  });

  it.each([
    ["its high bits", (value: number) => value >>> 26],
    ["its low bits", (value: number) => value & 63],
  ])("is even over its range in %s, by sequence and by seed", (_name, bucket) => {
    const bySequence = sequences.map((sequence) => bucket(draw(42, sequence, "x")));
    const bySeed = sequences.map((seed) => bucket(draw(seed, 42, "x")));
    expect(chiSquare(countsOf(bySequence, 64))).toBeLessThan(LIMIT);
    expect(chiSquare(countsOf(bySeed, 64))).toBeLessThan(LIMIT);
  });

  it("draws independently for different purposes", () => {
    const pairs = sequences.map((sequence) => (draw(7, sequence, "a") >>> 29) * 8 + (draw(7, sequence, "b") >>> 29));
    expect(chiSquare(countsOf(pairs, 64))).toBeLessThan(LIMIT);
  });

  it("never lets one seed's draws be another's, shifted", () => {
    const of = (seed: number): Set<number> =>
      new Set(sequences.slice(0, 1_000).map((sequence) => draw(seed, sequence, "x")));
    const first = of(1);
    expect([...of(2), ...of(3)].filter((value) => first.has(value)).length).toBeLessThan(3);
  });

  it("uses all of a seed and a sequence, beyond 32 bits as well", () => {
    const far = 2 ** 32;
    expect(new Set([draw(1, 1, "x"), draw(1 + far, 1, "x"), draw(1, 1 + far, "x")]).size).toBe(3);
  });

  it("is an unsigned integer of 32 bits", () => {
    for (const sequence of sequences.slice(0, 200)) {
      const value = draw(3, sequence, "x");
      expect(Number.isInteger(value) && value >= 0 && value < 2 ** 32).toBe(true);
    }
  });
});
