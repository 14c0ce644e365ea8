import type { EvictionRules } from "../policy/policy.ts";
import { findByAdvantage, findByShare } from "./kueue/by-quota.ts";
import { findInCells } from "./hived/find-in-cells.ts";
import { findCheapest, mayFindCheapest } from "../preemption/lowest-cost.ts";
import { findFewest } from "./volcano/fewest.ts";
import { findByGrowingList } from "./kai/growing-list.ts";
import type { PlanSearch } from "../preemption/plan.ts";
import type { World } from "../cluster/world.ts";
import { installPlacement } from "../placement/strategy.ts";
import { type PreemptionStrategy, installPreemption } from "../preemption/strategy.ts";
import { cellPlacement } from "./hived/place-in-cells.ts";

const searching = (find: PlanSearch): PreemptionStrategy => ({ find, mayFind: () => true });

/** Ways of finding plans, by a policy's `eviction.search`. */
const strategies: { readonly [Name in EvictionRules["search"]]: PreemptionStrategy } = {
  cells: searching(findInCells),
  "lowest-cost": { find: findCheapest, mayFind: mayFindCheapest },
  "kueue-fair-sharing": searching(findByShare),
  "kueue-classical": searching(findByAdvantage),
  volcano: searching(findFewest),
  kai: searching(findByGrowingList),
};

/** Installs every strategy in a world that was just indexed. */
export function installStrategies(world: World): void {
  installPreemption(world, ({ rules }) => strategies[rules.eviction.search]);
  installPlacement(world, cellPlacement);
}
