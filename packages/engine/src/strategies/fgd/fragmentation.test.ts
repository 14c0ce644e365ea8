import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeId, poolName } from "@headroom/model";
import type { Node } from "@headroom/model";
import type { WorkerAsk } from "../../state/demand-mix.ts";
import { acceleratorSetOf, NodeSlot } from "../../cluster/node-slot.ts";
import { Fragmentation } from "./fragmentation.ts";
import type { TypicalKind } from "./fragmentation.ts";

/** A node whose accelerators have the free amounts `rooms`, in thousandths of an accelerator. */
function slotWith(rooms: readonly number[], coresMilli: number): NodeSlot {
  const node: Node = {
    id: nodeId("n"),
    pool: poolName("p"),
    fabric: [],
    acceleratorCount: rooms.length,
    acceleratorType: "GPU",
    coresMilli,
    memoryMib: 0,
    ordinal: 0,
    health: "up",
    draining: false,
    joinedAtMs: 0,
  };
  const slot = new NodeSlot(node, 0);
  const holder = { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 };
  rooms.forEach((room, index) => {
    if (room < 1000) slot.hold({ accelerators: acceleratorSetOf([index]) }, { ...holder, shareMilli: 1000 - room }, 1);
  });
  return slot;
}

/** The authors' definition of the score, in floating point. */
function published(rooms: readonly number[], cores: number, kinds: readonly TypicalKind[]): number {
  const total = rooms.reduce((sum, room) => sum + room, 0);
  const count = kinds.reduce((sum, kind) => sum + kind.count, 0);
  const useless = kinds.map((kind) => {
    const usable = rooms.filter((room) => room >= kind.milli);
    const fits = kind.accelerators > 0 && cores >= kind.coresMilli && usable.length >= kind.accelerators;
    return (kind.count / count) * (fits ? total - usable.reduce((sum, room) => sum + room, 0) : total);
  });
  return useless.reduce((sum, part) => sum + part, 0);
}

const sharesOrWhole: fc.Arbitrary<number> = fc.constantFrom(0, 100, 250, 500, 750, 1000);
const kind = fc
  .record({
    accelerators: fc.nat(3),
    milli: fc.constantFrom(250, 500, 1000),
    coresMilli: fc.nat(4),
    count: fc.integer({ min: 1, max: 9 }),
  })
  .map((made): TypicalKind => ({ ...made, milli: made.accelerators === 1 ? made.milli : 1000 }));

describe("the integer score of fragmentation", () => {
  it("is that of its authors wherever floating point is not within a hair of a threshold", () => {
    let compared = 0;
    fc.assert(
      fc.property(
        fc.array(sharesOrWhole, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 6 }),
        fc.array(kind, { minLength: 1, maxLength: 5 }),
        (rooms, cores, kinds) => {
          const ask: WorkerAsk = { accelerators: 1, milli: 250, coresMilli: 1, memoryMib: 0 };
          if (!rooms.some((room) => room >= ask.milli)) return;
          const found = new Fragmentation(kinds).grade(slotWith(rooms, cores), ask);
          const before = published(rooms, cores, kinds);
          const grades = rooms.map((room, at) => {
            if (room < ask.milli) return -1;
            const after = rooms.with(at, room - ask.milli);
            const exact = 100 / (1 + Math.exp((published(after, cores - 1, kinds) - before) / 1000));
            return Math.abs(exact - Math.round(exact)) < 1e-6 ? Math.round(exact) : Math.floor(exact);
          });
          compared++;
          expect(found.grade).toBe(Math.max(...grades));
          expect(found.accelerator).toBe(grades.indexOf(found.grade));
        },
      ),
    );
    expect(compared).toBeGreaterThan(50);
  });
});
