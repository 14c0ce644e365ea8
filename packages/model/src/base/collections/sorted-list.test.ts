import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SortedList } from "./sorted-list.ts";

const ascending = (left: number, right: number): number => left - right;

/** Compares every operation with a plain sorted array. */
function expectSame(list: SortedList<number>, plain: readonly number[], probe: number): void {
  expect(list.length).toBe(plain.length);
  expect(list.first()).toBe(plain[0]);
  expect(list.has(probe)).toBe(plain.includes(probe));
  expect(list.rank(probe)).toBe(plain.filter((item) => item < probe).length);
  const offset = Math.abs(probe) % (plain.length + 2);
  expect([...list.from(offset)]).toEqual(plain.slice(offset));
}

describe("SortedList", () => {
  it("is a sorted array, whatever is inserted and removed", () => {
    const operation = fc.tuple(fc.boolean(), fc.integer({ min: -40, max: 40 }));
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 120 }), (operations) => {
        const list = new SortedList<number>(ascending);
        let plain: number[] = [];
        for (const [isRemoval, item] of operations) {
          if (isRemoval) {
            expect(list.remove(item)).toBe(plain.includes(item));
            plain = plain.filter((each) => each !== item);
          } else if (!plain.includes(item)) {
            list.insert(item);
            plain = [...plain, item].toSorted(ascending);
          }
          expectSame(list, plain, item + 1);
        }
      }),
    );
  });

  it.each([
    ["ascending", (index: number) => index],
    ["descending", (index: number) => -index],
    ["scattered", (index: number) => (index * 2_654_435_761) % 4_294_967_291],
  ])("stays one over many chunks, filled %s and emptied in another order", (_name, itemAt) => {
    const list = new SortedList<number>(ascending);
    const items = Array.from({ length: 3000 }, (_, index) => itemAt(index));
    for (const item of items) list.insert(item);
    const plain = items.toSorted(ascending);
    expect([...list.from(0)]).toEqual(plain);
    for (const position of [0, 1, 511, 512, 513, 1500, 2999]) {
      expect(list.rank(plain[position] as number)).toBe(position);
      expect(list.from(position).next().value).toBe(plain[position]);
    }
    const removed = items.filter((_, index) => index % 3 !== 0);
    for (const item of removed) expect(list.remove(item)).toBe(true);
    const gone = new Set(removed);
    expectSame(
      list,
      plain.filter((item) => !gone.has(item)),
      plain[700] as number,
    );
    for (const item of plain.filter((each) => !gone.has(each))) expect(list.remove(item)).toBe(true);
    expectSame(list, [], 0);
    list.insert(7);
    expectSame(list, [7], 7);
  });
});
