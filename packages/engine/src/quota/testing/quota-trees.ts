/** Quota trees for tests: plain nodes to change, and generated ones with every kind of bound. */
import fc from "fast-check";
import type { QuotaNode, QuotaSpec } from "../tree.ts";

/** A node with guarantees alone and weight 1. */
export function plainNode(parent: number, guarantee: readonly (number | null)[]): QuotaNode {
  const none = guarantee.map(() => null);
  return { parent, guarantee, limit: none, lendingLimit: none, borrowingLimit: none, weightMilli: 1000 };
}

const bound = fc.option(fc.nat({ max: 12 }), { freq: 2 });

/** Up to ten nodes, two resources of one kind and one of another; one or more tops. */
export const anyQuotaTree: fc.Arbitrary<QuotaSpec> = fc
  .array(
    fc.record({
      place: fc.nat(),
      guarantee: fc.array(fc.nat({ max: 12 }), { minLength: 3, maxLength: 3 }),
      limit: fc.array(fc.option(fc.nat({ max: 30 }), { freq: 4 }), { minLength: 3, maxLength: 3 }),
      lendingLimit: fc.array(bound, { minLength: 3, maxLength: 3 }),
      borrowingLimit: fc.array(bound, { minLength: 3, maxLength: 3 }),
      weightMilli: fc.constantFrom(0, 500, 990, 1000, 2000),
    }),
    { minLength: 1, maxLength: 10 },
  )
  .map((drafts) => ({
    kinds: [0, 0, 1],
    nodes: drafts.map(({ place, ...node }, index) => ({ ...node, parent: (place % (index + 1)) - 1 })),
  }));
