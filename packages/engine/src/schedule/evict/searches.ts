import type { Batch } from "../../batch.ts";
import type { EvictionReason } from "../../model/workload.ts";
import type { PlacementClass } from "../../indexes/queue.ts";
import type { EvictionRules } from "../../policy/policy.ts";
import { findByAdvantage, findByShare } from "./by-quota.ts";
import { findInCells } from "./cells.ts";
import { findCheapest, mayFindCheapest } from "./cheapest.ts";
import { findFewest } from "./fewest.ts";
import { findByGrowingList } from "./growing-list.ts";
import type { PlanSearch } from "./plan.ts";

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
