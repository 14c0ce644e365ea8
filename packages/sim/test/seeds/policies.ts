/** Random policies: any combination of the knobs of a round. */
import { rulesOf } from "@headroom/engine";
import type {
  BackfillRules,
  DefragmentRules,
  EvictionRules,
  OrderKey,
  Phase,
  Policy,
  ScheduleTimes,
  TeamOrderKey,
  TeamRules,
} from "@headroom/engine";
import type { Luck } from "./luck.ts";

const orderKeys: readonly OrderKey[] = ["submitted", "priority", "walltime", "deadline", "starting", "running"];
const phaseLists: readonly (readonly Phase[])[] = [
  ["place"],
  ["place", "grow"],
  ["place", "reclaim", "preempt", "grow"],
  ["place", "reclaim", "preempt", "grow"],
  ["place", "consolidate", "reclaim", "preempt", "grow"],
  ["place", "consolidate", "reclaim", "preempt", "drop-incomplete"],
  ["rebalance"],
];
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
];

/** `heedsNames`: whether settings that break ties by name are included. */
export function randomPolicy(luck: Luck, heedsNames: boolean): Policy {
  const users = luck.aside("users").pick<readonly OrderKey[]>([[], [], ["user"]]);
  const order = [...users, ...orderKeys.filter(() => luck.chance(40))];
  const named = luck.pick(phaseLists);
  const defragment = randomDefragmentation(luck.aside("defragmentation"), named);
  const phases: readonly Phase[] = defragment === null ? named : [...named, "defragment"];
  const eviction = randomEviction(luck, heedsNames);
  const placing = luck.aside(`placement ${luck.drawn}`);
  const plain: Policy = {
    name: "random",
    order: restful(luck.chance(50) ? order.toReversed() : order, phases),
    whenHeadBlocked: luck.pick(["stop", "skip", "skip"]),
    placement: randomPlacement(placing, luck.pick(["pack", "spread"])),
    exceedsFleet: luck.pick(["hold", "reject"]),
    phases,
    teams: randomTeamRules(luck, phases.includes("rebalance")),
    backfill: {
      reserve: luck.pick(["none", "head", "all"]),
      depth: luck.between(1, 3),
      assumedWalltimeMs: luck.pick([2000, 100_000]),
      ...(heedsNames ? randomPrediction(luck.aside("prediction")) : {}),
    },
    fabric: {
      choose: heedsNames ? luck.pick(["fullest", "fewest"]) : "fullest",
      unconstrainedToFullest: luck.chance(30),
      balanced: luck.chance(30),
    },
    eviction,
    elastic: {
      grow: luck.pick(["in-order", "last", "last", "never"]),
      by: luck.aside("growth").pick(["order", "throughput"]),
    },
    ...(defragment === null ? {} : { defragment }),
  };
  const reservedTopology = luck.aside(`shapes ${luck.drawn}`);
  const policy =
    heedsNames && !phases.includes("rebalance") && reservedTopology.chance(15)
      ? shaped(plain, reservedTopology)
      : plain;
  const waivedInvariants = waivedBy(policy);
  return waivedInvariants.length === 0 ? policy : { ...policy, waivedInvariants };
}

/** Names describe the work. */
const randomPrediction = (luck: Luck): Pick<BackfillRules, "predictFrom"> =>
  luck.pick([{}, { predictFrom: 1 }, { predictFrom: 2 }]);

/**
 * Rebalancing converges only if running work goes before waiting work: otherwise two requests alternate in one place.
 */
const restful = (order: readonly OrderKey[], phases: readonly Phase[]): readonly OrderKey[] =>
  phases.includes("rebalance") ? ["running", ...order.filter((key) => key !== "running")] : order;

const randomPlacement = (luck: Luck, usual: Policy["placement"]): Policy["placement"] =>
  luck.pick([usual, usual, usual, "best-fit", "fragmentation", "balanced", "random"]);

/**
 * The same with teams that own reserved topology: work from some priority on holds their cells, other work is
 * opportunistic.
 */
function shaped(policy: Policy, luck: Luck): Policy {
  const { teams, fabric, eviction } = rulesOf(policy);
  return {
    ...policy,
    teams: { ...teams, reservedTopology: { fromPriority: luck.between(0, 2) } },
    fabric: { ...fabric, choose: "cells" },
    eviction: { ...eviction, search: "cells", lazyPreemption: luck.chance(50) },
  };
}

/**
 * Invariants that the settings waive by design. Rebalancing names one preemptor for all that it evicts (6, 7). And
 * unless requests that may evict go first, capacity that a plan leaves free may go to work that is evicted at once (8).
 */
function waivedBy({ phases = [], order, teams }: Policy): readonly number[] {
  const [first = ""] = teams?.order ?? [];
  const goesByRight = order[0] === "priority" && ["within-guarantee", "share-with"].includes(first);
  return [...(phases.includes("rebalance") ? [6, 7] : []), ...(goesByRight ? [] : [8])];
}

const everyMinute: ScheduleTimes = {
  minutes: Array.from({ length: 60 }, (_, minute) => minute),
  hours: Array.from({ length: 24 }, (_, hour) => hour),
  daysOfMonth: Array.from({ length: 31 }, (_, day) => day + 1),
  months: Array.from({ length: 12 }, (_, month) => month + 1),
  daysOfWeek: [0, 1, 2, 3, 4, 5, 6],
};

/** Worlds last minutes: an hour becomes a moment. */
function randomDefragmentation(luck: Luck, phases: readonly Phase[]): DefragmentRules | null {
  if (!phases.includes("place") || !luck.chance(50)) return null;
  return {
    movesPerHour: luck.pick([1, 3, 100]),
    restMs: 3_600_000,
    lossPerPairMs: luck.pick([500, 20_000, 1_000_000]),
    ...(luck.chance(25) ? { during: { times: everyMinute, lastsMs: luck.pick([5000, 30_000]) } } : {}),
  };
}

function randomTeamRules(luck: Luck, refills: boolean): TeamRules {
  return {
    order: luck.chance(30) ? [] : teamKeys.filter(() => luck.chance(30)),
    share: luck.pick(["divide", "divide", "weights"]),
    nonPreemptible: luck.pick(["guarantee", "limit"]),
    overGuarantee: luck.pick(["idle", "idle", "borrow"]),
    usageHalfLifeMs: refills ? null : luck.aside("past use").pick([null, null, 10_000, 60_000]),
  };
}

/**
 * KAI's growing victim lists and forgotten nominations waive quiescence (`waivedInvariants` 5): such a world may cycle
 * for ever, so they are left to the property tests.
 */
function randomEviction(luck: Luck, heedsNames: boolean): EvictionRules {
  return {
    search: heedsNames
      ? luck.pick(["lowest-cost", "lowest-cost", "volcano", "kueue-fair-sharing", "kueue-classical"])
      : "lowest-cost",
    shareTests: luck.pick([[], ["final"], ["final", "initial"]]),
    preemptibleBelowPriority: luck.pick([null, 0, 1]),
    nominations: "kept",
    lazyPreemption: false,
    checkpointTimeoutMs: luck.aside("checkpoints").pick([0, 30, 1000, 20_000]),
  };
}
