import { describe, expect, it } from "vitest";
import { DomainTree } from "./domain-tree.ts";

describe("a domain tree", () => {
  const paths = [
    ["b", "r1", "n4"],
    ["a", "r2", "n3"],
    ["a", "r1", "n9"],
    ["a", "r1", "n1"],
    ["b", "r1", "n4"],
  ];
  const tree = new DomainTree(["block", "rack", "node"], paths);

  it("orders domains by their paths and keeps children together", () => {
    expect([0, 1, 2].map((level) => tree.domainCount(level))).toEqual([2, 3, 4]);
    expect([0, 1, 2].map((domain) => tree.pathOf(1, domain).join("/"))).toEqual(["a/r1", "a/r2", "b/r1"]);
    expect([tree.childrenOf(0, 0), tree.childrenOf(0, 1), tree.childrenOf(1, 0)]).toEqual([
      { first: 0, end: 2 },
      { first: 2, end: 3 },
      { first: 0, end: 2 },
    ]);
    expect([tree.leavesOf(0, 0), tree.leavesOf(2, 3)]).toEqual([
      { first: 0, end: 3 },
      { first: 3, end: 4 },
    ]);
  });

  it("tells which leaf each path leads to; equal paths share one", () => {
    expect(tree.leafOfPath.map((leaf) => tree.pathOf(2, leaf).join("/"))).toEqual(paths.map((path) => path.join("/")));
    expect(tree.leafOfPath[0]).toBe(tree.leafOfPath[4]);
  });

  it("keeps equal names under different parents apart", () => {
    expect(
      new DomainTree(
        ["rack", "node"],
        [
          ["r1", "n"],
          ["r2", "n"],
        ],
      ).leafCount,
    ).toBe(2);
  });

  it("may be empty, but not without levels or with paths of another length", () => {
    expect(new DomainTree(["rack"], []).leafCount).toBe(0);
    expect(() => new DomainTree([], [])).toThrow("at least one level");
    expect(() => new DomainTree(["rack", "node"], [["r1"]])).toThrow("has 1 names");
  });
});
