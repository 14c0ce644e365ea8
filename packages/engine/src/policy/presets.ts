/** The named policies that ship with the engine. */
import type { Policy } from "./policy.ts";

const presetList = [
  {
    name: "default",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "balanced",
    exceedsFleet: "hold",
    phases: ["place", "consolidate", "reclaim", "preempt", "grow"],
    teams: {
      order: ["within-guarantee", "priority", "share-with", "share"],
      nonPreemptible: "unguaranteed",
      usageHalfLifeMs: null,
    },
    backfill: { protectedStarts: 1, assumedWalltimeMs: 24 * 3_600_000 },
    fabric: "fewest",
    // Work is evicted only with its consent: it states `preemptible`, or its priority is below that of ordinary work.
    eviction: {
      preemptible: { belowPriority: 0, otherwise: "aboveGuarantee" },
      checkpointTimeoutMs: 120_000,
    },
    elastic: "last-by-throughput",
    retryInPlaceMs: 60_000,
  },
  /** Strict order of submission; the head blocks. */
  { name: "fifo", order: ["submitted"], whenHeadBlocked: "stop", placement: "pack", exceedsFleet: "hold" },
  /** Order of submission; starts every request that fits. Large gangs can starve; the preset exists to measure that. */
  { name: "fifo-skip", order: ["submitted"], whenHeadBlocked: "skip", placement: "pack", exceedsFleet: "hold" },
  /** EASY backfill: order of submission, the head's start is protected (Lifka, JSSPP 1995). */
  {
    name: "easy",
    order: ["submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    backfill: { protectedStarts: 1, assumedWalltimeMs: 24 * 3_600_000 },
  },
  /** Conservative backfill: the starts of the first hundred are protected. */
  {
    name: "conservative",
    order: ["submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    backfill: { protectedStarts: 100, assumedWalltimeMs: 24 * 3_600_000 },
  },
  /** Shortest walltime first; the head blocks. */
  { name: "sjf", order: ["walltime", "submitted"], whenHeadBlocked: "stop", placement: "pack", exceedsFleet: "hold" },
  /**
   * Placement only, for comparison: every request that fits starts in order of submission, on a random node with room.
   */
  { name: "random", order: ["submitted"], whenHeadBlocked: "skip", placement: "random", exceedsFleet: "hold" },
  /** Placement only: the smallest rest of cores and accelerators. */
  { name: "best-fit", order: ["submitted"], whenHeadBlocked: "skip", placement: "best-fit", exceedsFleet: "hold" },
  /** Placement only: Fragmentation Gradient Descent (Weng et al., USENIX ATC '23). */
  { name: "fgd", order: ["submitted"], whenHeadBlocked: "skip", placement: "fragmentation", exceedsFleet: "hold" },
  /** KAI-Scheduler's rounds: allocate, consolidation, reclaim, preempt, stale-gang eviction. */
  {
    name: "kai",
    strategy: "kai",
    order: ["priority", "starting", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
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
    eviction: {
      preemptible: { belowPriority: 100 },
      checkpointTimeoutMs: 0,
    },
    elastic: "in-order",
  },
  /** Volcano's capacity plugin: deserved and capability, allocate then reclaim. */
  {
    name: "volcano-capacity",
    strategy: "volcano",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["place", "reclaim"],
    teams: {
      order: ["priority", "guarantee-ratio", "name"],
      nonPreemptible: "limit",
      usageHalfLifeMs: null,
    },
    eviction: {
      preemptible: { belowPriority: null },
      checkpointTimeoutMs: 0,
    },
  },
  /** Armada's rounds: fair shares by weight; usage above them is evicted tentatively and rescheduled. */
  {
    name: "armada",
    strategy: "armada",
    order: ["priority", "running", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["rebalance"],
    teams: {
      order: ["weighted-use", "name"],
      nonPreemptible: "limit",
      usageHalfLifeMs: null,
    },
    eviction: {
      preemptible: { belowPriority: null },
      checkpointTimeoutMs: 0,
    },
  },
  /** Kueue with fair sharing: quotas that are lent and borrowed, victims by dominant share. */
  {
    name: "kueue-fair-sharing",
    strategy: "kueue-fair-sharing",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["place", "reclaim"],
    teams: { order: [], nonPreemptible: "limit", usageHalfLifeMs: null },
    eviction: {
      preemptible: { belowPriority: null },
      checkpointTimeoutMs: 0,
    },
  },
  /**
   * Kueue's topology-aware placement: the fewest domains, then the tightest; the least free capacity for unconstrained
   * work.
   */
  {
    name: "kueue-topology",
    strategy: "kueue-topology",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["place"],
    fabric: "fewest",
  },
  /** Kueue without fair sharing: victims by priority and by hierarchical advantage. */
  {
    name: "kueue-classic",
    strategy: "kueue-classical",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["place", "reclaim"],
    teams: { order: [], nonPreemptible: "limit", usageHalfLifeMs: null },
    eviction: {
      preemptible: { belowPriority: null },
      checkpointTimeoutMs: 0,
    },
  },
  /** HiveD's virtual clusters: teams own cells. Guaranteed work stays in them; other work uses idle cells. */
  {
    name: "hived",
    strategy: "hived",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["place", "reclaim", "preempt"],
    teams: {
      order: [],
      nonPreemptible: "limit",
      usageHalfLifeMs: null,
    },
    eviction: {
      preemptible: { belowPriority: null },
      checkpointTimeoutMs: 0,
    },
    elastic: "in-order",
  },
] as const satisfies readonly Policy[];

export const presets: ReadonlyMap<string, Policy> = new Map(presetList.map((preset) => [preset.name, preset]));
export const presetNames: readonly string[] = presetList.map((preset) => preset.name);
export const defaultPolicy: Policy = presetList[0];

/** Policy of a control plane before any was set. It precedes the first event of every journal and never changes. */
export const genesisPolicy: Policy = {
  name: "default",
  order: ["priority", "submitted"],
  whenHeadBlocked: "skip",
  placement: "pack",
  exceedsFleet: "hold",
};
