import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyWorld, searchIn, worldOfOneResource, type Work, type World } from "./testing/preemption-worlds.ts";
import { plainNode } from "../../../test/lab/quota-trees.ts";
import { QuotaTree } from "../../quota/tree.ts";
import { firstFound } from "../../preemption/pipeline.ts";
import { victimsByAdvantage } from "./victims-by-advantage.ts";
import { victimsByShare } from "./victims-by-share.ts";
import { askedFor, type PreemptionRights, type QuotaChoice, type VictimSearch } from "./victims.ts";

type Selection = (search: VictimSearch<Work>) => readonly QuotaChoice<Work>[] | null;

const byShare: Selection = (search) =>
  firstFound(victimsByShare(search, { first: "atMostFinal", second: "belowInitial" }));
const byFinalShareOnly: Selection = (search) =>
  firstFound(victimsByShare(search, { first: "atMostFinal", second: null }));
const byAdvantage: Selection = (search) => firstFound(victimsByAdvantage(search));
const all: Rights = { within: "lowerPriority", reclaim: "any" };
type Rights = PreemptionRights;

/**
 * Builds a world with one resource, in which all teams are children of one root. Work is given as team, amount and
 * priority.
 */
function teams(
  guarantees: readonly number[],
  running: readonly (readonly [team: number, amount: number, priority?: number])[],
  next: readonly [team: number, amount: number, priority?: number],
  rights: Rights,
): World {
  const nodes = [plainNode(-1, [0]), ...guarantees.map((guarantee) => plainNode(0, [guarantee]))];
  return worldOf(new QuotaTree({ kinds: [0], nodes }), running, next, rights);
}

function worldOf(
  tree: QuotaTree,
  running: readonly (readonly [team: number, amount: number, priority?: number])[],
  next: readonly [team: number, amount: number, priority?: number],
  rights: Rights,
): World {
  const work = running.map(([team, amount, priority = 0], name) => {
    tree.add(team, [amount]);
    return { name, team, amounts: [amount], priority, submittedAtMs: 0 };
  });
  const [team, amount, priority = 0] = next;
  const incoming = { team, amounts: [amount], priority, submittedAtMs: 0, needed: [0] };
  return { spec: { kinds: [0], nodes: [] }, tree, work, incoming, rights };
}

function choose(selection: Selection, world: World): string | null {
  const victims = selection(searchIn(world, () => true));
  return victims?.map((victim) => `${victim.candidate.name} ${victim.reason.kind}`).join(", ") ?? null;
}

describe("victims by share", () => {
  it("takes a guarantee back from whoever is furthest beyond its own", () => {
    const running = [
      [1, 1],
      [2, 1],
      [2, 1],
      [2, 1],
      [3, 1],
      [3, 1],
    ] as const;
    expect(choose(byShare, teams([2, 2, 2], running, [1, 1], all))).toBe("1 reclaimGuarantee");
  });

  it("takes beyond the guarantee only from those who would still have at least as much", () => {
    const running = [
      [1, 1],
      [1, 1],
      [2, 1],
      [2, 1],
      [2, 1],
      [2, 1],
    ] as const;
    expect(choose(byShare, teams([2, 2, 2], running, [1, 1], all))).toBe("2 reclaimShare");
    const even = [
      [1, 1],
      [1, 1],
      [1, 1],
      [2, 1],
      [2, 1],
      [2, 1],
    ] as const;
    expect(choose(byShare, teams([2, 2, 2], even, [1, 1], all))).toBeNull();
  });

  it("takes a large one where nothing smaller would do, if its holder had more", () => {
    const world = (): World => teams([3, 0], [[2, 3]], [1, 3], { within: "never", reclaim: "any" });
    expect(choose(byShare, world())).toBe("0 reclaimGuarantee");
    const borrowing = (): World => teams([2, 4], [[2, 6]], [1, 3], all);
    expect(choose(byFinalShareOnly, borrowing())).toBeNull();
    expect(choose(byShare, borrowing())).toBe("0 reclaimShare");
  });

  it("takes lower priority in its own team, and tells the shares of both sides", () => {
    const running = [
      [1, 1, -1],
      [1, 2],
      [2, 1],
      [2, 1],
      [2, 1],
      [2, 1],
    ] as const;
    const world = teams([2, 2, 3], running, [1, 1], { within: "lowerPriority", reclaim: "never" });
    expect(choose(byShare, world)).toBe("0 withinTeam");
    const victims = byShare(
      searchIn(teams([3, 1, 3], running, [1, 1], { within: "never", reclaim: "any" }), () => true),
    );
    expect(victims?.[0]?.reason).toEqual({
      kind: "reclaimShare",
      incomingShare: { borrowed: 1, lendable: 7, weightMilli: 1000, isBorrowing: true },
      holderShareBefore: { borrowed: 3, lendable: 7, weightMilli: 1000, isBorrowing: true },
      holderShareAfter: { borrowed: 2, lendable: 7, weightMilli: 1000, isBorrowing: true },
    });
  });

  it("compares branches where they meet: a branch that does not borrow protects its teams", () => {
    const nodes = [plainNode(-1, [0]), plainNode(0, [2]), plainNode(1, [0]), plainNode(0, [3])];
    const tree = new QuotaTree({ kinds: [0], nodes });
    expect(
      choose(
        byShare,
        worldOf(
          tree,
          [
            [2, 2],
            [3, 3],
          ],
          [3, 1, 1],
          { within: "never", reclaim: "any" },
        ),
      ),
    ).toBeNull();
  });
});

describe("victims by advantage", () => {
  /** top ─ part (guarantee 2) ─ near; top ─ far: neither team has a guarantee of its own. */
  const split = (): QuotaTree => {
    const nodes = [plainNode(-1, [0]), plainNode(0, [2]), plainNode(1, [0]), plainNode(0, [0])];
    return new QuotaTree({ kinds: [0], nodes });
  };

  it("takes back what its part of the tree owns, whatever the priority", () => {
    expect(choose(byAdvantage, worldOf(split(), [[3, 2, 9]], [2, 2, 0], all))).toBe("0 reclaimGuarantee");
  });

  it("prefers that to lower priority in its own team", () => {
    expect(
      choose(
        byAdvantage,
        worldOf(
          split(),
          [
            [3, 1, 1],
            [2, 1, -2],
          ],
          [2, 1],
          all,
        ),
      ),
    ).toBe("0 reclaimGuarantee");
  });

  it("takes without advantage only inside its guarantee, or low enough priority while it borrows", () => {
    const running = [
      [2, 2, 0],
      [2, 2, -3],
    ] as const;
    expect(choose(byAdvantage, teams([2, 2], running, [1, 2, 1], all))).toBe("1 reclaimGuarantee");
    expect(choose(byAdvantage, teams([1, 3], running, [1, 2, 1], all))).toBeNull();
    const whileBorrowing = { ...all, whileBorrowing: { priorityMax: -2 } };
    expect(choose(byAdvantage, teams([1, 3], running, [1, 1, 1], all))).toBe("1 reclaimGuarantee");
    expect(choose(byAdvantage, teams([0, 3], running, [1, 1, 1], whileBorrowing))).toBe("1 reclaimWhileBorrowing");
    expect(choose(byAdvantage, teams([0, 3], running.slice(0, 1), [1, 2, 1], whileBorrowing))).toBeNull();
  });
});

describe.each([
  ["by share", byShare],
  ["by final share only", byFinalShareOnly],
  ["by advantage", byAdvantage],
])("victims %s", (_, selection) => {
  /** A placement that needs several victims and is monotonic in their number. */
  const settings = fc.record({ world: anyWorld, victimsNeeded: fc.nat({ max: 2 }) });
  const run = (given: { world: World; victimsNeeded: number }): readonly QuotaChoice<Work>[] | null =>
    selection(searchIn(given.world, (victims) => victims.length >= given.victimsNeeded));

  it("make room, are all needed, and are looked for without leaving a trace", () => {
    fc.assert(
      fc.property(settings, (given) => {
        const { tree, incoming } = given.world;
        const before = pictureOf(tree);
        const victims = run(given);
        expect(pictureOf(tree)).toEqual(before);
        if (victims === null) return;
        for (const victim of victims) tree.remove(victim.team, victim.candidate.amounts);
        expect(tree.hasRoomFor(incoming.team, incoming.amounts)).toBe(true);
        // Some victims are eligible only if the incoming workload stays within its guarantee, so a smaller set must
        // satisfy that too.
        const isWithin = (): boolean => tree.isWithinQuotaWith(incoming.team, incoming.amounts, askedFor(incoming));
        const mustStayWithin = selection === byAdvantage && isWithin();
        for (const victim of victims) {
          tree.add(victim.team, victim.candidate.amounts);
          const hasRoom = tree.hasRoomFor(incoming.team, incoming.amounts) && (!mustStayWithin || isWithin());
          expect(hasRoom && victims.length - 1 >= given.victimsNeeded).toBe(false);
          tree.remove(victim.team, victim.candidate.amounts);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("are taken by right only", () => {
    fc.assert(
      fc.property(settings, (given) => {
        const { tree, incoming, rights } = given.world;
        for (const victim of run(given) ?? []) {
          const { candidate } = victim;
          expect(incoming.needed.some((resource) => (candidate.amounts[resource] as number) > 0)).toBe(true);
          const rule = victim.team === incoming.team ? rights.within : rights.reclaim;
          expect(rule).not.toBe("never");
          if (rule === "lowerPriority") expect(candidate.priority).toBeLessThan(incoming.priority);
          expect(victim.reason.kind === "withinTeam").toBe(victim.team === incoming.team);
          if (victim.team !== incoming.team) expect(tree.isBeyondQuotaIn(victim.team, incoming.needed)).toBe(true);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe("no two take from each other in turn", () => {
  /**
   * Worlds with rules under which two teams do not evict each other in turn. They exclude other cases: a team that
   * loses several victims may have so little that it can reclaim some of it. `belowInitial` and preemption while
   * borrowing allow that even with a single victim. To prevent it, the search would have to check the whole plan.
   */
  const guaranteed = (world: World): World => ({ ...world, rights: { within: "lowerPriority", reclaim: "any" } });

  it.each([
    ["by final share", byFinalShareOnly],
    ["by advantage, without borrowing", byAdvantage],
  ])("%s", (_, selection) => {
    let revengeCount = 0;
    fc.assert(
      fc.property(worldOfOneResource.map(guaranteed), (world) => {
        const { tree, incoming } = world;
        const victims = selection(searchIn(world, () => true)) ?? [];
        for (const victim of victims) tree.remove(victim.team, victim.candidate.amounts);
        if (victims.length > 0) tree.add(incoming.team, incoming.amounts);
        for (const { candidate, team } of victims.length === 1 ? victims : []) {
          if (tree.hasRoomFor(team, candidate.amounts)) continue;
          revengeCount++;
          const revenge = { ...world, work: [{ ...incoming, name: 1000 }], incoming: { ...candidate, needed: [0] } };
          expect(selection(searchIn(revenge, () => true))).toBeNull();
        }
      }),
      { numRuns: 3000 },
    );
    expect(revengeCount).toBeGreaterThan(100);
  });
});

function pictureOf(tree: QuotaTree): readonly number[] {
  const nodes = Array.from({ length: tree.nodeCount }, (_, node) => node);
  return nodes.flatMap((node) =>
    Array.from({ length: tree.resourceCount }, (_, resource) => [
      tree.usage(node, resource),
      tree.held(node, resource),
    ]).flat(),
  );
}
