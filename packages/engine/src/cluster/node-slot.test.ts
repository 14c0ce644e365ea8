import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { acceleratorCount, acceleratorIndices, nodeId, poolName } from "@headroom/model";
import { NodeSlot } from "./node-slot.ts";

/** A node on which only the given accelerators are free. */
function slotWith(indices: readonly number[], total: number): NodeSlot {
  const slot = new NodeSlot(
    {
      id: nodeId("n1"),
      pool: poolName("p"),
      fabric: [],
      acceleratorCount: total,
      coresMilli: 0,
      memoryMib: 0,
      ordinal: 0,
      acceleratorType: "H100",
      health: "up",
      draining: false,
      joinedAtMs: 0,
    },
    0,
  );
  const isFree = new Set(indices);
  const one = { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 };
  for (let index = 0; index < total; index++) if (!isFree.has(index)) slot.hold({ accelerators: `${index}` }, one, 1);
  return slot;
}

describe("accelerators that are picked from a node", () => {
  it("come back as the indices they were written from, picked from anywhere", () => {
    const indices = fc.uniqueArray(fc.nat({ max: 130 }), { minLength: 1 }).map((all) => all.toSorted((a, b) => a - b));
    fc.assert(
      fc.property(indices, fc.nat(), fc.nat(), (free, first, many) => {
        const skip = first % free.length;
        const count = 1 + (many % (free.length - skip));
        const set = slotWith(free, 131).pick(skip, count);
        expect(acceleratorIndices(set)).toEqual(free.slice(skip, skip + count));
        expect(acceleratorCount(set)).toBe(count);
      }),
    );
  });

  it("are written with ranges as long as can be", () => {
    const slot = slotWith([0, 1, 2, 3, 6, 30, 31, 32, 33, 64], 65);
    expect(slot.pick(0, 10)).toBe("0-3,6,30-33,64");
    expect(slot.pick(1, 2)).toBe("1-2");
    expect(slot.pick(4, 1)).toBe("6");
    expect(slot.pick(0, 0)).toBe("");
  });

  it("cannot promise more than is free", () => {
    expect(() => slotWith([3, 4], 8).pick(1, 2)).toThrow("node n1 has 2 free accelerators, 3 were promised");
  });
});
