import { expect, it } from "vitest";
import { LineageGraph } from "./lineage-graph.ts";

it("walks 1,000,000 nodes in both directions, each in less than 1 s of processor time", () => {
  const graph = new LineageGraph();
  const count = 1_000_000;
  for (let index = 0; index < count; index += 1) {
    graph.node({ kind: index % 2 === 0 ? "dataset" : "run", namespace: "n", name: String(index) });
    if (index > 0) graph.edge(index >> 1, index);
    if (index > 10) graph.edge(index - 7, index);
  }
  for (const [start, direction] of [
    [0, "down"],
    [count - 1, "up"],
  ] as const) {
    const before = process.cpuUsage();
    const { nodes, isCut } = graph.walk([start], direction, { depthMax: count, nodesMax: count });
    const { user, system } = process.cpuUsage(before);
    expect(isCut).toBe(false);
    if (direction === "down") expect(nodes).toHaveLength(count);
    expect((user + system) / 1e6).toBeLessThan(1);
  }
});
