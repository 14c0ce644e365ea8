/** The named policies that ship with the engine. */
import type { Policy } from "./policy.ts";

/** Every request that fits is started, on the nodes with the fewest free accelerators. */
const skipping = { whenHeadBlocked: "skip", placement: "pack", exceedsFleet: "hold" } as const;
const assumedWalltimeMs = 24 * 3_600_000;
/** Teams do not affect the order. */
const unordered = { order: [], nonPreemptible: "limit", usageHalfLifeMs: null } as const;
/** All work is preemptible unless it states otherwise, and no checkpoint is requested before it is stopped. */
const anyVictim = { preemptible: { belowPriority: null }, checkpointTimeoutMs: 0 } as const;

const presetList = [
  {
    name: "default",
    order: ["priority", "submitted"],
    ...skipping,
    placement: "balanced",
    phases: ["place", "consolidate", "reclaim", "preempt", "grow"],
    teams: {
      order: ["within-guarantee", "priority", "share-with", "share"],
      nonPreemptible: "unguaranteed",
      usageHalfLifeMs: null,
    },
    backfill: { protectedStarts: 1, assumedWalltimeMs },
    fabric: "fewest",
    // Work is evicted only if it states `preemptible`, or if its priority is below that of ordinary work.
    eviction: {
      preemptible: { belowPriority: 0, otherwise: "aboveGuarantee" },
      checkpointTimeoutMs: 120_000,
    },
    elastic: "last-by-throughput",
    retryInPlaceMs: 60_000,
  },
  { name: "fifo", order: ["submitted"], ...skipping, whenHeadBlocked: "stop" },
  /** Large gangs can wait for ever under this preset, which exists to measure that. */
  { name: "fifo-skip", order: ["submitted"], ...skipping },
  /** EASY backfill (Lifka, JSSPP 1995). */
  { name: "easy", order: ["submitted"], ...skipping, backfill: { protectedStarts: 1, assumedWalltimeMs } },
  { name: "conservative", order: ["submitted"], ...skipping, backfill: { protectedStarts: 100, assumedWalltimeMs } },
  { name: "sjf", order: ["walltime", "submitted"], ...skipping, whenHeadBlocked: "stop" },
  { name: "random", order: ["submitted"], ...skipping, placement: "random" },
  { name: "best-fit", order: ["submitted"], ...skipping, placement: "best-fit" },
  /** Fragmentation Gradient Descent (Weng et al., USENIX ATC '23). */
  { name: "fgd", order: ["submitted"], ...skipping, placement: "fragmentation" },
  /** KAI-Scheduler's rounds: allocate, consolidation, reclaim, preempt, stale-gang eviction. */
  {
    name: "kai",
    strategy: "kai",
    order: ["priority", "starting", "submitted"],
    ...skipping,
    phases: ["place", "consolidate", "reclaim", "preempt", "drop-incomplete"],
    teams: {
      order: [
        "above-share-last",
        "within-guarantee",
        "priority",
        "without-entitlement-last",
        "share-with",
        "share",
        "entitlement",
      ],
      nonPreemptible: "guarantee",
      usageHalfLifeMs: null,
    },
    fabric: "fullest",
    eviction: { ...anyVictim, preemptible: { belowPriority: 100 } },
    elastic: "in-order",
  },
  /**
   * The rules of Volcano's capacity plugin, with the fields `deserved` and `capability`: the actions allocate, then
   * reclaim.
   */
  {
    name: "volcano-capacity",
    strategy: "volcano",
    order: ["priority", "submitted"],
    ...skipping,
    phases: ["place", "reclaim"],
    teams: { ...unordered, order: ["priority", "guarantee-ratio", "name"] },
    eviction: anyVictim,
  },
  /** Armada's rounds: fair shares by weight. Usage above the shares is evicted tentatively and then rescheduled. */
  {
    name: "armada",
    strategy: "armada",
    order: ["priority", "running", "submitted"],
    ...skipping,
    phases: ["rebalance"],
    teams: { ...unordered, order: ["weighted-use", "name"] },
    eviction: anyVictim,
  },
  /** Kueue with fair sharing: teams lend and borrow quotas, and victims are chosen by dominant share. */
  {
    name: "kueue-fair-sharing",
    strategy: "kueue-fair-sharing",
    order: ["priority", "submitted"],
    ...skipping,
    phases: ["place", "reclaim"],
    teams: unordered,
    eviction: anyVictim,
  },
  /**
   * Kueue's topology-aware placement: the fewest domains, then the tightest ones. Unconstrained work goes to the
   * domains with the least free capacity.
   */
  {
    name: "kueue-topology",
    strategy: "kueue-topology",
    order: ["priority", "submitted"],
    ...skipping,
    phases: ["place"],
    fabric: "fewest",
  },
  /** Kueue without fair sharing: victims are chosen by priority and by hierarchical advantage. */
  {
    name: "kueue-classic",
    strategy: "kueue-classical",
    order: ["priority", "submitted"],
    ...skipping,
    phases: ["place", "reclaim"],
    teams: unordered,
    eviction: anyVictim,
  },
  /** HiveD's virtual clusters: teams own cells. Guaranteed work stays in them; other work uses idle cells. */
  {
    name: "hived",
    strategy: "hived",
    order: ["priority", "submitted"],
    ...skipping,
    phases: ["place", "reclaim", "preempt"],
    teams: unordered,
    eviction: anyVictim,
    elastic: "in-order",
  },
] as const satisfies readonly Policy[];

export const presets: ReadonlyMap<string, Policy> = new Map(presetList.map((preset) => [preset.name, preset]));
export const presetNames: readonly string[] = presetList.map((preset) => preset.name);
export const defaultPolicy: Policy = presetList[0];

/**
 * Policy of a control plane on which no policy has been set. It is the state before the first event of every journal
 * and never changes.
 */
export const genesisPolicy: Policy = { name: "default", order: ["priority", "submitted"], ...skipping };
