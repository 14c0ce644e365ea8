import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { divideDownTree, divideFairShare, type ShareRequest, type TreeShareRequest } from "./divide.ts";

/** Accelerators in thousandths, the unit of the division. Weights and priorities stay as given. */
function entitlement(given: Partial<ShareRequest> & { readonly request: number }): ShareRequest {
  const milli = (amount: number | null | undefined): number | null => (amount == null ? null : amount * 1000);
  return {
    guarantee: given.guarantee === undefined ? 0 : milli(given.guarantee),
    limit: milli(given.limit),
    request: given.request * 1000,
    weight: given.weight ?? 1,
    priority: given.priority ?? 0,
  };
}

const divided = (total: number, ...entitlements: readonly ShareRequest[]): readonly number[] =>
  divideFairShare(total * 1000, entitlements, 1000).map((share) => share / 1000);

describe("dividing fair shares", () => {
  it("gives guarantees first, as far as they are asked for, and the rest by weight", () => {
    const [left, right] = [
      entitlement({ guarantee: 10, request: 80, weight: 3 }),
      entitlement({ guarantee: 10, request: 80, weight: 1 }),
    ];
    expect(divided(100, left, right)).toEqual([70, 30]);
    expect(divided(100, left, entitlement({ guarantee: 50, request: 5 }))).toEqual([80, 5]);
    expect(divided(15, left, right)).toEqual([10, 10]);
  });

  it("divides by fractions of a weight, of amounts of any size", () => {
    const [left, right] = [entitlement({ request: 80, weight: 1.5 }), entitlement({ request: 80, weight: 0.5 })];
    expect(divided(100, left, right)).toEqual([75, 25]);
    const huge = 64_000_000_000_000;
    const entitlements = [999_999.5, 0.5].map((weight) => ({ ...entitlement({ request: 0, weight }), request: huge }));
    expect(divideFairShare(huge, entitlements, 1)).toEqual([63_999_968_000_000, 32_000_000]);
  });

  it("passes on what one does not need", () => {
    const modest = entitlement({ request: 3 });
    expect(divided(20, modest, entitlement({ request: 30 }), entitlement({ request: 30, weight: 2 }))).toEqual([
      3, 6, 11,
    ]);
    expect(divided(20, modest, entitlement({ request: 30, limit: 4 }), entitlement({ request: 30 }))).toEqual([
      3, 4, 13,
    ]);
  });

  it("gives whole units, the last ones by the largest rest and then by the order of the claims", () => {
    const equal = entitlement({ request: 9 });
    expect(divided(10, equal, equal, equal)).toEqual([4, 3, 3]);
    expect(divided(11, equal, equal, equal)).toEqual([4, 4, 3]);
    expect(divided(7, entitlement({ request: 9, weight: 1 }), entitlement({ request: 9, weight: 4 }))).toEqual([1, 6]);
    expect(divided(2.5, equal, equal)).toEqual([1.5, 1]);
  });

  it("serves larger priorities first beyond the guarantees, and nobody without weight", () => {
    const low = entitlement({ guarantee: 2, request: 9, priority: 1, weight: 100 });
    expect(divided(10, low, entitlement({ guarantee: 2, request: 5, priority: 2 }))).toEqual([5, 5]);
    expect(divided(10, entitlement({ guarantee: 2, request: 9, weight: 0 }), entitlement({ request: 3 }))).toEqual([
      2, 3,
    ]);
  });

  it("takes a guarantee without bound for all there is", () => {
    expect(divided(10, entitlement({ guarantee: null, request: 40 }), entitlement({ request: 5 }))).toEqual([10, 0]);
  });

  it("never gives more than is asked for and allowed, and leaves nothing that somebody with weight lacks", () => {
    fc.assert(
      fc.property(fc.nat({ max: 100_000 }), fc.array(anyEntitlement, { maxLength: 12 }), (total, entitlements) => {
        const shares = divideFairShare(total, entitlements, 1000);
        const mosts = entitlements.map((each) => Math.min(each.request, each.limit ?? each.request));
        const floors = entitlements.map((each, index) => Math.min(each.guarantee ?? total, mosts[index] as number));
        for (const [index, share] of shares.entries()) {
          expect(share).toBeLessThanOrEqual(mosts[index] as number);
          expect(share).toBeGreaterThanOrEqual(floors[index] as number);
        }
        const [given, guaranteed] = [sum(shares), sum(floors)];
        const wanted = sum(mosts.map((most, index) => ((entitlements[index] as ShareRequest).weight > 0 ? most : 0)));
        const weightless = sum(floors.filter((_, index) => (entitlements[index] as ShareRequest).weight === 0));
        expect(given).toBe(guaranteed >= total ? guaranteed : Math.min(total, wanted + weightless));
      }),
    );
  });

  it("gives the heavier of two equal claims at least as much, and follows the weights to within a unit", () => {
    const pair = fc.tuple(anyEntitlement, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 9 }));
    fc.assert(
      fc.property(fc.nat({ max: 100_000 }), pair, (total, [base, weight, more]) => {
        const light = { ...base, guarantee: 0, weight };
        const heavy = { ...light, weight: weight + more };
        const [ofLight, ofHeavy] = divideFairShare(total, [light, heavy], 1000) as [number, number];
        // Each share is rounded only once. The order of the requests decides which team gets the last unit.
        expect(ofHeavy).toBeGreaterThanOrEqual(ofLight - (more === 0 ? 1000 : 0));
        if (ofHeavy === Math.min(base.request, base.limit ?? base.request)) return;
        const part = (total * weight) / (2 * weight + more);
        expect(Math.abs(ofLight - Math.min(part, base.request, base.limit ?? part))).toBeLessThanOrEqual(1000);
      }),
    );
  });
});

describe("dividing down a tree", () => {
  const node = (parent: number, given: Parameters<typeof entitlement>[0]): TreeShareRequest => ({
    ...entitlement(given),
    parent,
  });

  it("divides the top first, then among the children what their parent got", () => {
    const tree = [
      node(-1, { guarantee: 40, request: 0, weight: 1 }),
      node(-1, { guarantee: 40, request: 90, weight: 1 }),
      node(0, { guarantee: 10, request: 30, weight: 3 }),
      node(0, { guarantee: 10, request: 60, weight: 1 }),
    ];
    expect(divideDownTree(100_000, tree, 1000)).toEqual([50_000, 50_000, 30_000, 20_000]);
  });

  it("asks for a team what is asked for anywhere below it, up to its limit", () => {
    const tree = [
      node(-1, { request: 0, limit: 12 }),
      node(0, { request: 1 }),
      node(1, { request: 30 }),
      node(-1, { request: 50 }),
    ];
    expect(divideDownTree(40_000, tree, 1000)).toEqual([12_000, 12_000, 12_000, 28_000]);
  });
});

const anyEntitlement: fc.Arbitrary<ShareRequest> = fc.record({
  guarantee: fc.oneof({ weight: 6, arbitrary: fc.nat({ max: 20_000 }) }, fc.constant(null)),
  limit: fc.option(fc.nat({ max: 40_000 })),
  request: fc.nat({ max: 60_000 }),
  weight: fc.nat({ max: 5 }),
  priority: fc.integer({ min: -1, max: 2 }),
});

const sum = (amounts: readonly number[]): number => amounts.reduce((total, each) => total + each, 0);
