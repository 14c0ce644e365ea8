import type { Policy } from "../../src/index.ts";

/** Work from priority 0 on keeps to its team's shapes; everything else uses what is idle. */
export const shapePolicy = (lazyPreemption: boolean): Policy => ({
  name: "reservedTopology",
  strategy: lazyPreemption ? "hived" : "hived-eager",
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
});
