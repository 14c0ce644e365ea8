import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { divideDownTree, divideFairShare, type ShareClaim, type TreeClaim } from "./divide.ts";

/** Accelerators to the thousandth, which is how the division counts them; weights and priorities as they are. */
function claim(given: Partial<ShareClaim> & { readonly request: number }): ShareClaim {
  const milli = (amount: number | null | undefined): number | null => (amount == null ? null : amount * 1000);
  return {
    guarantee: given.guarantee === undefined ? 0 : milli(given.guarantee),
    limit: milli(given.limit),
    request: given.request * 1000,
    weight: given.weight ?? 1,
    priority: given.priority ?? 0,
  };
}

const divided = (total: number, ...claims: readonly ShareClaim[]): readonly number[] =>
  divideFairShare(total * 1000, claims, 1000).map((share) => share / 1000);

describe("dividing fair shares", () => {
  it("gives guarantees first, as far as they are asked for, and the rest by weight", () => {
    const [left, right] = [
      claim({ guarantee: 10, request: 80, weight: 3 }),
      claim({ guarantee: 10, request: 80, weight: 1 }),
    ];
    expect(divided(100, left, right)).toEqual([70, 30]);
    expect(divided(100, left, claim({ guarantee: 50, request: 5 }))).toEqual([80, 5]);
    expect(divided(15, left, right)).toEqual([10, 10]);
  });

  it("divides by fractions of a weight, of amounts of any size", () => {
    const [left, right] = [claim({ request: 80, weight: 1.5 }), claim({ request: 80, weight: 0.5 })];
    expect(divided(100, left, right)).toEqual([75, 25]);
    const huge = 64_000_000_000_000;
    const claims = [999_999.5, 0.5].map((weight) => ({ ...claim({ request: 0, weight }), request: huge }));
    expect(divideFairShare(huge, claims, 1)).toEqual([63_999_968_000_000, 32_000_000]);
  });

  it("passes on what one does not need", () => {
    const modest = claim({ request: 3 });
    expect(divided(20, modest, claim({ request: 30 }), claim({ request: 30, weight: 2 }))).toEqual([3, 6, 11]);
    expect(divided(20, modest, claim({ request: 30, limit: 4 }), claim({ request: 30 }))).toEqual([3, 4, 13]);
  });

  it("gives whole units, the last ones by the largest rest and then by the order of the claims", () => {
    const equal = claim({ request: 9 });
    expect(divided(10, equal, equal, equal)).toEqual([4, 3, 3]);
    expect(divided(11, equal, equal, equal)).toEqual([4, 4, 3]);
    expect(divided(7, claim({ request: 9, weight: 1 }), claim({ request: 9, weight: 4 }))).toEqual([1, 6]);
    expect(divided(2.5, equal, equal)).toEqual([1.5, 1]);
  });

  it("serves larger priorities first beyond the guarantees, and nobody without weight", () => {
    const low = claim({ guarantee: 2, request: 9, priority: 1, weight: 100 });
    expect(divided(10, low, claim({ guarantee: 2, request: 5, priority: 2 }))).toEqual([5, 5]);
    expect(divided(10, claim({ guarantee: 2, request: 9, weight: 0 }), claim({ request: 3 }))).toEqual([2, 3]);
  });

  it("takes a guarantee without bound for all there is", () => {
    expect(divided(10, claim({ guarantee: null, request: 40 }), claim({ request: 5 }))).toEqual([10, 0]);
  });

  it("never gives more than is asked for and allowed, and leaves nothing that somebody with weight lacks", () => {
    fc.assert(
      fc.property(fc.nat({ max: 100_000 }), fc.array(anyClaim, { maxLength: 12 }), (total, claims) => {
        const shares = divideFairShare(total, claims, 1000);
        const mosts = claims.map((each) => Math.min(each.request, each.limit ?? each.request));
        const floors = claims.map((each, index) => Math.min(each.guarantee ?? total, mosts[index] as number));
        for (const [index, share] of shares.entries()) {
          expect(share).toBeLessThanOrEqual(mosts[index] as number);
          expect(share).toBeGreaterThanOrEqual(floors[index] as number);
        }
        const [given, guaranteed] = [sum(shares), sum(floors)];
        const wanted = sum(mosts.map((most, index) => ((claims[index] as ShareClaim).weight > 0 ? most : 0)));
        const weightless = sum(floors.filter((_, index) => (claims[index] as ShareClaim).weight === 0));
        expect(given).toBe(guaranteed >= total ? guaranteed : Math.min(total, wanted + weightless));
      }),
    );
  });

  it("gives the heavier of two equal claims at least as much, and follows the weights to within a unit", () => {
    const pair = fc.tuple(anyClaim, fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 9 }));
    fc.assert(
      fc.property(fc.nat({ max: 100_000 }), pair, (total, [base, weight, more]) => {
        const light = { ...base, guarantee: 0, weight };
        const heavy = { ...light, weight: weight + more };
        const [ofLight, ofHeavy] = divideFairShare(total, [light, heavy], 1000) as [number, number];
        // One rounding each: the order of the claims settles the last unit.
        expect(ofHeavy).toBeGreaterThanOrEqual(ofLight - (more === 0 ? 1000 : 0));
        if (ofHeavy === Math.min(base.request, base.limit ?? base.request)) return;
        const part = (total * weight) / (2 * weight + more);
        expect(Math.abs(ofLight - Math.min(part, base.request, base.limit ?? part))).toBeLessThanOrEqual(1000);
      }),
    );
  });
});

describe("dividing down a tree", () => {
  const node = (parent: number, given: Parameters<typeof claim>[0]): TreeClaim => ({ ...claim(given), parent });

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

const anyClaim: fc.Arbitrary<ShareClaim> = fc.record({
  guarantee: fc.oneof({ weight: 6, arbitrary: fc.nat({ max: 20_000 }) }, fc.constant(null)),
  limit: fc.option(fc.nat({ max: 40_000 })),
  request: fc.nat({ max: 60_000 }),
  weight: fc.nat({ max: 5 }),
  priority: fc.integer({ min: -1, max: 2 }),
});

const sum = (amounts: readonly number[]): number => amounts.reduce((total, each) => total + each, 0);
