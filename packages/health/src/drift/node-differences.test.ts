import { expect, it } from "vitest";
import { factsOfNode, nodeDifferences } from "./node-differences.ts";

const suite = (test: string, text: string) => ({
  node: "n",
  test,
  value: null,
  unit: null,
  verdict: null,
  source: "suite" as const,
  text,
});

it("a node differs in facts that most of its set have alike, and not in its place or in values of its own", () => {
  const labels = { "nvidia.com/cuda.driver.major": "550", rack: "r1", hostname: "n1", batch: "b7", serial: "x1" };
  const own = factsOfNode(labels, [suite("software/kernel", "6.6"), { ...suite("hbm", ""), text: undefined as never }]);
  expect([...own.keys()]).toEqual(["nvidia.com/cuda.driver.major", "batch", "software/kernel"]);
  const other = (at: number): ReadonlyMap<string, string> =>
    new Map([
      ["nvidia.com/cuda.driver.major", "550"],
      ["batch", `b${at % 3}`],
      ["software/kernel", at === 0 ? "6.6" : "6.1"],
      ["layout/network", "8 x 400000 Mb/s"],
    ]);
  const others = Array.from({ length: 6 }, (_, at) => other(at));
  expect(nodeDifferences(own, others)).toEqual([
    { fact: "layout/network", value: null, expected: "8 x 400000 Mb/s", peerCount: 6, comparedCount: 6 },
    { fact: "software/kernel", value: "6.6", expected: "6.1", peerCount: 5, comparedCount: 6 },
  ]);
  expect(nodeDifferences(own, others.slice(0, 2))).toEqual([]);
});
