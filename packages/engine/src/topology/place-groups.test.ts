import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeGroups, type GangOnFabric } from "./place-groups.ts";
import type { FabricRequest } from "./place-workers.ts";
import { anyFabric, type Fabric, sharesDomain } from "../../test/lab/fabrics.ts";
import { DomainTree } from "./domain-tree.ts";

const policy = { usesRemnants: false, balances: false };
const anywhere = (workers: number): FabricRequest => ({ workers, required: null, preferred: null, slices: [] });

/** A gang of these groups. `sizes`: the number of places of a leaf that each worker of a group takes. */
function gang(
  { capacity }: Fabric,
  groups: readonly FabricRequest[],
  sizes: readonly number[],
  together: number | null,
): GangOnFabric {
  return {
    groups,
    together,
    capacityOf: (group, leaf, taken) => {
      const used = taken.reduce((sum, workers, other) => sum + workers * (sizes[other] as number), 0);
      return Math.max(0, Math.floor(((capacity[leaf] as number) - used) / (sizes[group] as number)));
    },
  };
}

describe("placing the groups of a gang", () => {
  const tree = new DomainTree(
    ["rack", "node"],
    [
      ["a", "n1"],
      ["a", "n2"],
      ["b", "n3"],
      ["b", "n4"],
    ],
  );
  const free: Fabric = { tree, capacity: [4, 2, 4, 4] };

  it("gives later groups what earlier ones left", () => {
    const outcome = placeGroups(tree, gang(free, [anywhere(4), anywhere(1)], [1, 3], null), policy);
    expect(outcome).toEqual({ kind: "placed", groups: [[{ leaf: 0, workers: 4 }], [{ leaf: 2, workers: 1 }]] });
  });

  it("keeps all groups in one domain if so asked, the tightest that holds them", () => {
    const groups = [anywhere(2), anywhere(1)];
    const outcome = placeGroups(tree, gang(free, groups, [2, 2], 0), policy);
    expect(outcome).toEqual({ kind: "placed", groups: [[{ leaf: 0, workers: 2 }], [{ leaf: 1, workers: 1 }]] });
    const large = placeGroups(tree, gang(free, groups, [2, 3], 0), policy);
    expect(large).toEqual({ kind: "placed", groups: [[{ leaf: 2, workers: 2 }], [{ leaf: 3, workers: 1 }]] });
  });

  it("says which group was left over", () => {
    const outcome = placeGroups(tree, gang(free, [anywhere(6), anywhere(1)], [1, 4], null), policy);
    expect(outcome).toMatchObject({ kind: "placed" });
    expect(placeGroups(tree, gang(free, [anywhere(14), anywhere(1)], [1, 1], null), policy)).toMatchObject({
      kind: "refused",
      group: 1,
      outcome: { kind: "noRoom", fittingSlices: 0, neededSlices: 1 },
    });
    expect(placeGroups(tree, gang(free, [anywhere(9)], [1], 0), policy)).toMatchObject({ kind: "refused", group: 0 });
  });

  it("never gives a leaf more than it holds, and places all groups or none", () => {
    const groups = fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 })), {
      minLength: 1,
      maxLength: 3,
    });
    fc.assert(
      fc.property(anyFabric, groups, fc.option(fc.nat({ max: 1 })), (given, drafts, together) => {
        const sizes = drafts.map(([, size]) => size);
        const requests = drafts.map(([workers]) => anywhere(workers));
        const outcome = placeGroups(given.tree, gang(given, requests, sizes, together), policy);
        if (outcome.kind === "refused") return;
        const used = given.capacity.map(() => 0);
        for (const [group, portions] of outcome.groups.entries()) {
          expect(portions.reduce((sum, portion) => sum + portion.workers, 0)).toBe(requests[group]?.workers);
          for (const { leaf, workers } of portions)
            used[leaf] = (used[leaf] as number) + workers * (sizes[group] as number);
        }
        for (const [leaf, places] of used.entries()) expect(places).toBeLessThanOrEqual(given.capacity[leaf] as number);
        if (together !== null) expect(sharesDomain(given.tree, together, used)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
