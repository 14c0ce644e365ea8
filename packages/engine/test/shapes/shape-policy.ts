import type { Policy } from "../../src/index.ts";

/** Work from priority 0 on keeps to its team's shapes; everything else uses what is idle. */
export const shapePolicy = (lazyPreemption: boolean): Policy => ({
  name: "reservedTopology",
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
    lazyPreemption,
    checkpointTimeoutMs: 0,
  },
  elastic: { grow: "in-order" },
});
