/** Worlds for tests of victim selection: a quota tree with admitted work, and an incoming request. */
import fc from "fast-check";
import { QuotaTree, type QuotaSpec } from "../../../quota/tree.ts";
import type { Incoming, PreemptionRights, QuotaVictimCandidate, VictimSearch } from "../victims.ts";
import { anyQuotaTree, lendingTree } from "../../../../test/lab/quota-trees.ts";

export interface Work extends QuotaVictimCandidate {
  readonly name: number;
  readonly team: number;
}

export interface World {
  readonly spec: QuotaSpec;
  readonly tree: QuotaTree;
  /** Running work; all of it was admitted within the quotas. */
  readonly work: readonly Work[];
  readonly incoming: Incoming;
  readonly rights: PreemptionRights;
}

const amountsUpTo = (max: number): fc.Arbitrary<number[]> => fc.array(fc.nat({ max }), { minLength: 3, maxLength: 3 });

const draft = fc.record({
  place: fc.nat(),
  priority: fc.integer({ min: -1, max: 2 }),
  submittedAtMs: fc.nat({ max: 3 }),
  amounts: amountsUpTo(3),
});

const rights: fc.Arbitrary<PreemptionRights> = fc
  .record({
    within: fc.constantFrom("never" as const, "lowerPriority" as const, "lowerOrNewerEqual" as const),
    reclaim: fc.constantFrom("never" as const, "lowerPriority" as const, "any" as const, "any" as const),
    priorityMax: fc.option(fc.option(fc.integer({ min: -1, max: 1 }), { nil: Number.MAX_SAFE_INTEGER })),
  })
  .map(({ within, reclaim, priorityMax }) => ({
    within,
    reclaim,
    ...(priorityMax === null ? {} : { whileBorrowing: { priorityMax } }),
  }));

/** Worlds in which the incoming work requests the first resource alone, or all three. */
function worldsWith(maskOf: (amounts: readonly number[]) => readonly number[]): fc.Arbitrary<World> {
  return fc
    .record({
      spec: fc.oneof(anyQuotaTree, { weight: 4, arbitrary: lendingTree }),
      drafts: fc.array(draft, { minLength: 8, maxLength: 40, size: "max" }),
      next: draft,
      size: amountsUpTo(4),
      rights,
    })
    .map(({ spec, drafts, next, size, rights: allowed }) => {
      const tree = new QuotaTree(spec);
      const leaves = spec.nodes.flatMap((_, node) => (tree.childrenOf(node).length === 0 ? [node] : []));
      const teamOf = (place: number): number => leaves[place % leaves.length] as number;
      const work = drafts.flatMap(({ place, ...each }, name) => {
        const team = teamOf(place);
        const amounts = maskOf(each.amounts);
        if (!tree.hasRoomFor(team, amounts)) return [];
        tree.add(team, amounts);
        return [{ ...each, amounts, name, team }];
      });
      const { place, ...each } = { ...next, amounts: maskOf(size) };
      const team = teamOf(place);
      const needed = each.amounts.flatMap((amount, resource) =>
        amount > tree.available(team, resource) && amount > 0 ? [resource] : [],
      );
      return { spec, tree, work, incoming: { ...each, team, needed }, rights: allowed };
    });
}

export const anyWorld: fc.Arbitrary<World> = worldsWith((amounts) => amounts);

export const worldOfOneResource: fc.Arbitrary<World> = worldsWith(([first = 0]) => [first, 0, 0]);

/**
 * The input of the victim search for a generated world. Candidates are ordered by priority, lowest first, then by name.
 * `fits` is checked in addition to the quotas.
 */
export function searchIn(world: World, fits: VictimSearch<Work>["fits"]): VictimSearch<Work> {
  const order = (left: Work, right: Work): number => left.priority - right.priority || left.name - right.name;
  const sorted = world.work.toSorted(order);
  const { tree, incoming, rights: allowed } = world;
  const candidatesOf = (team: number): readonly Work[] => sorted.filter((each) => each.team === team);
  return { tree, incoming, rights: allowed, candidatesOf, order, fits };
}
