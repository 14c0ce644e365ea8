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
      nonPreemptible: "guarantee",
      usageHalfLifeMs: null,
    },
    backfill: { reserve: "head", depth: 1, assumedWalltimeMs: 24 * 3_600_000 },
    fabric: "fewest",
    // Nobody is evicted who did not agree: work says `preemptible`, or it has a priority below that of ordinary work.
    eviction: {
      preemptibleBelowPriority: 0,
      unstatedPreemptible: "aboveGuarantee",
      checkpointTimeoutMs: 120_000,
    },
    elastic: { grow: "last", by: "throughput" },
    retryInPlaceMs: 60_000,
  },
  /** Strict order of submission; the head blocks. */
  { name: "fifo", order: ["submitted"], whenHeadBlocked: "stop", placement: "pack", exceedsFleet: "hold" },
  /** Order of submission; starts whatever fits. Large gangs can starve: that is what it measures. */
  { name: "fifo-skip", order: ["submitted"], whenHeadBlocked: "skip", placement: "pack", exceedsFleet: "hold" },
  /** EASY backfill: order of submission, the head's start is protected (Lifka, JSSPP 1995). */
  {
    name: "easy",
    order: ["submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    backfill: { reserve: "head", depth: 1, assumedWalltimeMs: 24 * 3_600_000 },
  },
  /** Conservative backfill: the starts of the first hundred are protected. */
  {
    name: "conservative",
    order: ["submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    backfill: { reserve: "all", depth: 100, assumedWalltimeMs: 24 * 3_600_000 },
  },
  /** Shortest walltime first; the head blocks. */
  { name: "sjf", order: ["walltime", "submitted"], whenHeadBlocked: "stop", placement: "pack", exceedsFleet: "hold" },
  /** Placement alone, to compare with: whatever fits starts in order of submission, on any node that has room. */
  { name: "random", order: ["submitted"], whenHeadBlocked: "skip", placement: "random", exceedsFleet: "hold" },
  /** The same where least of cores and accelerators is left. */
  { name: "best-fit", order: ["submitted"], whenHeadBlocked: "skip", placement: "best-fit", exceedsFleet: "hold" },
  /** The same by Fragmentation Gradient Descent (Weng et al., USENIX ATC '23). */
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
      preemptibleBelowPriority: 100,
      checkpointTimeoutMs: 0,
    },
    elastic: { grow: "in-order" },
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
      preemptibleBelowPriority: null,
      checkpointTimeoutMs: 0,
    },
  },
  /** Armada's rounds: fair shares by weight, everything above them evicted tentatively and filled up anew. */
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
      preemptibleBelowPriority: null,
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
      preemptibleBelowPriority: null,
      checkpointTimeoutMs: 0,
    },
  },
  /** Kueue's topology-aware placement: the fewest domains, then the tightest; least free capacity for work without wishes. */
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
      preemptibleBelowPriority: null,
      checkpointTimeoutMs: 0,
    },
  },
  /** HiveD's virtual clusters: teams own cells; what is guaranteed stays in them, everything else uses what is idle. */
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
      preemptibleBelowPriority: null,
      checkpointTimeoutMs: 0,
    },
    elastic: { grow: "in-order" },
  },
] as const satisfies readonly Policy[];

export const presets: ReadonlyMap<string, Policy> = new Map(presetList.map((preset) => [preset.name, preset]));
export const presetNames: readonly string[] = presetList.map((preset) => preset.name);
export const defaultPolicy: Policy = presetList[0];

/** What a control plane follows before anybody set a policy; it stands before the first event of every journal and never changes. */
export const genesisPolicy: Policy = {
  name: "default",
  order: ["priority", "submitted"],
  whenHeadBlocked: "skip",
  placement: "pack",
  exceedsFleet: "hold",
};
