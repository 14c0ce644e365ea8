import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DomainTree } from "./domain-tree.ts";
import { type FabricOutcome, type FabricPolicy, type FabricRequest, placeWorkers } from "./place-workers.ts";
import { anyFabric, everyPlacement, type Fabric, roomIn, sharesDomain } from "../../test/lab/fabrics.ts";

const packed: FabricPolicy = { usesRemnants: false, balances: false };
const remnants: FabricPolicy = { usesRemnants: true, balances: false };
const balanced: FabricPolicy = { usesRemnants: false, balances: true };

/** A fabric with free places by the path `block/rack/node`. The levels are 0, 1 and 2. */
function fabric(free: Readonly<Record<string, number>>): Fabric {
  const tree = new DomainTree(
    ["block", "rack", "node"],
    Object.keys(free).map((path) => path.split("/")),
  );
  const capacity = Array.from({ length: tree.leafCount }, () => 0);
  for (const [index, places] of Object.values(free).entries()) capacity[tree.leafOfPath[index] as number] = places;
  return { tree, capacity };
}

function place(given: Fabric, request: Partial<FabricRequest> & { workers: number }, policy = packed): string {
  const whole = { required: null, preferred: null, slices: [], ...request };
  const outcome = placeWorkers(given.tree, whole, policy, roomIn(given));
  if (outcome.kind !== "placed") return JSON.stringify(outcome);
  const nameOf = (leaf: number): string => given.tree.pathOf(2, leaf).join("/");
  return outcome.portions.map(({ leaf, workers }) => `${nameOf(leaf)} ${workers}`).join(", ");
}

describe("placing workers", () => {
  const mixed = fabric({ "a/r1/n1": 4, "a/r1/n2": 1, "a/r2/n3": 3, "b/r1/n4": 2, "b/r1/n5": 2, "b/r1/n6": 2 });

  it("takes the tightest domain of a required level, and in it the fewest", () => {
    expect(place(mixed, { workers: 5, required: 1 })).toBe("a/r1/n1 4, a/r1/n2 1");
    expect(place(mixed, { workers: 4, required: 1 })).toBe("a/r1/n1 4");
    expect(place(mixed, { workers: 6, required: 1 })).toBe("b/r1/n4 2, b/r1/n5 2, b/r1/n6 2");
    expect(place(mixed, { workers: 7, required: 0 })).toBe("a/r1/n1 4, a/r2/n3 3");
  });

  it("says how much would have fitted together", () => {
    expect(JSON.parse(place(mixed, { workers: 7, required: 1 }))).toEqual({
      kind: "noRoom",
      level: 1,
      fittingSlices: 6,
      neededSlices: 7,
    });
    expect(JSON.parse(place(mixed, { workers: 15 }))).toMatchObject({ fittingSlices: 14, neededSlices: 15 });
  });

  it("goes up from a preferred level as far as it must, and no further than what is required", () => {
    expect(place(mixed, { workers: 3, preferred: 2 })).toBe("a/r2/n3 3");
    expect(place(mixed, { workers: 8, preferred: 2 })).toBe("a/r1/n1 4, a/r1/n2 1, a/r2/n3 3");
    expect(place(mixed, { workers: 10, preferred: 1 })).toBe("a/r1/n1 4, b/r1/n4 2, b/r1/n5 2, b/r1/n6 2");
    expect(JSON.parse(place(mixed, { workers: 10, preferred: 2, required: 0 }))).toMatchObject({ level: 0 });
    expect(place(mixed, { workers: 8, preferred: 2, required: 0 })).toBe("a/r1/n1 4, a/r1/n2 1, a/r2/n3 3");
  });

  it("packs work that may lie anywhere, or lets it use up what is left over", () => {
    expect(place(mixed, { workers: 6 })).toBe("a/r1/n1 4, b/r1/n4 2");
    expect(place(mixed, { workers: 6 }, remnants)).toBe("a/r1/n2 1, b/r1/n4 2, b/r1/n5 2, b/r1/n6 1");
    expect(place(mixed, { workers: 3 }, remnants)).toBe("a/r2/n3 3");
  });

  it("keeps slices together, on the domains that whole slices fill", () => {
    const threes = fabric({ "a/r1/n1": 3, "a/r1/n2": 2, "a/r1/n3": 2 });
    expect(place(threes, { workers: 4, required: 0, slices: [{ level: 2, workers: 2 }] })).toBe("a/r1/n2 2, a/r1/n3 2");
    expect(place(mixed, { workers: 6, slices: [{ level: 1, workers: 3 }] })).toBe("b/r1/n4 2, b/r1/n5 2, b/r1/n6 2");
    expect(place(mixed, { workers: 9, slices: [{ level: 2, workers: 3 }] })).toContain('"fittingSlices":2');
  });

  it("keeps slices of several levels, one inside the other", () => {
    const wide = fabric({ "a/r1/n1": 3, "a/r1/n2": 2, "a/r2/n3": 4, "b/r1/n4": 4, "b/r1/n5": 1 });
    const slices = [
      { level: 1, workers: 4 },
      { level: 2, workers: 2 },
    ];
    expect(place(wide, { workers: 8, required: 0, slices })).toBe("a/r1/n1 2, a/r1/n2 2, a/r2/n3 4");
    expect(place(wide, { workers: 12, slices })).toBe("a/r1/n1 2, a/r1/n2 2, a/r2/n3 4, b/r1/n4 4");
    expect(place(wide, { workers: 16, slices })).toContain("noRoom");
  });

  it("spreads work evenly where it prefers a level, if so asked", () => {
    const two = fabric({ "a/r1/n1": 15, "a/r2/n2": 15 });
    expect(place(two, { workers: 25, preferred: 1 })).toBe("a/r1/n1 15, a/r2/n2 10");
    expect(place(two, { workers: 25, preferred: 1 }, balanced)).toBe("a/r1/n1 13, a/r2/n2 12");
    const uneven = fabric({ "a/r1/n1": 9, "a/r2/n2": 9, "a/r3/n3": 2, "b/r1/n4": 8, "b/r2/n5": 5 });
    expect(place(uneven, { workers: 12, preferred: 1 }, balanced)).toBe("a/r1/n1 6, a/r2/n2 6");
    expect(place(uneven, { workers: 20, preferred: 1 }, balanced)).toBe("a/r1/n1 9, a/r2/n2 9, a/r3/n3 2");
  });

  it("settles ties between equally tight sets by the names of their domains", () => {
    const racks = { "a/c": 8, "a/d": 1, "a/f": 1, "b/a": 4, "b/e": 4, "c/b": 8, "c/e": 4 };
    const ties = fabric(Object.fromEntries(Object.entries(racks).map(([rack, places]) => [`${rack}/n`, places])));
    expect(place(ties, { workers: 21, preferred: 0 }, balanced)).toBe("a/c/n 8, b/a/n 4, b/e/n 4, c/b/n 5");
  });

  it("refuses what contradicts itself", () => {
    const problemOf = (request: Partial<FabricRequest>): unknown =>
      JSON.parse(place(mixed, { workers: 4, ...request })).problem;
    expect(problemOf({ required: 3 })).toBe("unknownLevel");
    expect(problemOf({ slices: [{ level: -1, workers: 2 }] })).toBe("unknownLevel");
    expect(problemOf({ slices: [{ level: 1, workers: 0 }] })).toBe("sliceWithoutWorkers");
    expect(problemOf({ required: 1, slices: [{ level: 0, workers: 2 }] })).toBe("slicesWiderThanWork");
    expect(problemOf({ slices: [{ level: 1, workers: 3 }] })).toBe("slicesDoNotDivideWork");
    expect(
      problemOf({
        slices: [
          { level: 2, workers: 2 },
          { level: 1, workers: 1 },
        ],
      }),
    ).toBe("slicesOutOfOrder");
  });
});

describe("any placement of workers", () => {
  const policy = fc.record({ usesRemnants: fc.boolean(), balances: fc.boolean() });
  const level = fc.option(fc.nat({ max: 2 }));
  const request: fc.Arbitrary<FabricRequest> = fc
    .record({ count: fc.integer({ min: 1, max: 4 }), required: level, preferred: level, slices: fc.nat({ max: 4 }) })
    .map(({ count, slices, ...levels }) => {
      const start = Math.max(levels.required ?? 0, levels.preferred ?? 0);
      const outer = { level: Math.max(start, 1), workers: 2 };
      const inner = { level: 2, workers: 2 };
      if (slices === 0)
        return {
          ...levels,
          workers: count * 4,
          slices: [{ ...outer, workers: 4 }].concat(outer.level < 2 ? [inner] : []),
        };
      if (slices === 1) return { ...levels, workers: count * 2, slices: [outer] };
      return { ...levels, workers: count * 2 - 1, slices: [] };
    });

  it("takes what is there, keeps levels and slices, and fails only where nothing would fit", () => {
    let placedCount = 0;
    fc.assert(
      fc.property(anyFabric, request, policy, (given, asked, how) => {
        const outcome = placeWorkers(given.tree, asked, how, roomIn(given));
        const possible = everyPlacement(given).some((workers) => isValid(given, asked, workers));
        expect(outcome.kind).toBe(possible ? "placed" : "noRoom");
        if (outcome.kind !== "placed") return;
        placedCount++;
        expect(isValid(given, asked, workersOf(given, outcome))).toBe(true);
        expect(outcome.portions.every((portion) => portion.workers > 0)).toBe(true);
      }),
      { numRuns: 1500 },
    );
    expect(placedCount).toBeGreaterThan(300);
  });

  it("goes up no further from a preferred level than it must", () => {
    fc.assert(
      fc.property(anyFabric, request, (given, asked) => {
        if (asked.preferred === null) return;
        const outcome = placeWorkers(given.tree, asked, packed, roomIn(given));
        if (outcome.kind !== "placed") return;
        const workers = workersOf(given, outcome);
        const valid = everyPlacement(given).filter((each) => isValid(given, asked, each));
        for (let at = Math.max(asked.preferred, asked.required ?? 0); at >= 0; at--) {
          if (valid.some((each) => sharesDomain(given.tree, at, each))) {
            expect(sharesDomain(given.tree, at, workers)).toBe(true);
            return;
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it("depends on the names of domains, not on the order in which they are listed", () => {
    fc.assert(
      fc.property(anyFabric, request, policy, fc.infiniteStream(fc.nat()), (given, asked, how, picks) => {
        const leaves = Array.from({ length: given.tree.leafCount }, (_, leaf) => leaf);
        const shuffled = leaves
          .map((leaf) => [picks.next().value as number, leaf] as const)
          .sort((a, b) => a[0] - b[0]);
        const tree = new DomainTree(
          given.tree.levels,
          shuffled.map(([, leaf]) => given.tree.pathOf(2, leaf)),
        );
        const capacity = leaves.map(() => 0);
        for (const [index, [, leaf]] of shuffled.entries()) {
          capacity[tree.leafOfPath[index] as number] = given.capacity[leaf] as number;
        }
        expect(placeWorkers(tree, asked, how, roomIn({ tree, capacity }))).toEqual(
          placeWorkers(given.tree, asked, how, roomIn(given)),
        );
      }),
    );
  });
});

function workersOf(given: Fabric, outcome: Extract<FabricOutcome, { kind: "placed" }>): number[] {
  const workers = given.capacity.map(() => 0);
  for (const portion of outcome.portions) workers[portion.leaf] = portion.workers;
  return workers;
}

/**
 * Checks a placement against its request alone: all workers are placed within the capacity and the required level, and
 * slices are whole in their domains.
 */
function isValid({ tree, capacity }: Fabric, request: FabricRequest, workers: readonly number[]): boolean {
  if (workers.some((count, leaf) => count > (capacity[leaf] as number))) return false;
  if (workers.reduce((sum, count) => sum + count, 0) !== request.workers) return false;
  if (request.required !== null && !sharesDomain(tree, request.required, workers)) return false;
  return request.slices.every((slice) =>
    Array.from({ length: tree.domainCount(slice.level) }, (_, domain) => {
      const { first, end } = tree.leavesOf(slice.level, domain);
      return workers.slice(first, end).reduce((sum, count) => sum + count, 0);
    }).every((count) => count % slice.workers === 0),
  );
}
