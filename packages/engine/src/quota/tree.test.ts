import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareShares } from "./share.ts";
import { anyQuotaTree, plainNode } from "../../test/lab/quota-trees.ts";
import { type QuotaNode, QuotaTree, UNLIMITED } from "./tree.ts";

/**
 * Team lab (own guarantee 5) with the children vision (guarantee 4, lends 3) and speech (guarantee 4, may borrow 2);
 * one resource, whole units.
 */
function lab(): QuotaTree {
  return new QuotaTree({
    kinds: [0],
    nodes: [
      plainNode(-1, [5]),
      { ...plainNode(0, [4]), lendingLimit: [3] },
      { ...plainNode(0, [4]), borrowingLimit: [2] },
    ],
  });
}

describe("a quota tree", () => {
  it("adds up what children lend, and offers what is left to each", () => {
    const tree = lab();
    expect([tree.subtreeQuota(0, 0), tree.localQuota(1, 0), tree.localQuota(2, 0)]).toEqual([12, 1, 0]);
    expect([tree.available(0, 0), tree.available(1, 0), tree.available(2, 0)]).toEqual([12, 13, 6]);
    tree.add(2, [6]);
    expect([tree.usage(0, 0), tree.available(1, 0), tree.available(2, 0)]).toEqual([6, 7, 0]);
  });

  it("covers use by what is not lent first", () => {
    const tree = lab();
    tree.add(1, [1]);
    expect([tree.usage(0, 0), tree.held(0, 0)]).toEqual([0, 1]);
    tree.add(1, [3]);
    expect([tree.usage(0, 0), tree.held(0, 0)]).toEqual([3, 4]);
    tree.remove(1, [2]);
    expect([tree.usage(0, 0), tree.held(0, 0), tree.localAvailable(1, 0)]).toEqual([1, 2, 0]);
  });

  it("keeps a limit on all that is held below a team", () => {
    const nodes = [
      { ...plainNode(-1, [10]), limit: [8] },
      { ...plainNode(0, [6]), lendingLimit: [0] },
      plainNode(0, [0]),
    ];
    const tree = new QuotaTree({ kinds: [0], nodes });
    expect([tree.available(1, 0), tree.available(2, 0), tree.potentialAvailable(2, 0)]).toEqual([8, 8, 8]);
    tree.add(1, [6]);
    expect([tree.available(1, 0), tree.available(2, 0)]).toEqual([2, 2]);
  });

  it("knows guarantees without bound, and lends of them no more than it may", () => {
    const nodes = [plainNode(-1, [0]), { ...plainNode(0, [null]), lendingLimit: [5] }, plainNode(0, [1])];
    const tree = new QuotaTree({ kinds: [0], nodes });
    tree.add(1, [1000]);
    expect([tree.available(1, 0), tree.available(2, 0), tree.subtreeQuota(0, 0)]).toEqual([UNLIMITED, 6, 6]);
  });

  it("measures a share by the kind of resource that weighs most, types of one kind together", () => {
    const nodes = [
      plainNode(-1, [4, 4, 100]),
      plainNode(0, [2, 2, 50]),
      { ...plainNode(0, [2, 2, 50]), weightMilli: 2000 },
    ];
    const tree = new QuotaTree({ kinds: [0, 0, 1], nodes });
    expect(tree.shareOf(1).isBorrowing).toBe(false);
    tree.add(1, [3, 3, 60]);
    expect(tree.shareOf(1)).toEqual({ borrowed: 2, lendable: 16, weightMilli: 1000, isBorrowing: true });
    tree.add(2, [4, 2, 50]);
    expect(compareShares(tree.shareOf(1), tree.shareOf(2))).toBe(1);
    tree.add(2, [2, 0, 0]);
    expect(compareShares(tree.shareOf(1), tree.shareOf(2))).toBe(0);
  });

  it("puts a team without weight above all others once it borrows", () => {
    const nodes = [plainNode(-1, [9]), { ...plainNode(0, [1]), weightMilli: 0 }, plainNode(0, [1])];
    const tree = new QuotaTree({ kinds: [0], nodes });
    tree.add(2, [2]);
    expect(compareShares(tree.shareOf(1), tree.shareOf(2))).toBe(-1);
    tree.add(1, [2]);
    expect(compareShares(tree.shareOf(1), tree.shareOf(2))).toBe(1);
  });

  it("refuses to give back what nobody holds", () => {
    expect(() => lab().remove(1, [1])).toThrow("would hold -1");
  });

  it("depends on what is held now and on nothing before", () => {
    fc.assert(
      fc.property(
        anyQuotaTree,
        fc.array(fc.tuple(fc.nat(), fc.array(fc.nat({ max: 9 }))), { maxLength: 30 }),
        (spec, steps) => {
          const tree = new QuotaTree(spec);
          const leaves = spec.nodes.flatMap((_, node) => (tree.childrenOf(node).length === 0 ? [node] : []));
          const work = steps.map(([pick, amounts]) => ({
            leaf: leaves[pick % leaves.length] as number,
            amounts: spec.kinds.map((_, resource) => amounts[resource] ?? 0),
          }));
          for (const each of work) tree.add(each.leaf, each.amounts);
          const kept = work.filter((each, index) => {
            if (index % 3 !== 0) return true;
            tree.remove(each.leaf, each.amounts);
            return false;
          });
          const anew = new QuotaTree(spec);
          for (const each of kept.toReversed()) anew.add(each.leaf, each.amounts);
          expect(pictureOf(tree)).toEqual(pictureOf(anew));
        },
      ),
    );
  });

  it("lets nobody use what is not there: work admitted where there is room breaks no bound anywhere", () => {
    fc.assert(
      fc.property(anyQuotaTree, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 9 })), { maxLength: 60 }), (spec, steps) => {
        const tree = new QuotaTree(spec);
        const leaves = spec.nodes.flatMap((_, node) => (tree.childrenOf(node).length === 0 ? [node] : []));
        for (const [pick, size] of steps) {
          const leaf = leaves[pick % leaves.length] as number;
          const amounts = spec.kinds.map((_, resource) => (pick + resource) % (size + 1));
          if (tree.hasRoomFor(leaf, amounts)) tree.add(leaf, amounts);
        }
        for (let node = 0; node < tree.nodeCount; node++) checkBounds(tree, spec.nodes[node] as QuotaNode, node);
      }),
    );
  });

  it("offers an empty tree's node what it could ever use", () => {
    fc.assert(
      fc.property(anyQuotaTree, (spec) => {
        const tree = new QuotaTree(spec);
        for (let node = 0; node < tree.nodeCount; node++) {
          for (const resource of spec.kinds.keys()) {
            expect(tree.available(node, resource)).toBe(tree.potentialAvailable(node, resource));
          }
        }
      }),
    );
  });
});

function pictureOf(tree: QuotaTree): readonly (readonly number[])[] {
  return Array.from({ length: tree.nodeCount }, (_, node) =>
    Array.from({ length: tree.resourceCount }, (__, resource) => [
      tree.usage(node, resource),
      tree.held(node, resource),
      tree.available(node, resource),
    ]).flat(),
  );
}

function checkBounds(tree: QuotaTree, node: QuotaNode, index: number): void {
  for (let resource = 0; resource < tree.resourceCount; resource++) {
    expect(tree.available(index, resource)).toBeGreaterThanOrEqual(0);
    expect(tree.held(index, resource)).toBeLessThanOrEqual(node.limit[resource] ?? UNLIMITED);
    const beyond = tree.parentOf(index) < 0 ? 0 : (node.borrowingLimit[resource] ?? UNLIMITED);
    expect(tree.usage(index, resource) - tree.subtreeQuota(index, resource)).toBeLessThanOrEqual(beyond);
  }
}
