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
      share: "divide",
      nonPreemptible: "guarantee",
      overGuarantee: "idle",
      usageHalfLifeMs: null,
    },
    backfill: { reserve: "head", depth: 1, assumedWalltimeMs: 24 * 3_600_000 },
    fabric: { choose: "fewest", unconstrainedToFullest: false, balanced: false },
    // Nobody is evicted who did not agree: work says `preemptible`, or it has a priority below that of ordinary work.
    eviction: {
      search: "lowest-cost",
      shareTests: [],
      preemptibleBelowPriority: 0,
      unstatedPreemptible: "aboveGuarantee",
      nominations: "kept",
      lazyPreemption: false,
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
      share: "divide",
      nonPreemptible: "guarantee",
      overGuarantee: "idle",
      usageHalfLifeMs: null,
    },
    fabric: { choose: "fullest", unconstrainedToFullest: false, balanced: false },
    eviction: {
      search: "kai",
      shareTests: [],
      preemptibleBelowPriority: 100,
      nominations: "forgotten",
      lazyPreemption: false,
      checkpointTimeoutMs: 0,
    },
    elastic: { grow: "in-order" },
    // Promises that are forgotten let victims take their places back, and lists grow past what is needed.
    waivedInvariants: [5, 6, 7, 8],
  },
  /** Volcano's capacity plugin: deserved and capability, allocate then reclaim. */
  {
    name: "volcano-capacity",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["place", "reclaim"],
    teams: {
      order: ["priority", "guarantee-ratio", "name"],
      share: "divide",
      nonPreemptible: "limit",
      overGuarantee: "idle",
      usageHalfLifeMs: null,
    },
    eviction: {
      search: "volcano",
      shareTests: [],
      preemptibleBelowPriority: null,
      nominations: "kept",
      lazyPreemption: false,
      checkpointTimeoutMs: 0,
    },
  },
  /** Armada's rounds: fair shares by weight, everything above them evicted tentatively and filled up anew. */
  {
    name: "armada",
    order: ["priority", "running", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["rebalance"],
    teams: {
      order: ["weighted-use", "name"],
      share: "weights",
      nonPreemptible: "limit",
      overGuarantee: "idle",
      usageHalfLifeMs: null,
    },
    eviction: {
      search: "lowest-cost",
      shareTests: [],
      preemptibleBelowPriority: null,
      nominations: "kept",
      lazyPreemption: false,
      checkpointTimeoutMs: 0,
    },
    // All that is evicted at once is recorded for the first who is served.
    waivedInvariants: [6, 7],
  },
  /** Kueue with fair sharing: quotas that are lent and borrowed, victims by dominant share. */
  {
    name: "kueue-fair-sharing",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["place", "reclaim"],
    teams: { order: [], share: "divide", nonPreemptible: "limit", overGuarantee: "borrow", usageHalfLifeMs: null },
    eviction: {
      search: "kueue-fair-sharing",
      shareTests: ["final", "initial"],
      preemptibleBelowPriority: null,
      nominations: "kept",
      lazyPreemption: false,
      checkpointTimeoutMs: 0,
    },
  },
  /** Kueue's topology-aware placement: the fewest domains, then the tightest; least free capacity for work without wishes. */
  {
    name: "kueue-topology",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["place"],
    fabric: { choose: "fewest", unconstrainedToFullest: true, balanced: false },
  },
  /** Kueue without fair sharing: victims by priority and by hierarchical advantage. */
  {
    name: "kueue-classic",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["place", "reclaim"],
    teams: { order: [], share: "divide", nonPreemptible: "limit", overGuarantee: "borrow", usageHalfLifeMs: null },
    eviction: {
      search: "kueue-classical",
      shareTests: [],
      preemptibleBelowPriority: null,
      nominations: "kept",
      lazyPreemption: false,
      checkpointTimeoutMs: 0,
    },
  },
  /** HiveD's virtual clusters: teams own cells; what is guaranteed stays in them, everything else uses what is idle. */
  {
    name: "hived",
    order: ["priority", "submitted"],
    whenHeadBlocked: "skip",
    placement: "pack",
    exceedsFleet: "hold",
    phases: ["place", "reclaim", "preempt"],
    teams: {
      order: [],
      share: "divide",
      nonPreemptible: "limit",
      overGuarantee: "idle",
      usageHalfLifeMs: null,
      reservedTopology: { fromPriority: 0 },
    },
    fabric: { choose: "cells", unconstrainedToFullest: false, balanced: false },
    eviction: {
      search: "cells",
      shareTests: [],
      preemptibleBelowPriority: null,
      nominations: "kept",
      lazyPreemption: true,
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
