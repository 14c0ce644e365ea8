/** Random policies: any combination of the settings, with and without strategies of other systems. */
import fc from "fast-check";
import type {
  BackfillRules,
  DefragmentRules,
  EvictionRules,
  Growth,
  OrderKey,
  Phase,
  Policy,
  TeamOrderKey,
  TeamRules,
} from "@headroom/model";

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
  nonPreemptible: fc.constantFrom<TeamRules["nonPreemptible"]>("guarantee", "limit"),
  usageHalfLifeMs: fc.constantFrom(null, null, 60_000, 700),
});

const backfill: fc.Arbitrary<BackfillRules> = fc
  .record({
    reserve: fc.constantFrom("none", "head", "head", "all"),
    depth: fc.integer({ min: 1, max: 3 }),
    assumedWalltimeMs: fc.constantFrom(2000, 100_000),
  })
  // Derived without a further random draw, so that the generated worlds stay the same.
  .map(({ reserve, depth, assumedWalltimeMs }) => ({
    protectedStarts: reserve === "none" ? 0 : reserve === "head" ? 1 : depth,
    assumedWalltimeMs,
    ...(depth === 1 ? {} : { predictFrom: depth - 1 }),
  }));

const fabric = fc.constantFrom<NonNullable<Policy["fabric"]>>("fullest", "fewest", "balanced");

const eviction: fc.Arbitrary<EvictionRules> = fc.record({
  preemptible: fc.constantFrom(null, 0, 1, 100).map((belowPriority) => ({ belowPriority })),
  checkpointTimeoutMs: fc.constantFrom(0, 0, 400, 5000),
});

const strategy = fc.constantFrom<NonNullable<Policy["strategy"]>>(
  "headroom",
  "headroom",
  "kai",
  "volcano",
  "armada",
  "kueue-fair-sharing",
  "kueue-fair-sharing-final",
  "kueue-classical",
  "kueue-topology",
);

const elastic: fc.Arbitrary<Growth> = fc
  .record({
    grow: fc.constantFrom<"in-order" | "last" | "never">("in-order", "last", "last", "never"),
    by: fc.constantFrom("order", "throughput", "throughput"),
  })
  .map(({ grow, by }): Growth => (grow === "never" || by === "order" ? grow : `${grow}-by-throughput`));

const defragment: fc.Arbitrary<DefragmentRules> = fc.record({
  migrationsPerHour: fc.constantFrom(1, 3, 100),
  lossPerPairMs: fc.constantFrom(0, 1000, 1_000_000),
});

const keys = fc.constantFrom<OrderKey>("submitted", "priority", "walltime", "deadline", "starting", "running", "user");

export const policies: fc.Arbitrary<Policy> = fc
  .record({
    name: fc.constant("random"),
    order: fc.uniqueArray(keys),
    whenHeadBlocked: fc.constantFrom<Policy["whenHeadBlocked"]>("stop", "skip", "skip"),
    placement: fc.constantFrom("pack", "spread", "random", "best-fit", "fragmentation", "balanced"),
    exceedsFleet: fc.constantFrom<Policy["exceedsFleet"]>("hold", "hold", "reject"),
    phases: fc.option(phases, { nil: undefined, freq: 4 }),
    teams: fc.option(teams, { nil: undefined, freq: 4 }),
    backfill: fc.option(backfill, { nil: undefined, freq: 4 }),
    fabric: fc.option(fabric, { nil: undefined, freq: 4 }),
    eviction: fc.option(eviction, { nil: undefined, freq: 4 }),
    elastic: fc.option(elastic, { nil: undefined, freq: 4 }),
    defragment: fc.option(defragment, { nil: undefined, freq: 4 }),
    strategy: fc.option(strategy, { nil: undefined, freq: 4 }),
  })
  .map((policy) => {
    const known = Object.fromEntries(
      Object.entries(policy).filter(([, knob]) => knob !== undefined),
    ) as unknown as Policy;
    // Derived from earlier draws: a further draw would change all later ones.
    const keeps = known.order.length % 3;
    const { teams: rulesOfTeams } = known;
    if (rulesOfTeams?.nonPreemptible === "guarantee" && known.order.length % 2 === 1)
      Object.assign(known, { teams: { ...rulesOfTeams, nonPreemptible: "unguaranteed" } });
    if (keeps > 0) Object.assign(known, { retryInPlaceMs: keeps === 1 ? 60_000 : 450 });
    if (known.eviction !== undefined && known.order.length % 2 === 0)
      Object.assign(known, {
        eviction: {
          ...known.eviction,
          preemptible: { ...known.eviction.preemptible, otherwise: "aboveGuarantee" },
        },
      });
    return known;
  });
