import type { Node } from "@headroom/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cellAt, layoutFleet, neighbour, nodeAtPoint, nodeSize } from "./fleet-layout.ts";

function fleetNode(id: string, change: Partial<Node> = {}): Node {
  return {
    id,
    pool: "p",
    site: "s",
    fabric: [],
    acceleratorType: "A",
    acceleratorCount: 8,
    freeAccelerators: "0-7",
    coresMilli: 0,
    coresFreeMilli: 0,
    memoryMib: 0,
    memoryFreeMib: 0,
    phase: { name: "inService" },
    health: "up",
    draining: false,
    joinedAtMs: 0,
    labels: {},
    holders: [],
    ...change,
  };
}

const fleets = fc
  .array(
    fc.record({
      pool: fc.integer({ max: 3, min: 0 }),
      leaf: fc.integer({ max: 6, min: 0 }),
      count: fc.integer({ max: 16, min: 0 }),
    }),
    {
      maxLength: 150,
    },
  )
  .map((list) =>
    list.map(({ pool, leaf, count }, index) =>
      fleetNode(`n${index}`, { pool: `p${pool}`, fabric: leaf === 0 ? [] : [`leaf-${leaf}`], acceleratorCount: count }),
    ),
  );

describe("the fleet map", () => {
  it("gives every node a place of its own, within the width", () => {
    fc.assert(
      fc.property(fleets, fc.integer({ min: 320, max: 1800 }), (nodes, width) => {
        const layout = layoutFleet(nodes, width);
        expect(layout.boxes.map(({ node }) => node.id).toSorted()).toEqual(nodes.map(({ id }) => id).toSorted());
        const widest = nodes.reduce((most, { acceleratorCount }) => Math.max(most, acceleratorCount), 1);
        const full = nodeSize(layout.grid, widest);
        for (const box of layout.boxes) {
          expect(box.x + full.width).toBeLessThanOrEqual(width);
          expect(box.y + nodeSize(layout.grid, box.node.acceleratorCount).height).toBeLessThanOrEqual(layout.height);
          for (const other of layout.boxes) {
            if (other.index <= box.index) continue;
            const hasAntiAffinity = Math.abs(box.x - other.x) >= full.width || Math.abs(box.y - other.y) >= full.height;
            expect(hasAntiAffinity).toBe(true);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it("finds under a point what it drew there", () => {
    fc.assert(
      fc.property(fleets, (nodes) => {
        const layout = layoutFleet(nodes, 900);
        for (const box of layout.boxes) {
          for (let accelerator = 0; accelerator < box.node.acceleratorCount; accelerator++) {
            const cell = cellAt(layout.grid, box, accelerator);
            const found = nodeAtPoint(layout, cell.x + 1, cell.y + 1);
            expect([found?.box.node.id, found?.accelerator]).toEqual([box.node.id, accelerator]);
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  it("shrinks the cells of a large fleet, and not those of a small one", () => {
    const small = layoutFleet(
      Array.from({ length: 64 }, (_, index) => fleetNode(`n${index}`)),
      1100,
    );
    const large = layoutFleet(
      Array.from({ length: 5_000 }, (_, index) => fleetNode(`n${index}`)),
      1100,
    );
    expect([small.grid.cell, large.grid.cell]).toEqual([20, 4]);
  });

  it("leads from node to node by the arrow keys and stops at the edge", () => {
    const layout = layoutFleet(
      Array.from({ length: 10 }, (_, index) => fleetNode(`n${index}`)),
      400,
    );
    const [first] = layout.boxes;
    if (first === undefined) throw new Error("no node");
    const right = neighbour(layout, first, "right");
    expect(right?.node.id).toBe("n1");
    expect(neighbour(layout, first, "left")).toBeNull();
    expect(neighbour(layout, first, "up")).toBeNull();
    const below = neighbour(layout, first, "down");
    expect([below?.x, (below?.y ?? 0) > first.y]).toEqual([first.x, true]);
  });
});
