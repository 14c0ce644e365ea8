/** Random policies: any combination of the settings of a round. */
import { waivedInvariants } from "@headroom/engine-oracle";
import type {
  BackfillRules,
  DefragmentRules,
  EvictionRules,
  Growth,
  OrderKey,
  Phase,
  Policy,
  ScheduleTimes,
  TeamOrderKey,
  TeamRules,
} from "@headroom/model";
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

/** `heedsNames`: whether to include settings that break ties by name. */
export function randomPolicy(luck: Luck, heedsNames: boolean): Policy {
  const users = luck.aside("users").pick<readonly OrderKey[]>([[], [], ["user"]]);
  const order = [...users, ...orderKeys.filter(() => luck.chance(40))];
  const named = luck.pick(phaseLists);
  const defragment = randomDefragmentation(luck.aside("defragmentation"), named);
  const phases: readonly Phase[] = defragment === null ? named : [...named, "defragment"];
  const { victims, ...eviction } = randomEviction(luck, heedsNames);
  const placing = luck.aside(`placement ${luck.drawn}`);
  const inOrder = restful(luck.chance(50) ? order.toReversed() : order, phases);
  const whenHeadBlocked = luck.pick<Policy["whenHeadBlocked"]>(["stop", "skip", "skip"]);
  const placement = randomPlacement(placing, luck.pick(["pack", "spread"]));
  const exceedsFleet = luck.pick<Policy["exceedsFleet"]>(["hold", "reject"]);
  const { share, ...teams } = randomTeamRules(luck, { refills: phases.includes("rebalance"), heedsNames });
  const plain: Policy = {
    name: "random",
    order: inOrder,
    whenHeadBlocked,
    placement,
    exceedsFleet,
    phases,
    teams,
    backfill: {
      protectedStarts: randomProtectedStarts(luck),
      assumedWalltimeMs: luck.pick([2000, 100_000]),
      ...(heedsNames ? randomPrediction(luck.aside("prediction")) : {}),
    },
    fabric: heedsNames ? luck.pick(["fullest", "fewest"]) : "fullest",
    eviction,
    ...(defragment === null ? {} : { defragment }),
  };
  const isUnconstrained = luck.chance(30);
  const isBalanced = luck.chance(30) && plain.fabric === "fewest";
  const grow = luck.pick<"in-order" | "last" | "never">(["in-order", "last", "last", "never"]);
  const isByGain = luck.aside("growth").pick(["order", "throughput"]) === "throughput" && grow !== "never";
  const elastic: Growth = isByGain ? `${grow}-by-throughput` : grow;
  const whole: Policy = { ...plain, elastic, ...(isBalanced ? { fabric: "balanced" } : {}) };
  const reservedTopology = luck.aside(`shapes ${luck.drawn}`);
  if (heedsNames && !phases.includes("rebalance") && reservedTopology.chance(15))
    return { ...whole, strategy: reservedTopology.chance(50) ? "hived" : "hived-eager" };
  return { ...whole, strategy: victims ?? (isUnconstrained ? "kueue-topology" : share) };
}

function randomProtectedStarts(luck: Luck): number {
  const reserve = luck.pick(["none", "head", "all"]);
  const depth = luck.between(1, 3);
  return reserve === "none" ? 0 : reserve === "head" ? 1 : depth;
}

/** Random prediction settings. Predictions depend on names, because names describe the kind of work. */
const randomPrediction = (luck: Luck): Pick<BackfillRules, "predictFrom"> =>
  luck.pick([{}, { predictFrom: 1 }, { predictFrom: 2 }]);

/**
 * Rebalancing converges only if running work is ordered before waiting work. Otherwise two requests take each other's
 * place again and again.
 */
const restful = (order: readonly OrderKey[], phases: readonly Phase[]): readonly OrderKey[] =>
  phases.includes("rebalance") ? ["running", ...order.filter((key) => key !== "running")] : order;

const randomPlacement = (luck: Luck, usual: Policy["placement"]): Policy["placement"] =>
  luck.pick([usual, usual, usual, "best-fit", "fragmentation", "balanced", "random"]);

/**
 * Invariants that are not checked for random policies, in addition to those that the imitated systems do not keep.
 * Unless requests that can evict go first, capacity that a plan leaves free can go to work that is evicted at once (8).
 */
export function waivedAtRandom(policy: Policy): ReadonlySet<number> {
  const [first = ""] = policy.teams?.order ?? [];
  const goesByRight = policy.order[0] === "priority" && ["within-guarantee", "share-with"].includes(first);
  return new Set([...waivedInvariants(policy), ...(goesByRight ? [] : [8])]);
}

const everyMinute: ScheduleTimes = {
  minutes: Array.from({ length: 60 }, (_, minute) => minute),
  hours: Array.from({ length: 24 }, (_, hour) => hour),
  daysOfMonth: Array.from({ length: 31 }, (_, day) => day + 1),
  months: Array.from({ length: 12 }, (_, month) => month + 1),
  daysOfWeek: [0, 1, 2, 3, 4, 5, 6],
};

/** Worlds last minutes, so rules that speak of an hour get a moment instead. */
function randomDefragmentation(luck: Luck, phases: readonly Phase[]): DefragmentRules | null {
  if (!phases.includes("place") || !luck.chance(50)) return null;
  return {
    migrationsPerHour: luck.pick([1, 3, 100]),
    lossPerPairMs: luck.pick([500, 20_000, 1_000_000]),
    ...(luck.chance(25) ? { during: { times: everyMinute, lastsMs: luck.pick([5000, 30_000]) } } : {}),
  };
}

type RandomStrategy = NonNullable<Policy["strategy"]>;

interface TeamChoice {
  readonly refills: boolean;
  readonly heedsNames: boolean;
}

/** Rules for teams, and the strategy that the fair share belongs to. Kueue breaks ties between victims by name. */
function randomTeamRules(
  luck: Luck,
  { refills, heedsNames }: TeamChoice,
): TeamRules & { readonly share: RandomStrategy } {
  const order = luck.chance(30) ? [] : teamKeys.filter(() => luck.chance(30));
  const share = luck.pick<RandomStrategy>(["headroom", "headroom", "armada"]);
  const isUnguaranteed = luck.aside("unguaranteed").chance(50);
  const bound = luck.pick<TeamRules["nonPreemptible"]>(["guarantee", "limit"]);
  const nonPreemptible = bound === "guarantee" && isUnguaranteed ? "unguaranteed" : bound;
  const borrows = luck.pick([false, false, true]);
  const usageHalfLifeMs = refills ? null : luck.aside("past use").pick([null, null, 10_000, 60_000]);
  return { order, nonPreemptible, usageHalfLifeMs, share: borrows && heedsNames ? "kueue-classical" : share };
}

/**
 * Rules for evictions, and the strategy that searches victims; `null`: Headroom's own search. KAI's growing victim
 * lists and forgotten nominations do not keep quiescence (5): such a world can cycle forever, so the property tests
 * cover them.
 */
function randomEviction(luck: Luck, heedsNames: boolean): EvictionRules & { readonly victims: RandomStrategy | null } {
  const found = heedsNames
    ? luck.pick<RandomStrategy | null>([null, null, "volcano", "kueue-fair-sharing", "kueue-classical"])
    : null;
  const isFinal = luck.pick([true, true, false]);
  return {
    victims: found === "kueue-fair-sharing" && isFinal ? "kueue-fair-sharing-final" : found,
    preemptible: { belowPriority: luck.pick([null, 0, 1]) },
    checkpointTimeoutMs: luck.aside("checkpoints").pick([0, 30, 1000, 20_000]),
  };
}
