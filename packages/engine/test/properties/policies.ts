/** Random policies: any combination of the knobs, those that imitate somebody and those that nobody would choose. */
import fc from "fast-check";
import { rulesOf } from "../../src/index.ts";
import type {
  BackfillRules,
  DefragmentRules,
  ElasticRules,
  EvictionRules,
  FabricRules,
  OrderKey,
  Phase,
  Policy,
  Rules,
  TeamOrderKey,
  TeamRules,
} from "../../src/index.ts";

const phases: fc.Arbitrary<readonly Phase[]> = fc.oneof(
  fc.constantFrom<readonly Phase[]>(
    ["place"],
    ["place", "reclaim", "preempt", "grow"],
    ["place", "reclaim", "preempt", "grow"],
    ["place", "consolidate", "reclaim", "preempt", "drop-incomplete"],
    ["rebalance"],
    ["rebalance", "grow"],
  ),
  fc
    .uniqueArray(fc.constantFrom<Phase>("consolidate", "reclaim", "preempt", "defragment", "grow", "drop-incomplete"))
    .map((rest): readonly Phase[] => ["place", ...rest]),
);

const teamKeys: readonly TeamOrderKey[] = [
  "above-share-last",
  "within-guarantee",
  "priority",
  "without-entitlement-last",
  "share-with",
  "share",
  "entitlement",
  "weighted-use",
  "guarantee-ratio",
  "name",
];

const teams: fc.Arbitrary<TeamRules> = fc.record({
  order: fc.oneof(fc.constant([]), fc.uniqueArray(fc.constantFrom(...teamKeys), { maxLength: 4 })),
  share: fc.constantFrom<TeamRules["share"]>("divide", "divide", "weights"),
  nonPreemptible: fc.constantFrom<TeamRules["nonPreemptible"]>("guarantee", "limit"),
  overGuarantee: fc.constantFrom<TeamRules["overGuarantee"]>("idle", "idle", "borrow"),
  usageHalfLifeMs: fc.constantFrom(null, null, 60_000, 700),
});

const backfill: fc.Arbitrary<BackfillRules> = fc
  .record({
    reserve: fc.constantFrom<BackfillRules["reserve"]>("none", "head", "head", "all"),
    depth: fc.integer({ min: 1, max: 3 }),
    assumedWalltimeMs: fc.constantFrom(2000, 100_000),
  })
  // Nothing is drawn for it, so that the worlds of before are what they were.
  .map((rules) => (rules.depth === 1 ? rules : { ...rules, predictFrom: rules.depth - 1 }));

const fabric: fc.Arbitrary<FabricRules> = fc.record({
  choose: fc.constantFrom<FabricRules["choose"]>("fullest", "fewest"),
  unconstrainedToFullest: fc.boolean(),
  balanced: fc.boolean(),
});

const eviction: fc.Arbitrary<EvictionRules> = fc.record({
  search: fc.constantFrom<EvictionRules["search"]>(
    "lowest-cost",
    "lowest-cost",
    "volcano",
    "kai",
    "kueue-fair-sharing",
    "kueue-classical",
  ),
  shareTests: fc.constantFrom<EvictionRules["shareTests"]>([], ["final"], ["final", "initial"]),
  preemptibleBelowPriority: fc.constantFrom(null, 0, 1, 100),
  nominations: fc.constantFrom<EvictionRules["nominations"]>("kept", "kept", "forgotten"),
  lazyPreemption: fc.constant(false),
  checkpointTimeoutMs: fc.constantFrom(0, 0, 400, 5000),
});

const elastic: fc.Arbitrary<ElasticRules> = fc.record({
  grow: fc.constantFrom<ElasticRules["grow"]>("in-order", "last", "last", "never"),
  by: fc.constantFrom<NonNullable<ElasticRules["by"]>>("order", "throughput", "throughput"),
});

const defragment: fc.Arbitrary<DefragmentRules> = fc.record({
  movesPerHour: fc.constantFrom(1, 3, 100),
  restMs: fc.constant(3_600_000),
  lossPerPairMs: fc.constantFrom(0, 1000, 1_000_000),
});

const keys = fc.constantFrom<OrderKey>("submitted", "priority", "walltime", "deadline", "starting", "running", "user");

export const policies: fc.Arbitrary<Policy> = fc
  .record({
    name: fc.constant("random"),
    order: fc.uniqueArray(keys),
    whenHeadBlocked: fc.constantFrom<Policy["whenHeadBlocked"]>("stop", "skip", "skip"),
    placement: fc.constantFrom<Policy["placement"]>(
      "pack",
      "spread",
      "random",
      "best-fit",
      "fragmentation",
      "balanced",
    ),
    exceedsFleet: fc.constantFrom<Policy["exceedsFleet"]>("hold", "hold", "reject"),
    phases: fc.option(phases, { nil: undefined, freq: 4 }),
    teams: fc.option(teams, { nil: undefined, freq: 4 }),
    backfill: fc.option(backfill, { nil: undefined, freq: 4 }),
    fabric: fc.option(fabric, { nil: undefined, freq: 4 }),
    eviction: fc.option(eviction, { nil: undefined, freq: 4 }),
    elastic: fc.option(elastic, { nil: undefined, freq: 4 }),
    defragment: fc.option(defragment, { nil: undefined, freq: 4 }),
  })
  .map((policy) => {
    const known = Object.fromEntries(
      Object.entries(policy).filter(([, knob]) => knob !== undefined),
    ) as unknown as Policy;
    // Told from what was drawn: one draw more would change all that come after it.
    const keeps = known.order.length % 3;
    if (keeps > 0) Object.assign(known, { retryInPlaceMs: keeps === 1 ? 60_000 : 450 });
    if (known.eviction !== undefined && known.order.length % 2 === 0)
      Object.assign(known, { eviction: { ...known.eviction, unstatedPreemptible: "aboveGuarantee" } });
    const waivedInvariants = waivedBy(rulesOf(known));
    return waivedInvariants.length === 0 ? known : { ...known, waivedInvariants };
  });

/**
 * What a combination of knobs gives up by what it is. Promises that are forgotten let a victim take its place back (5, 6, 8); a
 * growing list takes whole gangs for one worker, moves others for them, and finds more victims than it needs (5 to 8); filling up
 * anew names one beneficiary for all that it evicts (6, 7).
 */
function waivedBy({ eviction, phases: inOrder }: Rules): readonly number[] {
  const forgets = eviction.nominations === "forgotten" ? [5, 6, 8] : [];
  const grows = eviction.search === "kai" ? [5, 6, 7, 8] : [];
  return [...new Set([...forgets, ...grows, ...(inOrder.includes("rebalance") ? [6, 7] : [])])].toSorted(
    (left, right) => left - right,
  );
}
