/** Quota trees for tests: plain nodes to modify, and generated trees with every kind of bound. */
import fc from "fast-check";
import type { QuotaNode, QuotaSpec } from "../../src/quota/tree.ts";

/** A node with a guarantee, no other bound, and weight 1. */
export function plainNode(parent: number, guarantee: readonly (number | null)[]): QuotaNode {
  const none = guarantee.map(() => null);
  return { parent, guarantee, limit: none, lendingLimit: none, borrowingLimit: none, weightMilli: 1000 };
}

/** One amount or bound for each of the three resources of the generated trees. */
const each = <T>(amount: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(amount, { minLength: 3, maxLength: 3 });

/** Nodes by their draft; `place` selects a parent among the earlier nodes that `parentOf` allows. */
function specOf(
  drafts: fc.Arbitrary<(Omit<QuotaNode, "parent"> & { readonly place: number })[]>,
  parentOf: (place: number, index: number) => number,
): fc.Arbitrary<QuotaSpec> {
  return drafts.map((nodes) => ({
    kinds: [0, 0, 1],
    nodes: nodes.map(({ place, ...node }, index) => ({ ...node, parent: parentOf(place, index) })),
  }));
}

const weightMilli = fc.constantFrom(0, 500, 990, 1000, 2000);

const tight = fc.record({
  place: fc.nat(),
  guarantee: each(fc.nat({ max: 12 })),
  limit: each(fc.option(fc.nat({ max: 30 }), { freq: 4 })),
  lendingLimit: each(fc.option(fc.nat({ max: 12 }), { freq: 2 })),
  borrowingLimit: each(fc.option(fc.nat({ max: 12 }), { freq: 2 })),
  weightMilli,
});

const generous = fc.record({
  place: fc.nat(),
  guarantee: each(fc.nat({ max: 5 })),
  limit: each(fc.constant(null)),
  lendingLimit: each(fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, fc.nat({ max: 3 }))),
  borrowingLimit: each(fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, fc.nat({ max: 6 }))),
  weightMilli,
});

/** Up to ten nodes with every kind of bound, two resources of one kind and one of another, and one or more roots. */
export const anyQuotaTree: fc.Arbitrary<QuotaSpec> = specOf(
  fc.array(tight, { minLength: 1, maxLength: 10 }),
  (place, index) => (place % (index + 1)) - 1,
);

/** One root, branches below it, and many teams that borrow from each other. */
export const lendingTree: fc.Arbitrary<QuotaSpec> = specOf(
  fc.array(generous, { minLength: 4, maxLength: 9 }),
  (place, index) => (index === 0 ? -1 : place % Math.min(index, 3)),
);
