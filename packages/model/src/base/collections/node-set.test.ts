import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NodeSet, lowestBit } from "./node-set.ts";

describe("NodeSet", () => {
  it("is a set of integers that knows the next and the previous member from anywhere", () => {
    const position = fc.oneof(
      fc.integer({ min: 0, max: 70 }),
      fc.constantFrom(31, 32, 1023, 1024, 1055, 32_767, 32_768, 70_000),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), position, position), { maxLength: 60 }), (operations) => {
        const set = new NodeSet();
        const plain = new Set<number>();
        for (const [isRemoval, item, from] of operations) {
          if (isRemoval) {
            set.delete(item);
            plain.delete(item);
          } else {
            set.add(item);
            plain.add(item);
          }
          const after = [...plain].filter((each) => each >= from);
          expect(set.next(from)).toBe(after.length === 0 ? -1 : Math.min(...after));
          const before = [...plain].filter((each) => each <= from);
          expect(set.previous(from)).toBe(before.length === 0 ? -1 : Math.max(...before));
        }
        const all: number[] = [];
        for (let at = set.next(0); at >= 0; at = set.next(at + 1)) all.push(at);
        expect(all).toEqual([...plain].toSorted((left, right) => left - right));
      }),
    );
  });

  it("knows the lowest bit of every word, the sign bit too", () => {
    for (let bit = 0; bit < 32; bit++) {
      expect(lowestBit(1 << bit)).toBe(bit);
      expect(lowestBit(-1 << bit)).toBe(bit);
    }
  });
});
