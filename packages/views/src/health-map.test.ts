import type { Node } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { nodeMap } from "./health-map.ts";

describe("the map of a comparable set", () => {
  it("has a letter for each node, and the worst of each cell in a large set", () => {
    const nodes = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `n${index}` }) as Node);
    const phaseOf = ({ id }: Node) =>
      id === "n2" ? "lost" : id === "n3" ? "faulty" : id === "n4" ? "draining" : "inService";
    expect(nodeMap(nodes(6), phaseOf)).toEqual({ nodesPerCell: 1, cells: "..lfd." });
    expect(nodeMap([], phaseOf)).toEqual({ nodesPerCell: 1, cells: "" });
    const { nodesPerCell, cells } = nodeMap(nodes(1_025), phaseOf);
    expect([nodesPerCell, cells.length, cells.slice(0, 3)]).toEqual([3, 342, "lf."]);
  });
});
