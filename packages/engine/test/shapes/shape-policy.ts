import type { Policy } from "../../src/index.ts";

/** Work from priority 0 on keeps to its team's shapes; everything else uses what is idle. */
export const shapePolicy = (lazy: boolean): Policy => ({
  name: "shapes",
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
    shapes: { fromPriority: 0 },
  },
  fabric: { choose: "cells", leastFreeWithoutWish: false, balanced: false },
  eviction: {
    search: "cells",
    shareTests: [],
    preemptibleBelowPriority: null,
    promises: "kept",
    lazy,
    checkpointTimeoutMs: 0,
  },
  elastic: { grow: "in-order" },
});
