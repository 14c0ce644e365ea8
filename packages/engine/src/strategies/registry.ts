/**
 * The registry of strategies. Code that follows the rules of an imitated system is found here by a name in the rules of
 * the policy, and nowhere else.
 */
import type { Phase, Rules, PlacementRule, StrategyRules, VictimRule } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { SignatureOf } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { signatures as signaturesOfFilters } from "../placement/filters/filters.ts";
import { installPlacement } from "../placement/strategy.ts";
import type { PlacementStrategy } from "../placement/strategy.ts";
import { lowestCost } from "../preemption/lowest-cost/lowest-cost.ts";
import { type PreemptionStrategy, installPreemption } from "../preemption/strategy.ts";
import { rebalance } from "./armada/rebalance.ts";
import { publishedScore } from "./fgd/scores.ts";
import { cells, hived } from "./hived/hived.ts";
import { dropIncomplete } from "./kai/drop-incomplete.ts";
import { kai } from "./kai/kai.ts";
import { session } from "./kai/session.ts";
import { classical, fairSharing } from "./kueue/kueue.ts";
import type { RoundStrategy } from "./round-strategy.ts";
import { volcano } from "./volcano/volcano.ts";

const preemptionStrategies: { readonly [Name in VictimRule]: PreemptionStrategy } = {
  cells: hived,
  "lowest-cost": lowestCost,
  "kueue-fair-sharing": fairSharing,
  "kueue-classical": classical,
  volcano,
  kai,
};

const placementStrategies: { readonly [Name in PlacementRule]: PlacementStrategy } = { cells };

const placementOf = ({ fabric: { placedBy } }: Rules): PlacementStrategy | null =>
  placedBy === null ? null : placementStrategies[placedBy];

/** Strategies of rounds by what the policy does with nominations. `null`: Headroom's own rounds (`round/round.ts`). */
const roundStrategies: { readonly [Value in StrategyRules["eviction"]["nominations"]]: RoundStrategy | null } = {
  kept: null,
  forgotten: session,
};

export const roundStrategy = ({ rules }: World): RoundStrategy | null => roundStrategies[rules.eviction.nominations];

/** The phases that imitate another system. */
export const strategyPhases: { readonly [Name in Phase & ("rebalance" | "drop-incomplete")]: (batch: Batch) => void } =
  {
    rebalance,
    "drop-incomplete": dropIncomplete,
  };

/** The properties by which waiting requests are grouped into buckets. */
export const signatures: readonly SignatureOf[] = [
  ...signaturesOfFilters,
  (asking, context) => placementOf(context.rules)?.signature(asking, context),
];

/** Installs the strategies for an engine state whose indexes were just built. */
export function installStrategies(world: World): void {
  installPreemption(world, ({ rules }) => preemptionStrategies[rules.eviction.search]);
  installPlacement(world, { strategyOf: placementOf, scoreOf: publishedScore });
}
