import type { Policy } from "@headroom/model";

/** Work with a priority of 0 or above uses its team's reserved topology; other work is opportunistic. */
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
    preemptible: { belowPriority: null },
    checkpointTimeoutMs: 0,
  },
  elastic: "in-order",
});
