import type { Batch } from "../batch/batch.ts";
import type { EvictionReason } from "../model/workload.ts";
import type { PlacementClass } from "../cluster/queue.ts";
import type { EvictionRules } from "../policy/policy.ts";
import { findByAdvantage, findByShare } from "./kueue/by-quota.ts";
import { findInCells } from "./hived/find-in-cells.ts";
import { findCheapest, mayFindCheapest } from "../preemption/cheapest.ts";
import { findFewest } from "../preemption/fewest.ts";
import { findByGrowingList } from "./kai/growing-list.ts";
import type { PlanSearch } from "../preemption/plan.ts";

/** How a policy's plans are found, by its `eviction.search`. */
export const searches: { readonly [Name in EvictionRules["search"]]: PlanSearch } = {
  cells: findInCells,
  cheapest: findCheapest,
  "by-share": findByShare,
  "by-advantage": findByAdvantage,
  fewest: findFewest,
  "growing-list": findByGrowingList,
};

/** Whether a search could find anything at all for the request, where that can be told from sums; `true`: it has to look. */
export const mayFind = (batch: Batch, found: PlacementClass, reason: EvictionReason): boolean =>
  batch.world.rules.eviction.search !== "cheapest" || mayFindCheapest(batch, found, reason);
