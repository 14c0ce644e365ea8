import type { EvictionRules } from "../../policy/policy.ts";
import { findByAdvantage, findByShare } from "./by-quota.ts";
import { findInCells } from "./cells.ts";
import { findCheapest } from "./cheapest.ts";
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
